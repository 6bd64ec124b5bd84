"""The head of one expert: from their own answers and the population's prior, touching nobody else's."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, flags, item_weights
from defero.heads.log_loss import ExpertLogLoss
from defero.heads.prior import HeadPrior

FULL_FEATURES = 64
"""With more weights than this only the variances are kept: 1,000 experts with 256 would need 0.5 GB."""
_MAX_STEPS = 100
_SMALL_STEP = 1e-9


@dataclass(frozen=True, eq=False)
class Head:
    """What is known of one expert.

    Attributes
    ----------
    weights : (d,)
        The posterior mean.
    covariance : (d, d), or (d,) variances where d > 64
    n_answers : int
    """

    weights: FloatArray
    covariance: FloatArray
    n_answers: int


def fit_head(phi: ArrayLike, correct: ArrayLike, prior: HeadPrior, *, weight: ArrayLike | None = None) -> Head:
    """Fit the head of one expert.

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
    >>> bool(1.5 < always_right.weights[0] < 3.0)
    True
    """
    design = prior.design(phi)
    m = len(design)
    answers = ExpertLogLoss.of(
        design,
        np.arange(m),
        np.zeros(m, dtype=np.int64),
        flags("correct", correct, n_items=m),
        n_experts=1,
        weight=item_weights("weight", weight, n_items=m),
    )
    weights, covariance = fit_each(answers, prior)
    return Head(weights[0], covariance[0], m)


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
