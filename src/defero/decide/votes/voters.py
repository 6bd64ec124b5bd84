"""What is known of voters beyond P(right): what each answers for each class, and who errs together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, frozen, index_numbers, whole_number
from defero.core.checks.experts import answer_numbers, expert_probabilities
from defero.core.errors import InputError
from defero.core.labels import MISSING


@dataclass(frozen=True, eq=False)
class ConfusionMatrices:
    """P(expert j answers m | the truth is y), for the experts with enough answers to tell.

    Attributes
    ----------
    proba : (J, K, K)
        `proba[j, y, m]`, all above 0; each row adds up to 1.
    enough : (J,) bool
        Who has enough answers in each class. `bayes_vote` uses the matrices of these experts only.

    Examples
    --------
    >>> answers = np.array([[0]] * 40 + [[1]] * 30 + [[0]] * 10)  # a quarter of class 1 is taken for class 0
    >>> matrices = ConfusionMatrices.fit(answers, [0] * 40 + [1] * 40, 2)
    >>> matrices.proba[0].round(2).tolist(), matrices.enough.tolist()
    ([[0.97, 0.03], [0.23, 0.77]], [True])
    """

    proba: FloatArray
    enough: BoolArray

    def __post_init__(self) -> None:
        proba, enough = np.asarray(self.proba, dtype=np.float64), np.asarray(self.enough)
        if proba.ndim != 3 or proba.shape[1] != proba.shape[2]:
            raise InputError(f"must have shape (J, K, K), got {proba.shape}.", argument="proba")
        if not (proba > 0).all() or not np.allclose(proba.sum(axis=2), 1):
            raise InputError("must be above 0 and add up to 1 over the answers of each true class.", argument="proba")
        if enough.shape != (len(proba),) or enough.dtype != np.bool_:
            raise InputError(
                f"must be ({len(proba)},) True or False, got {enough.shape} of {enough.dtype}.", argument="enough"
            )
        object.__setattr__(self, "proba", frozen(proba))
        object.__setattr__(self, "enough", frozen(enough))

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.proba)

    @property
    def n_classes(self) -> int:
        """K."""
        return self.proba.shape[1]

    @classmethod
    def fit(
        cls,
        answers: ArrayLike,
        labels: ArrayLike,
        n_classes: int,
        *,
        prior: float = 10.0,
        min_per_class: int = 30,
    ) -> "ConfusionMatrices":
        """Count held-out answers, with a Dirichlet prior centred on symmetric errors.

        With N_ym answers m where the truth is y, row y is (N_ym + prior S_ym) / (N_y + prior), the posterior
        mean; S has the expert's own accuracy a = (right + 1) / (answered + 2) on the diagonal and
        (1 - a) / (K - 1) elsewhere.

        Parameters
        ----------
        answers : (n, J) int
            Class numbers, -1 where missing.
        labels : (n,) int
            The truth, as class numbers.
        n_classes : int
            K.
        prior : float
            How many answers per true class the prior is worth.
        min_per_class : int
            An expert has enough data with so many answers in each of the K classes.
        """
        n_classes = whole_number("n_classes", n_classes, least=1)
        if not (np.isfinite(prior) and prior > 0):
            raise InputError(f"must be a number of answers above 0, got {prior}.", argument="prior")
        answer_idx = answer_numbers(answers, n_classes=n_classes)
        truth = index_numbers("labels", labels, below=n_classes, n_items=len(answer_idx))
        counts = _counts(answer_idx, truth, n_classes=n_classes)
        per_class = counts.sum(axis=2)
        centre = _symmetric(counts, n_classes=n_classes)
        return cls(
            proba=(counts + prior * centre) / (per_class + prior)[:, :, None],
            enough=(per_class >= min_per_class).all(axis=1),
        )


def _counts(answers: IntArray, labels: IntArray, *, n_classes: int) -> FloatArray:
    rows, experts = np.nonzero(answers != MISSING)
    cells = (experts * n_classes + labels[rows]) * n_classes + answers[rows, experts]
    shape = (answers.shape[1], n_classes, n_classes)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


def _symmetric(counts: FloatArray, *, n_classes: int) -> FloatArray:
    """Return (J, K, K) with each expert's accuracy on the diagonal and their errors spread evenly."""
    if n_classes == 1:
        return np.ones_like(counts)
    right = np.trace(counts, axis1=1, axis2=2)
    accuracy = ((right + 1) / (counts.sum(axis=(1, 2)) + 2))[:, None, None]
    return np.where(np.eye(n_classes, dtype=np.bool_), accuracy, (1 - accuracy) / (n_classes - 1))


AS_THE_OTHERS = 10
"""Answers as the others' that stand beside each expert's own in the mean and spread of their residuals and in their
discount."""


def vote_discount(answers: ArrayLike, labels: ArrayLike, expert_proba: ArrayLike) -> FloatArray:
    """Estimate how much each expert's errors go with the others', on held-out data.

    With c_j in {0, 1} (was j right?) the residual c_j - p_j is what expert_proba did not foresee. rho_ij is the
    correlation of the residuals of i and j over the m_ij items that both answered, as far as these bear it out: drawn
    to the mean of all pairs where they are few, less one standard error, and never negative. The discount is its
    mean over the answers beside which j's answers stand,

        r_j = sum_{i != j} rho_ij m_ij / sum_{i != j} m_ij,

    shrunk toward that of all experts by ten answers as theirs: who has none on record is not independent of the
    others for that. Where n are heard, j's answer counts w_j = 1 / (1 + (n - 1) r_j) (the design effect of survey
    sampling): in full where it is the only one, and as 1 / n of n identical experts, who together have one vote.

    Limits: it looks at being wrong together, not at giving the same wrong answer; one number per expert stands for
    all items and all panels, so in a panel without the clones a clone counts for too little, and in one with more of
    them than on record for too much; negative correlation is not rewarded; an expert whom expert_proba
    calls certain, and who never errs, passes for independent.

    Parameters
    ----------
    answers : (n, J) int
        Class numbers of held-out items, -1 where missing.
    labels : (n,) int
        The truth, as class numbers.
    expert_proba : (J,) or (n, J)
        P(expert j is right | x).

    Returns
    -------
    (J,) r_j in [0, 1], 0 for independent experts, for `weighted_vote`, `bayes_vote`, `next_step` and `ask_in_turn`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels, one, other = rng.integers(2, size=(3, 10_000))
    >>> vote_discount(np.stack([one, one, other], axis=1), labels, [0.5, 0.5, 0.5]).round(2).tolist()
    [0.49, 0.49, 0.0]
    """
    array = np.asarray(answers)
    highest = int(array.max()) + 1 if array.size and array.dtype.kind in "iu" else 1
    answer_idx = answer_numbers(answers, n_classes=max(highest, 1))
    truth = index_numbers("labels", labels, n_items=len(answer_idx))
    proba = expert_probabilities(expert_proba, n_items=len(answer_idx), n_experts=answer_idx.shape[1])
    observed = answer_idx != MISSING
    surprise = _standardised(answer_idx == truth[:, None], proba, observed)
    answered = observed.astype(np.float64)
    shared = answered.T @ answered
    n_answers = np.diag(shared).copy()
    np.fill_diagonal(shared, 0)
    correlation = _borne_out(surprise.T @ surprise, (surprise**2).T @ surprise**2, shared)
    together, beside = (correlation * shared).sum(axis=0), shared.sum(axis=0)
    as_the_others = AS_THE_OTHERS / max(n_answers.sum(), 1)
    beside = beside + as_the_others * beside.sum()
    return np.asarray((together + as_the_others * together.sum()) / np.where(beside > 0, beside, 1.0))


def _standardised(correct: BoolArray, proba: FloatArray, observed: BoolArray) -> FloatArray:
    """Return each expert's residuals with mean 0 and variance 1, (n, J); 0 where not observed or never surprising.

    Mean and variance of few answers are luck. Who erred in none of five has residuals 1 - p(x), which rise and fall
    with everybody else's: so the mean is shrunk toward that of all answers, and the variance is at least p's own.
    """
    residual = np.where(observed, correct - proba, 0.0)
    n_answers = observed.sum(axis=0)
    mean_of_all = residual.sum() / max(n_answers.sum(), 1)
    mean = (residual.sum(axis=0) + AS_THE_OTHERS * mean_of_all) / (n_answers + AS_THE_OTHERS)
    centred = np.where(observed, residual - mean, 0.0)
    own = (centred**2).sum(axis=0) / np.maximum(n_answers, 1)
    foreseen = np.where(observed, proba * (1 - proba), 0.0).sum(axis=0) / np.maximum(n_answers, 1)
    drawn = (n_answers * own + AS_THE_OTHERS * foreseen) / (n_answers + AS_THE_OTHERS)
    variance = np.maximum(own, drawn)
    varies = variance > 1e-12
    return np.where(varies, centred / np.sqrt(np.where(varies, variance, 1.0)), 0.0)


def _borne_out(products: FloatArray, squares: FloatArray, shared: FloatArray) -> FloatArray:
    """Return each pair's correlation as far as its m shared items bear it out, (J, J), in [0, 1].

    Takes the sums over the shared items of x, the product of two standardised residuals, and of x**2. The mean r of
    a pair's x has the variance s**2 / m. With correlations spread normally about mu with variance tau**2, a pair's
    is mu + t (r - mu), t = tau**2 / (tau**2 + s**2 / m), up to a standard error of sqrt(t s**2 / m), which is taken
    off. Clones are rarer and more alike than that: r itself counts as far as it is above what chance makes of
    the largest of so many pairs, sqrt(2 log pairs) standard errors.

    mu is the mean of all pairs less its standard error. tau**2 is the mean of (rho - mu)**2, where
    ((sum of x)**2 - sum of x**2) / (m (m - 1)) stands for rho**2: its expectation, whatever the distribution of x.
    """
    total = shared.sum()
    if not total:
        return np.zeros_like(shared)
    off = ~np.eye(len(shared), dtype=np.bool_)
    mean = np.where(shared > 0, products / np.maximum(shared, 1), 0.0)
    pooled = products[off].sum() / total
    spread = max(float(squares[off].sum() / total - pooled**2), 1.0)  # 1: what independence gives
    centre = max(pooled - np.sqrt(spread / (total / 2)), 0.0)  # each pair is in the sums twice
    twice = np.maximum(shared * (shared - 1), 0)
    apart = products**2 - squares - twice * (2 * centre * mean - centre**2)
    between = max(float(apart[off & (shared > 1)].sum() / max(twice.sum(), 1.0)), 0.0)
    error = spread / np.maximum(shared, 1)
    trust = between / np.maximum(between + error, 1e-300)
    drawn = centre + trust * (mean - centre) - np.sqrt(trust * error)
    largest = np.sqrt(2 * np.log(max(np.count_nonzero(shared) / 2, 2)) * error)
    return np.clip(np.maximum(drawn, mean - largest), 0, 1) * (shared > 0)
