"""Costs of errors as a matrix (K, K), and matrices with names, put in the order of the classes or refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.belief import Belief
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.errors import Argument, InputError
from defero.core.labels import Labels
from defero.core.wording import did_you_mean, join_names


def in_class_order(cost_matrix: Any, classes: Labels, *, file: str | None = None) -> Any:
    """Return a cost matrix in the order of the classes; an array, which has no names, unchanged.

    Parameters
    ----------
    cost_matrix : (K, K), DataFrame or {truth: {decision: cost}}, optional
    classes : (K,)
    file : str, optional
        Where the matrix stands.

    Examples
    --------
    >>> import numpy as np
    >>> costs = {"malign": {"malign": 0, "benign": 100}, "benign": {"malign": 10, "benign": 0}}
    >>> in_class_order(costs, np.array(["benign", "malign"], dtype=object))
    [[0, 10], [100, 0]]
    """
    names = [_text(label) for label in classes.tolist()]
    argument = Argument("cost_matrix") if file is None else Argument("cost_matrix", file)
    if hasattr(cost_matrix, "iloc") and hasattr(cost_matrix, "columns"):
        cells, columns = cost_matrix.to_numpy().tolist(), list(map(_text, cost_matrix.columns))
        truths, decisions = list(map(_text, cost_matrix.index)), [columns] * len(cells)
    elif isinstance(cost_matrix, Mapping):
        for truth, row in cost_matrix.items():
            if not isinstance(row, Mapping):
                raise InputError(f"{argument}: row {truth}: expected {{decision: cost}}, got {row!r}.")
        cells = [list(row.values()) for row in cost_matrix.values()]
        truths, decisions = list(map(_text, cost_matrix)), [list(map(_text, row)) for row in cost_matrix.values()]
    else:
        return cost_matrix
    order = class_places(truths, names, what="row", named=argument)
    places = [class_places(one, names, what="column", named=argument) for one in decisions]
    return [[cells[k][a] for a in places[k]] for k in order]


def class_places(texts: Sequence[str], names: Sequence[str], *, what: str, named: Argument) -> list[int]:
    """Return at which place of `texts` each class stands; refuse a class that is missing, unknown, or there twice.

    Parameters
    ----------
    texts : what the rows or columns are called
    names : of the classes
    what : "row" or "column"
    named : Argument
        The cost matrix, as a message calls it.

    Examples
    --------
    >>> class_places(["b", "a"], ["a", "b"], what="row", named=Argument("cost_matrix"))
    [1, 0]
    """
    absent = [name for name in names if name not in texts]
    unknown = [name for name in texts if name not in names]
    if absent:
        other = f", but one for {join_names(unknown)}, which is no class" if unknown else ""
        raise InputError(f"{named}: no {what} for the class {join_names(absent)}{other}.")
    if unknown:
        hint = did_you_mean(unknown[0], names)
        raise InputError(f"{named}: {what} {join_names(unknown)} is no class{hint} There are {join_names(names)}.")
    if len(texts) != len(names):
        raise InputError(f"{named}: a class has more than one {what}; leave one of them out.")
    return [texts.index(name) for name in names]


def _text(label: object) -> str:
    """Write a label, 1.0 as 1: tables read class numbers as either."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


_NUMBERS_AT_ONCE = 4_000_000
_NUMBERS_AT_A_TIME = 30_000
"""What a core has close by: larger pieces wait for memory, smaller ones for Python."""


@dataclass(frozen=True, eq=False)
class ErrorCosts:
    """What it costs to answer a when the truth is k.

    Attributes
    ----------
    matrix : (K, K)
        Rows are the truth, columns the answer.
    symmetric : bool
        0 on the diagonal, one number elsewhere.
    largest : float
        The dearest error.

    Examples
    --------
    >>> costs = ErrorCosts.of([[0, 1], [5, 0]], n_classes=2)  # class 1 is dear to miss
    >>> costs.of_labels(np.array([[0.7, 0.3]])).tolist()
    [[1.5, 0.7]]
    """

    matrix: FloatArray
    symmetric: bool
    largest: float

    @classmethod
    def of(cls, cost_matrix: ArrayLike | None, *, n_classes: int, error_cost: float = 1.0) -> "ErrorCosts":
        """Check a cost matrix; by default every error costs `error_cost`."""
        if not (np.isfinite(error_cost) and error_cost > 0):
            raise InputError(f"must be a positive number, got {error_cost}.", argument="error_cost")
        if cost_matrix is None:
            # With one class there is no error; without classes an answer is right or wrong all the same.
            return cls(error_cost * (1.0 - np.eye(n_classes)), symmetric=True, largest=error_cost * (n_classes != 1))
        matrix = np.asarray(cost_matrix, dtype=np.float64)
        if matrix.shape != (n_classes, n_classes) or not np.isfinite(matrix).all() or (matrix < 0).any():
            raise InputError(
                f"must be finite and not negative, of shape ({n_classes}, {n_classes}): rows truth, columns answer; "
                f"got shape {matrix.shape}.",
                argument="cost_matrix",
            )
        off = matrix[~np.eye(n_classes, dtype=np.bool_)]
        symmetric = not np.diag(matrix).any() and bool((off == off[:1]).all())
        return cls(matrix, symmetric=symmetric, largest=float(matrix.max(initial=0.0)))

    def of_answers(self, label_idx: IntArray, true_idx: IntArray) -> FloatArray:
        """Return what labels cost, (n,), by the true classes."""
        cost: FloatArray = self.matrix[true_idx, label_idx]
        return cost

    def of_labels(self, weights: FloatArray) -> FloatArray:
        """Return what each answer costs, (..., K), by the weights (..., K) of the classes."""
        if self.symmetric:
            return self.largest * (weights.sum(axis=-1, keepdims=True) - weights)
        return weights @ self.matrix

    def least(self, weights: FloatArray) -> FloatArray:
        """Return what the cheapest answer costs, (...,)."""
        if self.symmetric:
            cost: FloatArray = self.largest * (weights.sum(axis=-1) - weights.max(axis=-1))
            return cost
        cost = self.of_labels(weights).min(axis=-1)
        return cost


def cost_of_answers(evidence: Belief, costs: ErrorCosts) -> FloatArray:
    """Return what is expected of each expert's answer where it is final, (n, J), without the fee.

    sum_k pi_k sum_m P(m | k, x) C[k, m]; where every error costs the same, that is the cost of an error times
    P(the expert is wrong).

    Examples
    --------
    >>> from defero.core.law import Law
    >>> evidence = Belief(Law.independent(2), np.array([[0.5, 0.5]]), np.array([[[0.9]]]), np.array([[-1]]))
    >>> costs = ErrorCosts.of([[0, 1], [5, 0]], n_classes=2)
    >>> cost_of_answers(evidence, costs).round(3).tolist()
    [[0.3]]
    """
    if costs.symmetric:
        return costs.largest * (1 - evidence.right_of_all())
    n_items, n_experts = evidence.answer_idx.shape
    cost = np.zeros((n_items, n_experts))
    size = max(1, _NUMBERS_AT_ONCE // evidence.n_classes**2)
    for j in range(n_experts):
        for start in range(0, n_items, size):
            rows = np.arange(start, min(start + size, n_items))
            answers = evidence.likelihood(rows, np.full(len(rows), j))
            cost[rows, j] = np.einsum("ak,akm,km->a", evidence.posterior[rows], answers, costs.matrix)
    return cost


def after_one_answer(
    evidence: Belief, item_idx: IntArray, can: BoolArray, costs: ErrorCosts
) -> tuple[FloatArray, FloatArray]:
    """Return what is expected once one more expert has answered, without the fee.

    Parameters
    ----------
    evidence : Belief of n items
    item_idx : (a,)
        Which of the n items these are.
    can : (a, J)
        Who can be asked; the others get the cost of answering now, and no information.
    costs : ErrorCosts

    Returns
    -------
    cost : (a, J)
        sum_m min_a sum_k pi_k P(m | k) C[k, a].
    information : (a, J)
        By how much the answer is expected to raise sum_k pi_k^2. Unlike the cost it falls short of 0 for nobody who
        tells anything, also where no single answer can turn the decision.
    """
    belief = evidence.posterior[item_idx]
    cost = np.repeat(costs.least(belief)[:, None], can.shape[1], axis=1)
    information = np.zeros(can.shape)
    right = evidence.symmetric(item_idx)
    if right is not None and costs.symmetric:
        gain, information = _symmetric(belief, right)
        return np.where(can, cost - costs.largest * gain, cost), np.where(can, information, 0.0)
    rows, experts = np.nonzero(can)
    size = max(1, _NUMBERS_AT_ONCE // belief.shape[1] ** 2)
    for start in range(0, len(rows), size):
        row, expert = rows[start : start + size], experts[start : start + size]
        joint = belief[row][:, :, None] * evidence.likelihood(item_idx[row], expert)
        by_answer = joint.transpose(0, 2, 1)
        cost[row, expert] = np.minimum(costs.least(by_answer).sum(axis=1), cost[row, expert])
        square = (joint**2).sum(axis=1) / np.maximum(joint.sum(axis=1), 1e-300)
        information[row, expert] = square.sum(axis=1) - (belief[row] ** 2).sum(axis=1)
    return cost, information


def _symmetric(belief: FloatArray, expert_proba: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the gain in P(right) and the information of one answer with uniform errors, (a, J) each.

    With a = p_j, b = (1 - p_j) / (K - 1) and the most likely class t, the maximum of pi_y P(m | y) over y is
    max(a pi_m, b pi_t) for m other than t, and max(a pi_t, b pi_s) for m = t with the second class s.
    """
    (n_items, n_classes), n_experts = belief.shape, expert_proba.shape[1]
    gain, information = np.zeros(expert_proba.shape), np.zeros(expert_proba.shape)
    if n_classes == 1 or not n_items:
        return gain, information
    second, top = np.partition(belief, n_classes - 2, axis=1)[:, -2:].T[:, :, None]
    squares = (belief**2).sum(axis=1)[:, None]
    each_class, square_of = belief[:, None], squares[:, :, None] - belief[:, None] ** 2
    size = max(1, _NUMBERS_AT_A_TIME // (n_items * n_classes))  # (a, J, K) of all experts may be too large
    for start in range(0, n_experts, size):
        some = slice(start, start + size)
        right = expert_proba[:, some]
        other = (1 - right) / (n_classes - 1)
        weighted = right[:, :, None] * each_class
        each = np.maximum(weighted, (other * top)[:, :, None]).sum(axis=2)
        # The sum took max(a, b) pi_t for the answer t, where the second class stands instead of t itself.
        gain[:, some] = each - np.maximum(right, other) * top + np.maximum(right * top, other * second) - top
        chance = other[:, :, None] + (right - other)[:, :, None] * each_class
        square = (other**2)[:, :, None] * square_of + weighted**2
        information[:, some] = (square / np.maximum(chance, 1e-300)).sum(axis=2) - squares
    return np.maximum(gain, 0), np.maximum(information, 0)  # negative only by rounding: who need not listen cannot lose
