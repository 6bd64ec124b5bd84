"""Heads: all experts' heads together, from features to P(expert is right) and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, flags, index_numbers, item_weights, set_numbers
from defero.core.scores import sigmoid
from defero.learn.log_loss import ExpertLogLoss
from defero.learn.prior import HeadPrior, fit_prior

FULL_FEATURES = 64
"""With more weights than this only the variances are kept: 1,000 experts with 256 would need 0.5 GB."""
_MAX_STEPS = 100
_SMALL_STEP = 1e-9


def fit_head(phi: ArrayLike, correct: ArrayLike, prior: HeadPrior, *, weight: ArrayLike | None = None) -> "Heads":
    """Fit the head of one expert alone.

    The posterior of w under P(right | x) = sigmoid(phi . w) and w ~ N(mean, covariance) of the prior, taken as normal
    (Laplace's method): mode w*, covariance C = (H + prior covariance^-1)^-1 with H the second derivatives of the log
    loss there. The weights are the posterior mean to third order, w* - C sum_i l_3(z_i) (phi_i' C phi_i) phi_i / 2:
    of somebody nearly always right the mode says too little. Without answers it is the prior.

    Parameters
    ----------
    phi : (m, d - 1)
        Features of the items that they answered.
    correct : (m,) bool
        Was each answer right?
    prior : HeadPrior
    weight : (m,), optional
        How much each answer counts, such as an inverse probability of being asked; of mean 1, for a correct covariance.

    Examples
    --------
    >>> prior = HeadPrior(np.zeros(0), np.ones(0), np.zeros(1), np.ones(1), np.zeros((1, 1)))
    >>> always_right = fit_head(np.empty((20, 0)), np.ones(20), prior)
    >>> bool(1.5 < always_right.weights[0, 0] < 3.0)
    True
    """
    m = len(np.asarray(phi))
    return fit_heads(phi, np.arange(m), np.zeros(m, dtype=np.int64), correct, n_experts=1, prior=prior, weight=weight)


def fit_each(answers: ExpertLogLoss, prior: HeadPrior) -> tuple[FloatArray, FloatArray]:
    """Return the posterior mean (J, d) and covariance, (J, d, d) or (J, d), of each expert's head, one by one alone."""
    root = root_of(prior.covariance())
    away = modes(answers, prior.mean, root)
    d = len(prior.mean)
    weights = np.empty((answers.n_experts, d))
    covariance = np.empty((answers.n_experts, d, d) if d <= FULL_FEATURES else (answers.n_experts, d))
    for j in range(answers.n_experts):  # one at a time: all second derivatives at once would be (J, d, d) however large
        mode = prior.mean + root @ away[j]
        only = np.array([j])
        _, second = answers.slopes(mode[None, :], only)
        half = root @ np.linalg.inv(np.linalg.cholesky(np.eye(d) + root.T @ second[0] @ root)).T
        full = half @ half.T
        weights[j] = mode - full @ answers.tilts(mode[None, :], half[None, :, :], only)[0]
        covariance[j] = full if d <= FULL_FEATURES else np.diag(full)
    return weights, covariance


def modes(answers: ExpertLogLoss, mean: FloatArray, root: FloatArray) -> FloatArray:
    """Return v of each expert, (J, d): w = mean + root v minimises the log loss of their answers plus |v|^2 / 2.

    Newton steps, each halved until the loss falls; who has arrived is left alone, so that an expert's head does not
    depend on who else is fitted. Taking v in place of w allows a prior that leaves some directions no room at all.
    """
    v = np.zeros((answers.n_experts, len(mean)))
    moving = np.flatnonzero(answers.counts)
    for _ in range(_MAX_STEPS):
        if not len(moving):
            break
        now = v[moving]
        gradient, second = answers.slopes(mean + now @ root.T, moving)
        downhill = gradient @ root + now
        bend = np.eye(len(mean)) + root.T @ second @ root
        step: FloatArray = -np.linalg.solve(bend, downhill[:, :, None])[:, :, 0].astype(np.float64, copy=False)
        v[moving] = now + _step_size(answers, mean, root, moving, now, step, (downhill * step).sum(axis=1)) * step
        moving = moving[np.abs(step).max(axis=1) > _SMALL_STEP]
    return v


def _step_size(
    answers: ExpertLogLoss,
    mean: FloatArray,
    root: FloatArray,
    experts: IntArray,
    v: FloatArray,
    step: FloatArray,
    slope: FloatArray,
) -> FloatArray:
    """Return the part of each expert's step after which their loss has fallen, (a, 1)."""

    def loss(at: FloatArray) -> FloatArray:
        return answers.loss(mean + at @ root.T, experts) + (at**2).sum(axis=1) / 2

    before, size = loss(v), np.ones(len(experts))
    for _ in range(60):
        # 1e-12: near the minimum a sum of thousands of logarithms no longer shows that it falls.
        worse = loss(v + size[:, None] * step) > before + 1e-4 * size * slope + 1e-12 * (1 + before)
        if not worse.any():
            break
        size[worse] /= 2
    return size[:, None]


def root_of(covariance: FloatArray) -> FloatArray:
    """Return R with R R' = covariance, which may be singular.

    >>> root = root_of(np.array([[4.0, 0.0], [0.0, 0.0]]))
    >>> (root @ root.T).round(12).tolist()
    [[4.0, 0.0], [0.0, 0.0]]
    """
    value, vector = np.linalg.eigh(covariance)
    return vector * np.sqrt(np.maximum(value, 0.0))


_PRODUCTS_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class Heads:
    """The heads of J experts with d weights each, and the population they come from.

    Attributes
    ----------
    prior : HeadPrior
    weights : (J, d)
    covariance : (J, d, d), or (J, d) variances where d > 64
    n_answers : (J,) int

    Examples
    --------
    >>> prior = HeadPrior(np.zeros(1), np.ones(1), np.array([1.0, 0.0]), np.array([1.0, 0.5]), np.zeros((2, 2)))
    >>> from defero.learn.heads import fit_head
    >>> one = fit_head(np.zeros((0, 1)), [], prior)  # has answered nothing
    >>> one.proba([[0.0], [3.0]]).round(3).tolist()  # sigmoid(1) is 0.731
    [[0.7], [0.66]]
    """

    prior: HeadPrior
    weights: FloatArray
    covariance: FloatArray
    n_answers: IntArray

    def __post_init__(self) -> None:
        n_experts, d = len(self.weights), len(self.prior.mean)
        set_numbers(self, weights=(n_experts, d), covariance=(n_experts, *_shape(d)), n_answers=(n_experts,))

    @classmethod
    def none(cls, prior: HeadPrior) -> "Heads":
        """Return the heads of no experts."""
        d = len(prior.mean)
        return cls(prior, np.empty((0, d)), np.empty((0, *_shape(d))), np.empty(0, dtype=np.int64))

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.weights)

    def log_odds(self, phi: ArrayLike) -> FloatArray:
        """Return the log-odds of `proba`, m / sqrt(1 + pi s^2 / 8), (n, J), with m = phi . w and s its `logit_sd`.

        The mean of sigmoid(z) over z ~ N(m, s^2) to within 0.02 (MacKay 1992): who is little known is near 1/2.
        """
        design = self.prior.design(phi)
        return (design @ self.weights.T) / np.sqrt(1.0 + np.pi * self._variance(design) / 8.0)

    def proba(self, phi: ArrayLike) -> FloatArray:
        """Return P(expert j is right | x), the mean over what their head may be, (n, J)."""
        return sigmoid(self.log_odds(phi))

    def logit_sd(self, phi: ArrayLike) -> FloatArray:
        """Return the standard deviation of phi . w_j, sqrt(phi' C_j phi), (n, J)."""
        return np.sqrt(self._variance(self.prior.design(phi)))

    def take(self, experts: Sequence[int]) -> "Heads":
        """Return the heads of some experts, in this order."""
        chosen = np.array(list(experts), dtype=np.int64)
        return Heads(self.prior, self.weights[chosen], self.covariance[chosen], self.n_answers[chosen])

    def with_heads(self, others: "Heads") -> "Heads":
        """Return the heads with those of others at the end; nobody's changes."""
        joined = ((getattr(self, name), getattr(others, name)) for name in ("weights", "covariance", "n_answers"))
        return Heads(self.prior, *map(np.concatenate, joined))

    def _variance(self, design: FloatArray) -> FloatArray:
        """Return phi' C_j phi, (n, J)."""
        if self.covariance.ndim == 2:
            return design**2 @ self.covariance.T
        # One product of matrices: the items' pairs of features with each expert's half covariance.
        first, second = np.tril_indices(design.shape[1])
        pairs = np.ascontiguousarray(self.covariance[:, first, second]) * np.where(first == second, 1.0, 2.0)
        variance = np.empty((len(design), self.n_experts))
        size = max(1, _PRODUCTS_AT_ONCE // len(first))
        for start in range(0, len(design), size):
            rows = slice(start, start + size)
            variance[rows] = (design[rows][:, first] * design[rows][:, second]) @ pairs.T
        return np.maximum(variance, 0.0)  # rounding


def fit_heads(
    phi: ArrayLike,
    item_idx: ArrayLike,
    expert_idx: ArrayLike,
    correct: ArrayLike,
    *,
    n_experts: int,
    prior: HeadPrior | None = None,
    weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Heads:
    """Fit the head of each of J experts from m answers: few keep near the population, many speak for themselves.

    Parameters
    ----------
    phi : (n, d - 1)
        Features of the items.
    item_idx, expert_idx : (m,) int
        Which item, and whose answer.
    correct : (m,) bool
        Was it right?
    n_experts : int
        J; those without answers get the prior.
    prior : HeadPrior, optional
        By default `fit_prior` learns it from these answers.
    weight, groups : optional
        As in `fit_prior`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> expert = np.repeat([0, 1], [300, 3])  # the second has answered three times
    >>> right = np.concatenate([rng.random(300) < 0.75, np.zeros(3, dtype=bool)])
    >>> heads = fit_heads(np.zeros((303, 0)), np.arange(303), expert, right, n_experts=3)
    >>> heads.proba(np.zeros((1, 0))).round(2).tolist()
    [[0.69, 0.17, 0.45]]
    """
    if prior is None:
        prior = fit_prior(phi, item_idx, expert_idx, correct, n_experts=n_experts, weight=weight, groups=groups)
    design = prior.design(phi)
    items = index_numbers("item_idx", item_idx, below=len(design))
    answers = ExpertLogLoss.of(
        design,
        items,
        index_numbers("expert_idx", expert_idx, below=n_experts, n_items=len(items)),
        flags("correct", correct, n_items=len(items)),
        n_experts=n_experts,
        weight=item_weights("weight", weight, n_items=len(items)),
    )
    weights, covariance = fit_each(answers, prior)
    return Heads(prior, weights, covariance, answers.counts)


def _shape(d: int) -> tuple[int, ...]:
    return (d, d) if d <= FULL_FEATURES else (d,)
