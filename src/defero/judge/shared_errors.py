"""Who errs with whom, beyond what the items explain? Two copies of one person are one person."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    expert_rows,
    frozen,
    index_numbers,
    names,
    probabilities,
)
from defero.core.checks.experts import answer_numbers
from defero.core.display import Plain, number
from defero.core.labels import MISSING
from defero.core.wording import list_in_words
from defero.judge.intervals import check_level
from defero.judge.shared_chance import (
    Common,
    SharedResiduals,
    both_unlikely,
    chance_of_same,
    chance_together,
    common_correlation,
    explained_chance,
)

LEAST_SHARED = 20
"""Of fewer shared answers nothing is said."""
NOTEWORTHY = 0.4
"""Pairs below this correlation are never named, however many answers they share."""
MOST_WRITTEN = 50
"""The matrix of more experts is left out of JSON."""
MOST_NAMED = 6
_ROUNDS = 4
COPY = 0.6
"""From this correlation on two experts are near-copies: together they are worth 1.25 voices at most."""
_BORROWED = 5.0
"""How many wrong answers of the pool each expert's own habits start with."""


@dataclass(frozen=True)
class SharedPair(Plain):
    """Two experts who err together beyond chance.

    Attributes
    ----------
    first, second : int
        Their numbers, first < second.
    experts : (str, str)
        Their names.
    correlation : float
        Of their errors, beyond what the item explains.
    agreement : float
        The share of the shared items on which both gave the same answer, right or wrong.
    n_shared : int
        How many items both answered.
    both_wrong, same_wrong : int
        On how many both were wrong, and gave the same wrong answer.
    p_value : float
        A bound on how likely any pair of strangers looks so much alike: adjusted for the number of pairs.
    """

    JSON: ClassVar[tuple[str, ...]] = (
        *("experts", "correlation", "agreement", "n_shared", "both_wrong", "same_wrong", "voices", "near_copies"),
        "p_value",
    )

    first: int
    second: int
    experts: tuple[str, str]
    correlation: float
    agreement: float
    n_shared: int
    both_wrong: int
    same_wrong: int
    p_value: float

    @property
    def near_copies(self) -> bool:
        """Should they count as one person?"""
        return self.correlation >= COPY

    @property
    def voices(self) -> float:
        """How many independent voices the two are worth: 2 / (1 + correlation)."""
        return 2 / (1 + self.correlation)


@dataclass(frozen=True, eq=False)
class Wrongs:
    """Answers, and which wrong ones the pool gives.

    Attributes
    ----------
    answers : (n, J) class numbers, -1 where missing
    labels : (n,) class numbers
    habit : (K, K)
        [y, k]: the share of the wrong answers to items of class y that are k.
    alike : (K,)
        The share of pairs of wrong answers to one item of class y that are the same.
    """

    answers: IntArray
    labels: IntArray
    habit: FloatArray
    alike: FloatArray

    @classmethod
    def of(cls, answers: IntArray, labels: IntArray, *, n_classes: int) -> "Wrongs":
        """Count."""
        n_items = len(labels)
        item, expert = np.nonzero((answers != MISSING) & (answers != labels[:, None]))
        wrong_idx = answers[item, expert]
        habit = np.bincount(labels[item] * n_classes + wrong_idx, minlength=n_classes**2).reshape(n_classes, n_classes)
        cell, count = np.unique(item * n_classes + wrong_idx, return_counts=True)
        each = np.bincount(item, minlength=n_items)
        same = np.bincount(labels[cell // n_classes], weights=count * (count - 1), minlength=n_classes)
        pairs = np.bincount(labels, weights=each * (each - 1), minlength=n_classes)
        # One pair more, as alike as all: a class with few errors tells little.
        overall = same.sum() / max(pairs.sum(), 1)
        shares = (habit + 1e-9) / (habit + 1e-9).sum(axis=1, keepdims=True)
        return cls(answers, labels, shares, (same + overall) / (pairs + 1))

    def chance_alike(self, first: int, second: int, items: IntArray) -> FloatArray:
        """Return how likely both give the same wrong answer to items that both get wrong.

        The larger of what two of the pool do, and of what these two do by their own habits in that class.
        """
        habits = [self._habit_of(expert)[self.labels[items]] for expert in (first, second)]
        return np.maximum(self.alike[self.labels[items]], (habits[0] * habits[1]).sum(axis=1))

    def _habit_of(self, expert: int) -> FloatArray:
        answers_given = self.answers[:, expert]
        wrong = np.flatnonzero((answers_given != MISSING) & (answers_given != self.labels))
        n_classes = len(self.alike)
        own = np.bincount(self.labels[wrong] * n_classes + answers_given[wrong], minlength=n_classes**2)
        drawn: FloatArray = own.reshape(n_classes, n_classes) + _BORROWED * self.habit
        return drawn / drawn.sum(axis=1, keepdims=True)


def judge_pair(
    first: int,
    second: int,
    chances: FloatArray,
    wrongs: Wrongs,
    *,
    common: float,
    correlation: float,
    names: Sequence[str],
) -> SharedPair:
    """Return two experts with what chance says of them, not adjusted yet; `chances` (n, J) are those of being wrong."""
    answers_given = wrongs.answers[:, [first, second]]
    items = np.flatnonzero((answers_given != MISSING).all(axis=1))
    answers_given, truth = answers_given[items], wrongs.labels[items]
    wrong: BoolArray = answers_given != truth[:, None]
    both, alike = wrong.all(axis=1), answers_given[:, 0] == answers_given[:, 1]
    p_value = chance_together(chances[items, first], chances[items, second], wrong, common=common)
    if len(wrongs.alike) > 2:
        same = chance_of_same(int((both & alike).sum()), wrongs.chance_alike(first, second, items[both]))
        p_value = min(2 * min(p_value, both_unlikely(p_value, same)), 1.0)  # twice: the better of two looks
    return SharedPair(
        first,
        second,
        (names[first], names[second]),
        correlation,
        float(alike.mean()),
        len(items),
        int(both.sum()),
        int((both & alike).sum()),
        p_value,
    )


def groups_of(pairs: Sequence[SharedPair]) -> tuple[tuple[int, ...], ...]:
    """Put near-copies together: whoever is a near-copy of one of a group belongs to it."""
    groups: list[set[int]] = []
    for pair in pairs:
        if not pair.near_copies:
            continue
        touched = [group for group in groups if group & {pair.first, pair.second}]
        groups = [group for group in groups if group not in touched]
        groups.append(set().union({pair.first, pair.second}, *touched))
    return tuple(sorted(tuple(sorted(group)) for group in groups))


@dataclass(frozen=True, eq=False)
class SharedErrors:
    """Which of J experts err together more than the items explain.

    Attributes
    ----------
    correlation : (J, J)
        Of two experts' errors, beyond what the item explains: about 0 for strangers, 0.95 where one copies 95 % of
        the other's answers; nan on the diagonal, and where too few answers are shared or nobody errs.
    n_shared : (J, J) int
        How many items both answered; on the diagonal, how many the expert answered.
    typical : float
        The mean correlation of two experts before hard items are allowed for: how much they make all err together.
    pairs : tuple of SharedPair
        Those who err together beyond chance, the most alike first.
    groups : tuple of tuples of expert numbers
        Near-copies put together: each group counts as one person.
    names : J names
    """

    correlation: FloatArray
    n_shared: IntArray
    typical: float
    pairs: tuple[SharedPair, ...]
    groups: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]

    @property
    def group_names(self) -> tuple[tuple[str, ...], ...]:
        """The groups by name."""
        return tuple(tuple(self.names[j] for j in group) for group in self.groups)

    @property
    def sentences(self) -> tuple[str, ...]:
        """One for each group of near-copies, the largest first.

        >>> SharedErrors(np.eye(2), np.eye(2, dtype=int), 0.0, (), ((0, 1),), ("ann", "bob")).sentences
        ('ann and bob err together: count them as one person.',)
        """
        ordered = sorted(self.group_names, key=lambda group: -len(group))
        return tuple(
            f"{list_in_words(group, most=MOST_NAMED)} err together: count them as one person." for group in ordered
        )

    @property
    def caution(self) -> str | None:
        """The first of them, and how many more there are; None where nobody is like another."""
        if not self.groups:
            return None
        first, *others = self.sentences
        more = f" So do {len(others)} more group{'s' if len(others) > 1 else ''} of experts." if others else ""
        return first + more

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; the matrix of up to 50 experts."""
        shown = len(self.names) <= MOST_WRITTEN
        matrix = [[number(value) for value in row] for row in self.correlation.tolist()] if shown else None
        return {
            "typical_correlation": number(self.typical),
            "correlation": matrix,
            "pairs": [pair.to_dict() for pair in self.pairs],
            "groups": [list(group) for group in self.group_names],
        }


def shared_errors(
    answers: ArrayLike,
    labels: ArrayLike,
    expert_proba: ArrayLike | None = None,
    *,
    expert_names: ArrayLike | None = None,
    level: float = 0.95,
) -> SharedErrors:
    """Find experts who err together more than the items explain.

    Three things make strangers err together, and are taken away first: the item as the model sees it (expert_proba),
    its true class (each expert's chance is corrected within each), and whatever else makes items hard for everybody,
    which is read off all the other experts. With q the chance of being wrong so explained and e = wrong - q,

        r_ab = sum e_a e_b / sqrt(sum q_a (1 - q_a) sum q_b (1 - q_b))  over shared items,
        correlation_ab = (r_ab - c_ab) / (1 - c_ab),

    where c_ab is the correlation that the pool lets expect of a and b (`common_correlation`). A pair is named where its
    correlation is `NOTEWORTHY` and chance does not explain it: a Chernoff bound on sum e_a e_b, put together with one
    on how often both gave the same wrong answer (Fisher), times the number of pairs that share `LEAST_SHARED`
    answers (Bonferroni). Bounds, since the normal law fails rare errors.

    Limits: with two or three experts hidden difficulty cannot be told from copying, and whatever goes together up to
    a correlation of 0.5 passes for difficulty. Experts who hardly err cannot be told apart. Difficulties that some
    experts share and others do not, as of a school, are shared errors and are named.

    Parameters
    ----------
    answers : (n, J) int
        Class numbers of held-out items, -1 where missing.
    labels : (n,) int
        The truth, as class numbers.
    expert_proba : (J,) or (n, J), optional
        P(expert j is right | x). Without it only the true class explains.
    expert_names : J names, optional
    level : float
        1 - level is how often any pair of a pool of strangers is named, at most.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(3, size=500)
    >>> answers = np.where(rng.random((500, 4)) < 0.8, labels[:, None], rng.integers(3, size=(500, 4)))
    >>> answers[:25, 3], answers[25:, 3] = labels[:25], answers[25:, 0]  # dr_z copies dr_a in 95 % of the cases
    >>> errors = shared_errors(answers, labels, expert_names=["dr_a", "dr_b", "dr_c", "dr_z"])
    >>> errors.group_names, errors.pairs[0].correlation > 0.9, errors.pairs[0].n_shared
    ((('dr_a', 'dr_z'),), True, 500)
    """
    check_level(level)
    answer_idx = answer_numbers(answers)
    truth = index_numbers("labels", labels, n_items=len(answer_idx))
    n_items, n_experts = answer_idx.shape
    named = names("expert_names", expert_names, count=n_experts)
    stated = np.full(n_experts, 0.5) if expert_proba is None else np.asarray(expert_proba)
    proba = probabilities("expert_proba", expert_rows("expert_proba", stated, n_items=n_items, n_experts=n_experts))
    observed = answer_idx != MISSING
    n_classes = int(max(answer_idx.max(initial=0), truth.max(initial=0))) + 1
    correct = answer_idx == truth[:, None]
    q = explained_chance(correct, observed, truth, proba, n_classes=n_classes)
    wrongs = Wrongs.of(answer_idx, truth, n_classes=n_classes)
    products = SharedResiduals.of(np.where(observed, ~correct - q, 0.0), q * (1 - q), observed)
    answered = observed.astype(np.float64)
    n_shared = (answered.T @ answered).astype(np.int64)
    enough = (n_shared >= LEAST_SHARED) & ~np.isnan(products.correlation)
    np.fill_diagonal(enough, False)
    common, pairs = _search(products, enough, q, wrongs, named, level=level)
    correlation = np.clip((products.correlation - common.value) / (1 - common.value), -1, 1)
    whole = products.norm.sum()
    return SharedErrors(
        correlation=frozen(np.where(enough, correlation, np.nan)),
        n_shared=frozen(n_shared),
        typical=float(products.total.sum() / whole) if whole > 0 else float("nan"),
        pairs=tuple(sorted(pairs, key=lambda pair: -pair.correlation)),
        groups=groups_of(pairs),
        names=named,
    )


def _search(
    products: SharedResiduals, enough: BoolArray, q: FloatArray, wrongs: Wrongs, named: tuple[str, ...], *, level: float
) -> tuple[Common, list[SharedPair]]:
    """Return the pool's correlations (J, J) and the pairs beyond them; who is named says no more what is typical."""
    n_pairs = int(np.triu(enough).sum())
    typical = np.ones(enough.shape, dtype=np.bool_)
    for _ in range(_ROUNDS):
        common = common_correlation(products, typical)
        beyond = np.nan_to_num((products.correlation - common.value) / (1 - common.value))
        # Chernoff's bound of what lies less than a standard deviation out is never small.
        far = products.total - common.most * products.norm > np.sqrt(products.variance)
        candidates = [
            judge_pair(a, b, q, wrongs, common=common.most[a, b], correlation=min(float(beyond[a, b]), 1), names=named)
            for a, b in np.argwhere(np.triu(enough & far & (beyond >= NOTEWORTHY))).tolist()
        ]
        # Adjusted for the number of pairs (Bonferroni).
        adjusted = [replace(pair, p_value=min(pair.p_value * n_pairs, 1.0)) for pair in candidates]
        pairs = [pair for pair in adjusted if pair.p_value <= 1 - level]
        before, typical = typical, np.ones(enough.shape, dtype=np.bool_)
        for pair in pairs:
            typical[[pair.first, pair.second], [pair.second, pair.first]] = False
        if (typical == before).all():
            break
    return common, pairs
