"""Fit the law of answers on items whose class is known, by probabilities that did not see them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from defero.core.belief import Belief
from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.labels import MISSING
from defero.core.law import Law, uniform_errors
from defero.core.scores import logit
from defero.core.splits import sample_rows
from defero.decide.costs import ErrorCosts, after_one_answer
from defero.learn.logistic import Gain, fit_logistic, gain_of_asking
from defero.learn.skill import MOST_LOG_ODDS

AS_ALIKE = 2.0
"""So many errors of each class, alike over the others, stand beside those on record."""
MOST_ITEMS = 4_000
"""So many items tell the numbers of the law well enough."""
DIFFICULTIES = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.5, 8.0])
DECOYS = np.linspace(0.0, 0.95, 20)
LEANS = np.linspace(0.0, 2.0, 11)
TEMPERS = np.linspace(0.0, 1.0, 21)
MODEL_COUNTS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
WORTH_ASKING = 0.005
"""Who is expected to take so much of an error is one whom a team may ask."""
BELIEVED = 10.0
"""How firmly those who are asked are believed to be as good as they look, in units of one certain coin toss each."""
_CELLS = 1_000_000
N_HEARD = (1, 2, 3, 5, 0)
"""After how many answers of an item the report is judged; 0: after all."""
_FEWEST_SHARED = 20
"""Items with several answers below which experts count as independent, and nothing is tempered."""


@dataclass(frozen=True, eq=False)
class KnownAnswers:
    """Answers to items whose class is known, sorted by item.

    Attributes
    ----------
    class_proba : (n, K)
        P(y = k | x) by models that did not see the item.
    label_idx : (n,)
    item_idx, expert_idx, codes : (m,) int
        Which item, whose answer, and what was said.
    right : (m, K) or (m, 1)
        P(this answer is right | x, y = k), by models that did not see the item.
    """

    class_proba: FloatArray
    label_idx: IntArray
    item_idx: IntArray
    expert_idx: IntArray
    codes: IntArray
    right: FloatArray

    @property
    def n_classes(self) -> int:
        """K."""
        return self.class_proba.shape[1]

    def take(self, chosen: IntArray) -> "KnownAnswers":
        """Return some of the answers."""
        return replace(
            self,
            item_idx=self.item_idx[chosen],
            expert_idx=self.expert_idx[chosen],
            codes=self.codes[chosen],
            right=self.right[chosen],
        )

    def of_items(self, items: IntArray) -> "KnownAnswers":
        """Return the answers to some items, which are numbered anew."""
        place = np.full(len(self.label_idx), -1)
        place[items] = np.arange(len(items))
        part = self.take(np.flatnonzero(place[self.item_idx] >= 0))
        part = replace(part, item_idx=place[part.item_idx])
        return replace(part, class_proba=self.class_proba[items], label_idx=self.label_idx[items])

    def by_place(self) -> tuple[IntArray, FloatArray]:
        """Return the answers to each item, (n, a), -1 where there are no more, and their P(right), (n, a, K)."""
        counts = np.bincount(self.item_idx, minlength=len(self.label_idx))
        place = np.arange(len(self.item_idx)) - (np.cumsum(counts) - counts)[self.item_idx]
        codes = np.full((len(counts), counts.max(initial=0)), MISSING)
        right = np.full((*codes.shape, self.n_classes), 0.5)
        codes[self.item_idx, place], right[self.item_idx, place] = self.codes, self.right
        return codes, right

    def evidence(self, law: Law) -> Belief:
        """Return what these answers say of their items."""
        return Belief.of_answers(law, self.class_proba, self.item_idx, self.expert_idx, self.codes, self.right)


def fit_law(known: KnownAnswers, *, copies: IntArray | None = None) -> Law:
    """Fit errors, difficulty, decoy and lean, trust and temper, one after the other.

    The difficulty makes the patterns of right and wrong of the items likeliest, decoy and lean what was said where
    people were wrong, trust whether those were right who looked best to ask, and temper and model_counts the labels,
    after 1, 2, 3, 5 and all answers in an order drawn at random.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> n, item = 2_000, np.repeat(np.arange(2_000), 5)
    >>> label, hard = rng.integers(2, size=n), rng.normal(size=n)
    >>> right = rng.random(5 * n) < 1 / (1 + np.exp(-(1.5 + 1.5 * hard[item])))
    >>> p = np.full((5 * n, 1), right.mean())
    >>> known = KnownAnswers(np.full((n, 2), 0.5), label, item, np.tile(np.arange(5), n),
    ...                      np.where(right, label[item], 1 - label[item]), p)
    >>> 1.2 < fit_law(known).difficulty < 1.8
    True
    """
    counted = np.bincount(known.label_idx, minlength=known.n_classes) + 1.0
    law = Law(pooled_errors(known), prior=counted / counted.sum(), copies=copies)
    counts = np.bincount(known.item_idx, minlength=len(known.label_idx))
    shared = np.flatnonzero(counts > 1)
    if len(shared) < _FEWEST_SHARED or known.n_classes < 2:
        return law
    some = known.of_items(shared[sample_rows(len(shared), MOST_ITEMS)])
    law = replace(law, difficulty=_difficulty(some, law))
    if known.n_classes > 2:
        law = _of_wrong_answers(some, law)
    temper, model_counts = _temper(some, law)
    return replace(law, trust=_trust(some, law), temper=temper, model_counts=model_counts)


def pooled_errors(known: KnownAnswers) -> FloatArray:
    """Return P(a wrong answer is m | y = k), (K, K), of all experts; the answers of an item together count as one."""
    counts = AS_ALIKE * uniform_errors(known.n_classes)
    labels = known.label_idx[known.item_idx]
    weight = 1.0 / np.bincount(known.item_idx, minlength=len(known.label_idx))[known.item_idx]
    wrong = labels != known.codes
    np.add.at(counts, (labels[wrong], known.codes[wrong]), weight[wrong])
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)


def _difficulty(known: KnownAnswers, law: Law) -> float:
    """Return s, by a grid and a parabola through the three best."""
    rows = np.arange(len(known.label_idx))

    def value(s: float) -> float:
        evidence = known.evidence(replace(law, difficulty=s))
        weights = evidence.node_weights[rows, known.label_idx]
        top = weights.max(axis=1)
        return float((top + np.log(np.exp(weights - top[:, None]).sum(axis=1))).sum())

    # 0 is kept unless a difficulty is clearly likelier: one more number to learn.
    return _best_on_grid(value, DIFFICULTIES)


def _of_wrong_answers(known: KnownAnswers, law: Law) -> Law:
    """Return the law with the decoy and the lean under which what was said where people were wrong is likeliest."""
    rows = np.arange(len(known.label_idx))

    def value(lean: float, decoy: float) -> float:
        evidence = known.evidence(replace(law, difficulty=0.0, lean=lean, decoy=decoy))
        return float((evidence.log_likelihood - evidence.node_weights[:, :, 0])[rows, known.label_idx].sum())

    lean = decoy = 0.0
    for _ in range(2):
        lean = _best_on_grid(partial(value, decoy=decoy), LEANS)
        decoy = _best_on_grid(partial(value, lean), DECOYS)
    return replace(law, lean=lean, decoy=decoy)


def _trust(known: KnownAnswers, law: Law) -> float:
    """Return b, by the answers of those who looked best to ask among the ones who answered an item."""
    most = max(1, _CELLS // (int(np.bincount(known.item_idx).max()) * known.n_classes))
    some = known.of_items(sample_rows(len(known.label_idx), most))
    codes, right = some.by_place()
    costs, items = ErrorCosts.of(None, n_classes=some.n_classes), np.arange(len(codes))
    for _ in range(2):  # the second time those are chosen whom the team will choose
        evidence = Belief(law, some.class_proba, law.when_asked(right), np.full_like(codes, MISSING))
        cost, _ = after_one_answer(evidence, items, codes != MISSING, costs)
        best = cost.argmin(axis=1)
        chosen = np.flatnonzero(costs.least(evidence.posterior) - cost.min(axis=1) > WORTH_ASKING)
        who, label = best[chosen], some.label_idx[chosen]
        claimed = np.clip(logit(right[chosen, who, label]), -MOST_LOG_ODDS, MOST_LOG_ODDS)
        is_right = (codes[chosen, who] == label).astype(np.float64)
        b = fit_logistic(claimed[:, None], is_right, guess=np.ones(1), strength=np.array([BELIEVED]))[0]
        law = replace(law, trust=float(np.clip(b, 0.0, 1.0)))
    return law.trust


def _best_on_grid(value: Callable[[float], float], grid: FloatArray) -> float:
    """Return the number with the largest value, between the points of a grid; values fall on both sides of it."""
    values: list[float] = []
    for x in grid:
        values.append(value(float(x)))
        if len(values) > 3 and values[-1] < values[-2] < values[-3]:
            break
    best = int(np.argmax(values))
    if best == 0 or best == len(values) - 1:
        return float(grid[best])
    x, y = grid[best - 1 : best + 2], np.array(values[best - 1 : best + 2])
    a, b, _ = np.polyfit(x, y, 2)
    return float(np.clip(-b / (2 * a), x[0], x[2])) if a < 0 else float(grid[best])


def _temper(known: KnownAnswers, law: Law) -> tuple[float, float]:
    """Return g and tau, under which what is reported is likeliest, by prefixes of the answers in a random order."""
    prefixes = []
    for n in N_HEARD:
        items, part = _prefix(known, n)
        if len(items) < _FEWEST_SHARED:
            continue
        evidence = part.evidence(law)
        prefixes.append((evidence.log_posterior, evidence.n_heard, part.label_idx))
    best = (np.inf, 0.0, 0.0)
    for g in TEMPERS:
        for tau in MODEL_COUNTS if g else MODEL_COUNTS[:1]:
            total = 0.0
            for log_posterior, n_heard, label in prefixes:
                proba = replace(law, temper=g, model_counts=tau).tempered(log_posterior, n_heard)
                total -= float(np.log(np.maximum(proba[np.arange(len(label)), label], 1e-300)).mean())
            if total < best[0] - 1e-9:
                best = total, float(g), float(tau)
    return best[1], best[2]


def _prefix(known: KnownAnswers, n: int) -> tuple[IntArray, KnownAnswers]:
    """Return the items with at least n answers, and n of each of these in a random order; all of them for 0."""
    counts = np.bincount(known.item_idx, minlength=len(known.label_idx))
    items = np.flatnonzero(counts >= max(n, 2 if n == 0 else 1))
    if n == 0:
        return items, known.of_items(items)
    order = np.lexsort((np.random.default_rng(0).random(len(known.item_idx)), known.item_idx))
    starts = np.cumsum(counts) - counts
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - starts[known.item_idx[order]]
    return items, known.take(np.flatnonzero(place < n)).of_items(items)


def gain_of_several(known: KnownAnswers, law: Law) -> Gain | None:
    """Return what all recorded answers of an item together gained over the model's labels; None without answers."""
    if not len(known.item_idx) or known.n_classes < 2:
        return None
    some = known.of_items(np.unique(known.item_idx))
    evidence = some.evidence(law)
    after = evidence.log_posterior.argmax(axis=1) == some.label_idx
    before = some.class_proba.argmax(axis=1) == some.label_idx
    return gain_of_asking(after.astype(np.float64) - before)


FEWEST_IN_COMMON = 20
"""Items that two experts must share before one can be found to be a copy of the other."""
MOST_PAIRS = 400
"""Experts up to so many are compared pair by pair; of more, those with the most answers."""
FEWEST_ERRORS = 5
"""Items among these on which one of the two was wrong."""
COPY_AGREES = 0.9
"""The share of these on which they said the same."""


def find_copies(known: KnownAnswers, n_experts: int) -> IntArray | None:
    """Return a number for each expert, (J,), the same for those who answer as one; None where everybody is alone.

    A pair with 20 items or more in common is taken for one where, on the items that one of them got wrong, they said
    the same on at least 90 %. People of one school share many mistakes, but not nearly all of them.
    """
    if len(known.label_idx) > MOST_ITEMS:
        known = known.of_items(sample_rows(len(known.label_idx), MOST_ITEMS))
    counts = np.bincount(known.expert_idx, minlength=n_experts)
    some = np.sort(np.argsort(-counts, kind="stable")[:MOST_PAIRS])
    some = some[counts[some] >= FEWEST_IN_COMMON]
    if len(some) < 2:
        return None
    place = np.full(n_experts, -1)
    place[some] = np.arange(len(some))
    inside = np.flatnonzero(place[known.expert_idx] >= 0)
    answer_idx = np.full((len(known.label_idx), len(some)), MISSING)
    answer_idx[known.item_idx[inside], place[known.expert_idx[inside]]] = known.codes[inside]
    wrong = (answer_idx != MISSING) & (answer_idx != known.label_idx[:, None])
    alike_idx = []
    for a in range(len(some)):
        both = (answer_idx[:, a, None] != MISSING) & (answer_idx[:, a + 1 :] != MISSING)
        erred = both & (wrong[:, a, None] | wrong[:, a + 1 :])
        n_erred = erred.sum(axis=0)
        alike = (erred & (answer_idx[:, a, None] == answer_idx[:, a + 1 :])).sum(axis=0)
        is_copy = (both.sum(axis=0) >= FEWEST_IN_COMMON) & (n_erred >= FEWEST_ERRORS) & (alike >= COPY_AGREES * n_erred)
        alike_idx += [(some[a], some[b]) for b in np.flatnonzero(is_copy) + a + 1]
    if not alike_idx:
        return None
    first, second = np.array(alike_idx).T
    links = coo_array((np.ones(len(first)), (first, second)), shape=(n_experts, n_experts))
    _, group = connected_components(links, directed=False)  # the copy of a copy is one too, whatever the order
    return np.unique(group, return_index=True)[1][group].astype(np.int64)
