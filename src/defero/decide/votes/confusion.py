"""Confusion matrices: what each expert answers for each true class."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, frozen, index_numbers, whole_number
from defero.core.checks.experts import answer_numbers
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
