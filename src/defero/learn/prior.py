"""HeadPrior: how experts' heads are spread over the population, and so what is known of somebody before they answer."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import (
    FloatArray,
    IntArray,
    flags,
    float_matrix,
    index_numbers,
    item_weights,
    set_numbers,
)
from defero.core.errors import InputError
from defero.learn.log_loss import ExpertLogLoss, LogLoss


def category_groups(phi: FloatArray) -> IntArray:
    """Give each feature a number, (d,): neighbours that code one category get the same, any other feature its own.

    Such neighbours are 0 or 1 and one of them is 1 in each row. Who is strong in one category of a column may be joined
    by somebody strong in another one, in which the known experts are all alike.

    >>> category_groups(np.array([[0.3, 1, 0, 0, 1], [0.8, 0, 1, 0, 1], [0.1, 0, 0, 1, 0]])).tolist()
    [0, 1, 1, 1, 2]
    """
    d = phi.shape[1]
    number = np.arange(d)
    binary = ((phi == 0) | (phi == 1)).all(axis=0)
    first = 0
    while len(phi) and first < d:
        total, last = np.zeros(len(phi)), first
        while last < d and binary[last] and total.min() < 1 and total.max() <= 1:
            total, last = total + phi[:, last], last + 1
        if total.min() == 1 == total.max():
            number[first:last] = first
            first = last
        else:
            first += 1
    return np.unique(number, return_inverse=True)[1].astype(np.int64)


def given_groups(groups: ArrayLike, *, n_features: int) -> IntArray:
    """Return groups as somebody gave them, numbered, (d,)."""
    given = np.asarray(groups)
    if given.shape != (n_features,):
        raise InputError(
            f"must have {n_features} entries, one per column of phi, got shape {given.shape}.", argument="groups"
        )
    return np.unique(given, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class HeadPrior:
    """Heads w_j ~ N(mean, diag(spread^2)) on scaled features, the mean itself known up to `mean_covariance`.

    There are d weights: that of the constant first, then those of d - 1 features.

    Attributes
    ----------
    centre, scale : (d - 1,)
        Features enter as (phi - centre) / scale.
    mean : (d,)
    spread : (d,)
        How far an expert's weight is expected from the mean; 0 where experts do not differ.
    mean_covariance : (d, d)

    Examples
    --------
    >>> prior = HeadPrior(np.array([5.0]), np.array([2.0]), np.zeros(2), np.array([1.0, 0.0]), np.zeros((2, 2)))
    >>> prior.design(np.array([[9.0]])).tolist()
    [[1.0, 2.0]]
    """

    centre: FloatArray
    scale: FloatArray
    mean: FloatArray
    spread: FloatArray
    mean_covariance: FloatArray

    def __post_init__(self) -> None:
        d = len(self.mean)
        set_numbers(self, centre=(d - 1,), scale=(d - 1,), mean=(d,), spread=(d,), mean_covariance=(d, d))
        if self.scale.min(initial=1.0) <= 0 or self.spread.min() < 0:
            raise InputError("must be positive and spread not negative, for each feature.", argument="scale")

    @property
    def n_features(self) -> int:
        """How many features there are beside the constant, d - 1."""
        return len(self.centre)

    def covariance(self) -> FloatArray:
        """Return the covariance of an unknown expert's head, diag(spread^2) + mean_covariance, (d, d)."""
        return np.diag(self.spread**2) + self.mean_covariance

    def design(self, phi: ArrayLike) -> FloatArray:
        """Return scaled features behind a column of ones, (n, d)."""
        matrix = float_matrix("phi", phi)
        if matrix.shape[1] != self.n_features:
            raise InputError(
                f"must have the {self.n_features} columns that the prior was fitted on, got {matrix.shape[1]}.",
                argument="phi",
            )
        return np.column_stack([np.ones(len(matrix)), (matrix - self.centre) / self.scale])


def scaling(phi: FloatArray, weight: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the weighted mean and standard deviation of each feature, 1 for one that never changes.

    >>> scaling(np.array([[1.0, 7.0], [3.0, 7.0]]))
    (array([2., 7.]), array([1., 1.]))
    """
    if not phi.size:
        return np.zeros(phi.shape[1]), np.ones(phi.shape[1])
    centre = np.average(phi, axis=0, weights=weight)
    scale = np.sqrt(np.average((phi - centre) ** 2, axis=0, weights=weight))
    # Rounding leaves a constant column a standard deviation of 1e-16 or so, by which nothing should be divided.
    still = scale <= 1e-12 * np.maximum(np.abs(centre), 1.0)
    return centre, np.where(still, 1.0, scale)


USUAL_SPREAD, USUAL_OF_FEATURES = 0.5, 0.03
"""How far experts are expected to differ before any answer is seen: in their constant, and in features together."""
BELIEF = 0.5
"""As many experts' worth does that expectation count, and that a feature's spread is like that of the others."""
MOST_SPREAD = 3.0
"""The widest spread, two experts of three from 0.05 to 0.95: of people always right nothing else would bound it."""
CONSTANT_ROOM = 1.5
"""Standard deviation of the mean's constant around 0: a population's share of right answers is about uniform."""
START_SPREAD = 0.5
"""Where the search for each spread begins."""
_MAX_ROUNDS = 200
_SMALL_CHANGE = 3e-4


@dataclass(frozen=True, eq=False)
class _Fit:
    """Where the search stands: the mean, each expert's way v from it in units of the spread, and both variances."""

    mean: FloatArray  # (d,)
    away: FloatArray  # (J, d): the mode
    away_skew: FloatArray  # (J, d): from there to the mean
    spread2: FloatArray  # (d,)
    room2: FloatArray  # (d,): variance of the mean around 0
    mean_covariance: FloatArray  # (d, d)
    away_variance: FloatArray  # (J, d)


def fit_prior(
    phi: ArrayLike,
    item_idx: ArrayLike,
    expert_idx: ArrayLike,
    correct: ArrayLike,
    *,
    n_experts: int,
    weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    usual: ArrayLike | None = None,
) -> HeadPrior:
    """Learn the population of heads from m answers of J experts.

    P(expert j right | x) = sigmoid(phi(x) . w_j), w_j ~ N(mean, diag(spread^2)), mean ~ N(0, room^2): a logistic
    regression with random effects. Mean, spread and room are those under which the answers are most likely
    (empirical Bayes with Laplace's method, MacKay's fixed point), so nothing is held out:

        spread_f^2 = (sum_j u_jf^2 + b s^2) / (sum_j (1 - Var(u_jf) / spread_f^2) + b),   u_j = w_j - mean,

    where b = 0.5 and s^2 is the average of spread^2 over the features: a feature in which the few known experts agree
    keeps some of the spread of the others. Where experts do not differ the spread goes to 0 and everybody gets the
    common head; where they differ and have thousands of answers nobody is drawn anywhere.

    Parameters
    ----------
    phi : (n, d - 1)
        Features of the items. They are scaled here, and a constant is added.
    item_idx, expert_idx : (m,) int
        Which item, and whose answer.
    correct : (m,) bool
        Was it right?
    n_experts : int
        J.
    weight : (m,), optional
        How much each answer counts.
    groups : (d - 1,) int, optional
        Features with the same number share one spread, as the units of one layer may. By default each has its own,
        but for columns that code one category (see `category_groups`).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> phi, item, expert = rng.normal(size=(400, 1)), np.tile(np.arange(400), 10), np.repeat(np.arange(10), 400)
    >>> slope = np.array([-2.0, 2.0] * 5)  # half of them are right where the feature is large, half where it is small
    >>> right = rng.random(4000) < 1 / (1 + np.exp(-1 - slope[expert] * phi[item, 0]))
    >>> fit_prior(phi, item, expert, right, n_experts=10).spread.round(1).tolist()
    [0.2, 1.9]
    """
    matrix = float_matrix("phi", phi)
    items = index_numbers("item_idx", item_idx, below=len(matrix))
    experts = index_numbers("expert_idx", expert_idx, below=n_experts, n_items=len(items))
    right = flags("correct", correct, n_items=len(items))
    counts_as = item_weights("weight", weight, n_items=len(items))
    together = category_groups(matrix) if groups is None else given_groups(groups, n_features=matrix.shape[1])
    centre, scale = scaling(matrix)
    design = np.column_stack([np.ones(len(matrix)), (matrix - centre) / scale])
    grouped = ExpertLogLoss.of(design, items, experts, right, n_experts=n_experts, weight=counts_as)
    shared = np.concatenate([np.zeros(1, np.int64), together + 1])  # the constant's spread is its own
    expected = usual_spread(together) if usual is None else np.asarray(usual, dtype=np.float64)
    fit = _settle(grouped, shared, np.concatenate([[USUAL_SPREAD**2], expected**2]))
    return HeadPrior(centre, scale, fit.mean, np.sqrt(fit.spread2), fit.mean_covariance)


def usual_spread(groups: IntArray) -> FloatArray:
    """Return how far experts are expected to differ in each feature, (d,): the features of a group share one spread.

    >>> usual_spread(np.array([0, 0, 0, 0, 1])).tolist()
    [0.015, 0.015, 0.015, 0.015, 0.03]
    """
    return np.asarray(USUAL_OF_FEATURES / np.sqrt(np.bincount(groups)[groups]))


def _settle(answers: ExpertLogLoss, shared: IntArray, usual: FloatArray) -> _Fit:
    """Take a Newton step towards the mode and set the variances right, by turns, until mean and spread stay."""
    heard, loss = np.flatnonzero(answers.counts), answers.padded()
    fit = _newton(loss, heard, _start(answers, heard, usual))
    for _ in range(_MAX_ROUNDS):
        before, fit = fit, _newton(loss, heard, _set_variances(fit, shared, usual))
        change = np.sqrt(fit.spread2) - np.sqrt(before.spread2), fit.mean - before.mean
        if np.abs(change).max() < _SMALL_CHANGE:
            break
    return fit


def _start(answers: ExpertLogLoss, heard: IntArray, usual: FloatArray) -> _Fit:
    d = answers.phi.shape[1]
    room2 = np.full(d, 1.0 / max(d - 1, 1))
    room2[0] = CONSTANT_ROOM**2
    mean = np.zeros(d)
    wrong = float(answers.weight @ (1.0 - answers.right))
    mean[0] = np.log((float(answers.weight @ answers.right) + 1.0) / (wrong + 1.0))
    nobody = np.zeros((len(heard), d))
    # From a wide spread it narrows in few rounds; from a narrow one the rounds are too small to see, and it would stay.
    wide = np.maximum(usual, START_SPREAD**2)
    return _Fit(mean, nobody, nobody, wide, room2, np.diag(room2), np.ones_like(nobody))


def _newton(answers: LogLoss, heard: IntArray, fit: _Fit) -> _Fit:
    """Take one step towards the mean under which the answers are most likely, and each effect's mode given it.

    The second derivatives have an arrow's shape: an effect v_j meets the mean alone. With S = diag(spread), H_j those
    of expert j's log loss and A_j = (I + S H_j S)^-1, the effects are eliminated one by one, and what is left for the
    mean is room^-2 + sum_j (H_j - H_j S A_j S H_j), whose inverse is the mean's covariance. The common mode of mean
    and effects draws the mean to 0 where answers are few; the slope of -sum_j log det(A_j) / 2 (Laplace's method)
    mends that, taken as it is at the start of the step.
    """
    spread = np.sqrt(fit.spread2)
    heads = fit.mean + spread * fit.away
    gradient, second = answers.slopes(heads, heard)
    across = spread[:, None] * second  # S H_j
    root = np.linalg.inv(np.linalg.cholesky(np.eye(len(spread)) + across * spread)).astype(np.float64, copy=False)
    inverse = np.swapaxes(root, 1, 2) @ root  # A_j
    carried = inverse @ across  # A_j S H_j
    left = np.diag(1 / fit.room2) + (second - np.swapaxes(across, 1, 2) @ carried).sum(axis=0)
    mean_covariance = np.linalg.inv((left + left.T) / 2)
    tilt = answers.tilts(heads, spread[:, None] * np.swapaxes(root, 1, 2), heard)
    away_skew = -_times(inverse, spread * tilt)
    mend = (tilt + _times(np.swapaxes(across, 1, 2), away_skew)).sum(axis=0)
    on_mean = gradient.sum(axis=0) + fit.mean / fit.room2 + mend
    on_away = spread * gradient + fit.away
    alone = _times(inverse, on_away)
    mean_step = mean_covariance @ (_times(np.swapaxes(across, 1, 2), alone).sum(axis=0) - on_mean)
    away_step = -(alone + carried @ mean_step)

    def loss(size: float) -> float:
        mean, away = fit.mean + size * mean_step, fit.away + size * away_step
        penalty = float((away**2).sum() + (mean**2 / fit.room2).sum()) / 2
        return float(answers.loss(mean + spread * away, heard).sum() + mend @ mean) + penalty

    before, size, slope = loss(0.0), 1.0, float(on_mean @ mean_step + (on_away * away_step).sum())
    while size > 1e-12 and loss(size) > before + 1e-4 * size * slope + 1e-12 * (1 + abs(before)):
        size /= 2
    return replace(
        fit,
        mean=fit.mean + size * mean_step,
        away=fit.away + size * away_step,
        away_skew=away_skew,
        mean_covariance=(mean_covariance + mean_covariance.T) / 2,
        away_variance=np.einsum("jaa->ja", inverse) + ((carried @ mean_covariance) * carried).sum(axis=2),
    )


def _times(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return each expert's matrix times their vector, (J, d)."""
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _set_variances(fit: _Fit, shared: IntArray, usual: FloatArray) -> _Fit:
    """Return the fit with the spread and the room that explain its mean and effects best."""
    # How many experts' worth the answers say of each feature; rounding may leave less than nothing.
    determined = np.maximum((1.0 - fit.away_variance).sum(axis=0), 0.0)
    squares = fit.spread2 * ((fit.away + fit.away_skew) ** 2).sum(axis=0)
    together = np.bincount(shared, squares + BELIEF * usual) / np.bincount(shared, determined + BELIEF)
    spread2 = np.minimum(together[shared], MOST_SPREAD**2)
    # A mean that is far from 0, such as that of the model's log-odds, leaves the others where they are.
    known = np.maximum(1.0 - np.diag(fit.mean_covariance) / fit.room2, 0.0)
    explained = np.bincount(shared, fit.mean**2 + BELIEF / len(fit.mean)) / np.bincount(shared, known + BELIEF)
    room2 = explained[shared]
    room2[0] = CONSTANT_ROOM**2
    # The effects themselves stay where they are.
    return replace(fit, spread2=spread2, room2=room2, away=fit.away * np.sqrt(fit.spread2 / spread2))
