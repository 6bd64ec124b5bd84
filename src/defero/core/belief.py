"""Belief: what was heard of items, and what follows by the law of answers: their classes, and who is right next."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.labels import MISSING
from defero.core.law import EPS, Law
from defero.core.scores import sigmoid, softmax

_TIE = 1e-9
"""Sums of log-odds depend on the order of the experts in the last digits; closer than this is a tie."""


@dataclass(frozen=True, eq=False)
class Belief:
    """What was heard of n items, and what is believed of them.

    Attributes
    ----------
    law : Law
    class_proba : (n, K)
        The model's P(y = k | x).
    right : (n, J, K) or (n, J, 1)
        P(expert j is right | x, y = k); one number for all classes where the skill by class is not known.
    answer_idx : (n, J) int
        Class numbers, -1 where nothing was heard.

    Examples
    --------
    One answer beside a model that knows nothing gives its expert's p, whatever the law:

    >>> from defero.core.law import uniform_errors
    >>> law = Law(uniform_errors(2), difficulty=2.0)
    >>> said = Belief(law, np.full((1, 2), 0.5), np.full((1, 2, 1), 0.9), np.array([[1, -1]]))
    >>> said.posterior.round(6).tolist()
    [[0.1, 0.9]]

    A second answer of the same kind says less than the first:

    >>> both = Belief(law, np.full((1, 2), 0.5), np.full((1, 2, 1), 0.9), np.array([[1, 1]]))
    >>> alone = Belief(Law.independent(2), np.full((1, 2), 0.5), np.full((1, 2, 1), 0.9), np.array([[1, 1]]))
    >>> both.posterior[0, 1].round(3).item(), alone.posterior[0, 1].round(3).item()
    (0.959, 0.988)
    """

    law: Law
    class_proba: FloatArray
    right: FloatArray
    answer_idx: IntArray
    _answers: "_Heard" = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_answers", _Heard.of(self.law, self.right, self.answer_idx))

    @classmethod
    def of_answers(
        cls,
        law: Law,
        class_proba: FloatArray,
        item_idx: IntArray,
        expert_idx: IntArray,
        codes: IntArray,
        right: FloatArray,
    ) -> "Belief":
        """Return the evidence of m answers, sorted by item, with their own P(right | x, y), (m, K) or (m, 1).

        It knows of nobody who could be asked next.
        """
        nobody = len(class_proba), 0
        evidence = cls(law, class_proba, np.zeros((*nobody, 1)), np.full(nobody, MISSING))
        object.__setattr__(evidence, "_answers", _Heard.given(law, item_idx, expert_idx, codes, right))
        return evidence

    @property
    def n_classes(self) -> int:
        """K."""
        return self.class_proba.shape[1]

    @property
    def heard(self) -> BoolArray:
        """(n, J): who was heard."""
        return self.answer_idx != MISSING

    @cached_property
    def n_heard(self) -> FloatArray:
        """(n,): how many answers were heard, copies once."""
        return np.bincount(self._answers.row, self._answers.share, minlength=len(self.class_proba)).astype(np.float64)

    @cached_property
    def log_prior(self) -> FloatArray:
        """(n, K): log P(y = k | x), nobody beyond contradiction."""
        return np.log(np.clip(self.class_proba, EPS, 1 - EPS))

    @cached_property
    def node_weights(self) -> FloatArray:
        """(n, K, Q): log of w_q times P(who was right and who was wrong | y, u_q)."""
        cells, (_, weight) = self._answers, self.law.nodes
        log_weight = np.tile(np.log(weight), (len(self.class_proba), self.n_classes, 1))
        if len(cells.row):
            z = self.law.at_nodes(cells.right)
            z = np.where(cells.wrong[:, :, None], -z, z)
            _add_by_row(log_weight, cells.row, -cells.share[:, None, None] * np.logaddexp(0.0, -z))
        return log_weight

    @cached_property
    def _pull(self) -> tuple[FloatArray, FloatArray]:
        """Return eta_m^t and, for each truth k, its mean under W(. | k), (n, K) each."""
        pull = np.exp(self.law.lean * (self.log_prior - self.log_prior.max(axis=1, keepdims=True)))
        return pull, np.maximum(pull @ self.law.errors.T, 1e-300)

    def _near(self, row: IntArray, label: IntArray) -> FloatArray:
        """Return W_x(label | y = k) of some items and answers, (m, K): 0 where the answer is right."""
        near = self.law.errors.T[label]
        if not self.law.lean:
            return near
        pull, mean = self._pull
        return near * pull[row, label][:, None] / mean[row]

    def errors_now(self, row: IntArray) -> FloatArray:
        """Return W_x(m | y = k) of some items, (a, K, K)."""
        if not self.law.lean:
            return np.broadcast_to(self.law.errors, (len(row), *self.law.errors.shape))
        pull, mean = self._pull
        return self.law.errors * pull[row][:, None, :] / mean[row][:, :, None]

    @cached_property
    def _decoys(self) -> tuple[FloatArray, IntArray, IntArray, FloatArray]:
        """Return what was said where people were wrong, and what it says of the decoy.

        log prod (1 - c) W(m | y) of the wrong answers (n, K); and of each distinct answer of an item the item (g,), the
        answer (g,), and log prod (c + (1 - c) W) / ((1 - c) W) over those who gave it, (g, K).
        """
        cells, law = self._answers, self.law
        base = np.zeros((len(self.class_proba), self.n_classes))
        if not len(cells.row):
            return base, cells.row, cells.label, np.zeros((0, self.n_classes))
        near = np.where(cells.wrong, self._near(cells.row, cells.label), 1.0)
        plain = np.where(cells.wrong, np.log(near), 0.0) * cells.share[:, None]
        ratio = np.where(cells.wrong, np.log1p(law.decoy / ((1 - law.decoy) * near)), 0.0) * cells.share[:, None]
        if law.decoy:
            plain += np.where(cells.wrong, np.log1p(-law.decoy), 0.0) * cells.share[:, None]
        _add_by_row(base, cells.row, plain)
        key, group = np.unique(cells.row * self.n_classes + cells.label, return_inverse=True)
        ratios = np.zeros((len(key), self.n_classes))
        np.add.at(ratios, group, ratio)
        return base, key // self.n_classes, key % self.n_classes, ratios

    @cached_property
    def log_likelihood(self) -> FloatArray:
        """(n, K): log P(the answers | y = k, x), with no constant left out."""
        base, row, label, ratio = self._decoys
        evidence = _log_sum(self.node_weights) + base
        if self.law.decoy and len(row):
            near = self._near(row, label)
            log_weight = np.log(np.maximum(near, 1e-300)) + ratio
            top = np.zeros_like(base)
            np.maximum.at(top, row, log_weight)  # many who say the same would overflow
            others, extra = np.ones_like(base), np.zeros_like(base)
            np.subtract.at(others, row, near)
            np.add.at(extra, row, np.exp(log_weight - top[row]))
            evidence = evidence + top + np.log(extra + np.maximum(others, 0.0) * np.exp(-top))
        return evidence

    @cached_property
    def log_posterior(self) -> FloatArray:
        """(n, K): log P(y = k | x, answers), up to a constant for each item."""
        return self.log_prior + self.log_likelihood

    @cached_property
    def posterior(self) -> FloatArray:
        """(n, K): P(y = k | x, answers), by which is decided; where nobody was heard the model's own numbers."""
        return np.where(self.n_heard[:, None] > 0, softmax(self.log_posterior), self.class_proba)

    @cached_property
    def reported(self) -> FloatArray:
        """(n, K): what is said of the classes: the posterior, tempered by how many have spoken.

        prior(y) times [(eta(y | x) / prior(y)) L(y)]^(max(1, n + tau)^-g): answers to one item repeat each other
        in more ways than a law can know.
        """
        return np.where(
            self.n_heard[:, None] > 0, self.law.tempered(self.log_posterior, self.n_heard), self.class_proba
        )

    @cached_property
    def node_posterior(self) -> FloatArray:
        """(n, K, Q): P(u_q | y, who was right)."""
        return np.exp(self.node_weights - _log_sum(self.node_weights)[:, :, None])

    def right_next(self, row: IntArray, expert: IntArray) -> FloatArray:
        """Return P(expert is right | y = k, answers) of some items and experts, (a, K)."""
        right = np.broadcast_to(self.right[row, expert], (len(row), self.n_classes))
        right = np.clip(right, EPS, 1 - EPS)
        if self.law.difficulty == 0 or not len(self._answers.row):
            return right
        return (self.node_posterior[row] * sigmoid(self.law.at_nodes(right))).sum(axis=2)

    def right_of_all(self) -> FloatArray:
        """Return P(expert j is right | x, answers), (n, J): what letting their answer stand is worth."""
        n_items, n_experts = self.answer_idx.shape
        by_class = np.empty((n_items, n_experts))
        for j in range(n_experts):
            next_one = self.right_next(np.arange(n_items), np.full(n_items, j))
            by_class[:, j] = (self.posterior * next_one).sum(axis=1)
        rows, experts = np.nonzero(self.heard)
        by_class[rows, experts] = self.posterior[rows, self.answer_idx[rows, experts]]
        return by_class

    def decoy_next(self, row: IntArray) -> FloatArray:
        """Return P(the decoy is z | y = k, answers), (a, K, K)."""
        if not (self.law.decoy and len(self._answers.row)):
            return self.errors_now(row)
        _, of_item, label, ratio = self._decoys
        weight = np.log(np.maximum(self.errors_now(np.arange(len(self.class_proba))), 1e-300))
        weight[of_item, :, label] += ratio
        return np.where(self.law.errors > 0, softmax_last(weight[row]), 0.0)

    def errors_next(self, row: IntArray) -> FloatArray:
        """Return P(the next wrong answer is m | y = k, answers), (a, K, K)."""
        return self.law.decoy * self.decoy_next(row) + (1 - self.law.decoy) * self.errors_now(row)

    def likelihood(self, row: IntArray, expert: IntArray) -> FloatArray:
        """Return P(m | y = k, x, answers) of the next answer to some items, (a, K, K) with the truth k first."""
        right = self.right_next(row, expert)
        law = (1 - right)[:, :, None] * self.errors_next(row)
        classes = np.arange(self.n_classes)
        law[:, classes, classes] = right
        return law

    def symmetric(self, row: IntArray) -> FloatArray | None:
        """Return P(right) of some items' next answers, (a, J), where it is the same for all classes; else None."""
        plain = self.law.difficulty == 0 or not len(self._answers.row)
        if self.right.shape[2] > 1 and self.n_classes > 1:
            return None
        if not (plain and self.law.uniform and not self.law.lean and not (self.law.decoy and len(self._answers.row))):
            return None
        return np.clip(self.right[row, :, 0], EPS, 1 - EPS)

    def can_tell(self) -> BoolArray:
        """(n, J): who has not been heard, and is no copy of somebody who was."""
        free = ~self.heard
        copies = self.law.copies
        if copies is None:
            return free
        heard_copy = np.zeros((len(free), int(copies.max(initial=0)) + 1), dtype=np.bool_)
        rows, experts = np.nonzero(self.heard)
        heard_copy[rows, copies[experts]] = True
        return free & ~heard_copy[:, copies]

    def take(self, rows: IntArray | slice, answer_idx: IntArray | None = None) -> "Belief":
        """Return the belief of some items, with other answers where they are given.

        A belief made by `of_answers` cannot be taken apart.
        """
        if len(self._answers.row) and not self.answer_idx.shape[1]:
            raise InputError(": a belief made by of_answers has no items apart; pass answers (n, J).", argument="rows")
        answers = self.answer_idx[rows] if answer_idx is None else answer_idx
        return Belief(self.law, self.class_proba[rows], self.right[rows], answers)


@dataclass(frozen=True, eq=False)
class _Heard:
    """The answers that were heard, one by one: their items, experts, labels, and for which classes they are wrong."""

    row: IntArray
    expert: IntArray
    label: IntArray
    wrong: BoolArray  # (m, K)
    share: FloatArray

    right: FloatArray  # (m, K) or (m, 1)

    @classmethod
    def of(cls, law: Law, right: FloatArray, answer_idx: IntArray) -> "_Heard":
        row, expert = np.nonzero(answer_idx != MISSING)
        return cls.given(law, row, expert, answer_idx[row, expert], right[row, expert])

    @classmethod
    def given(cls, law: Law, row: IntArray, expert: IntArray, label: IntArray, right: FloatArray) -> "_Heard":
        share = np.ones(len(row))
        if law.copies is not None and len(row):
            key = row * (int(law.copies.max(initial=0)) + 1) + law.copies[expert]
            _, group, count = np.unique(key, return_inverse=True, return_counts=True)
            share = 1.0 / count[group]
        return cls(row, expert, label, label[:, None] != np.arange(law.n_classes), share, right)


def belief_of(
    law: Law, class_proba: FloatArray, expert_proba: ArrayLike, answer_idx: IntArray, right: FloatArray | None = None
) -> Belief:
    """Return the evidence of n items; `right` (n, J, K) takes the place of P(right), (J,) or (n, J), where given."""
    if right is None:
        proba = np.broadcast_to(np.asarray(expert_proba, dtype=np.float64), answer_idx.shape)
        right = proba[:, :, None]
    return Belief(law, class_proba, right, answer_idx)


def belief_when_asked(
    law: Law, class_proba: FloatArray, expert_proba: ArrayLike, answer_idx: IntArray, right: FloatArray | None = None
) -> Belief:
    """Return the evidence of n items whose experts are chosen, one after the other, as those who look best."""
    by_class = None if right is None else law.when_asked(right)
    return belief_of(law, class_proba, law.when_asked(np.asarray(expert_proba)), answer_idx, by_class)


def softmax_last(logits: FloatArray) -> FloatArray:
    """Return exp(logits) normalised over the last axis."""
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def _log_sum(logs: FloatArray) -> FloatArray:
    """Return log sum exp over the last axis."""
    if logs.shape[-1] == 1:
        return logs[..., 0]
    top = logs.max(axis=-1)
    return np.asarray(top + np.log(np.exp(logs - top[..., None]).sum(axis=-1)))


def _add_by_row(total: FloatArray, row: IntArray, values: FloatArray) -> None:
    """Add values (m, ...) to the rows (n, ...) that they belong to; rows are sorted."""
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    total[row[starts]] += np.add.reduceat(values, starts, axis=0)


def log_odds_weights(expert_proba: FloatArray, *, n_classes: int, eps: float = EPS) -> FloatArray:
    """Return log(p (K - 1) / (1 - p)): what one answer adds to the log-odds of its class, in the shape of p.

    An expert at chance, p = 1/K, weighs 0; one below chance speaks against the answer.

    >>> log_odds_weights(np.array([[0.5, 0.8]]), n_classes=2).round(3).tolist()
    [[0.0, 1.386]]
    """
    proba = np.clip(expert_proba, eps, 1 - eps)
    weights: FloatArray = np.log(proba) - np.log1p(-proba) + np.log(max(n_classes - 1, 1))
    return weights


def tally(answers: IntArray, heard: BoolArray, weights: FloatArray, *, n_classes: int) -> FloatArray:
    """Return the weight that stands behind each class, (n, K).

    >>> tally(np.array([[0, 1, 1]]), np.array([[True, True, True]]), np.array([[3.0, 1.0, 1.0]]), n_classes=2).tolist()
    [[3.0, 2.0]]
    """
    rows, columns = np.nonzero(heard)
    cells = rows * n_classes + answers[rows, columns]
    sums = np.bincount(cells, weights=weights[rows, columns], minlength=len(answers) * n_classes)
    return sums.reshape(len(answers), n_classes).astype(np.float64)


def first_best(*criteria: FloatArray) -> IntArray:
    """Return the class that is largest by the first criterion, ties by the next one, at last the first class, (n,).

    >>> first_best(np.array([[2.0, 2.0, 1.0]]), np.array([[0.1, 0.2, 0.7]])).tolist()
    [1]
    """
    standing = np.ones(criteria[0].shape, dtype=np.bool_)
    for criterion in criteria:
        value = np.where(standing, criterion, -np.inf)
        standing &= value >= value.max(axis=1, keepdims=True) - _TIE
    return standing.argmax(axis=1)


def at(values: FloatArray, label_idx: IntArray) -> FloatArray:
    """Return each item's value at its class, (n,)."""
    return values[np.arange(len(values)), label_idx]
