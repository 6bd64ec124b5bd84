"""Who errs with whom, beyond what the items explain? Two copies of one person are one person."""

from collections.abc import Sequence
from dataclasses import dataclass
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
from defero.core.labels import MISSING, answer_numbers
from defero.core.wording import Plain, list_in_words, number
from defero.judge.intervals import check_level
from defero.judge.shared_chance import (
    Common,
    SharedResiduals,
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

    HIDDEN: ClassVar[tuple[str, ...]] = ("first", "second")
    MORE: ClassVar[tuple[str, ...]] = ("voices", "near_copies")

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


def judge_pair(
    first: int, second: int, chances: FloatArray, answers: IntArray, labels: IntArray, *, common: float
) -> dict[str, Any]:
    """Count what two experts did together; `chances` (n, J) are those of being wrong. The p value is not adjusted."""
    items = np.flatnonzero((answers[:, [first, second]] != MISSING).all(axis=1))
    given = answers[items][:, [first, second]]
    wrong: BoolArray = given != labels[items, None]
    both, alike = wrong.all(axis=1), given[:, 0] == given[:, 1]
    return {
        "agreement": float(alike.mean()),
        "n_shared": len(items),
        "both_wrong": int(both.sum()),
        "same_wrong": int((both & alike).sum()),
        "p_value": chance_together(chances[items, first], chances[items, second], wrong, common=common),
    }


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
    correlation is `NOTEWORTHY` and chance does not explain it: a Chernoff bound on sum e_a e_b, times the number of
    pairs that share `LEAST_SHARED` answers (Bonferroni). A bound, since the normal law fails rare errors.

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
    products = SharedResiduals.of(np.where(observed, ~correct - q, 0.0), q * (1 - q), observed)
    answered = observed.astype(np.float64)
    n_shared = (answered.T @ answered).astype(np.int64)
    enough = (n_shared >= LEAST_SHARED) & ~np.isnan(products.correlation)
    np.fill_diagonal(enough, False)
    common, pairs = _search(products, enough, q, answer_idx, truth, named, level=level)
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
    products: SharedResiduals,
    enough: BoolArray,
    q: FloatArray,
    answers: IntArray,
    labels: IntArray,
    named: tuple[str, ...],
    *,
    level: float,
) -> tuple[Common, list[SharedPair]]:
    """Return the pool's correlations (J, J) and the pairs beyond them; who is named says no more what is typical."""
    n_pairs = int(np.triu(enough).sum())
    typical = np.ones(enough.shape, dtype=np.bool_)
    for _ in range(_ROUNDS):
        common = common_correlation(products, typical)
        beyond = np.nan_to_num((products.correlation - common.value) / (1 - common.value))
        # Chernoff's bound of what lies less than a standard deviation out is never small.
        far = products.total - common.most * products.norm > np.sqrt(products.variance)
        pairs = []
        for a, b in np.argwhere(np.triu(enough & far & (beyond >= NOTEWORTHY))).tolist():
            counted = judge_pair(a, b, q, answers, labels, common=common.most[a, b])
            # Adjusted for the number of pairs (Bonferroni).
            counted["p_value"] = min(counted["p_value"] * n_pairs, 1.0)
            pairs.append(SharedPair(a, b, (named[a], named[b]), min(float(beyond[a, b]), 1), **counted))
        pairs = [pair for pair in pairs if pair.p_value <= 1 - level]
        before, typical = typical, np.ones(enough.shape, dtype=np.bool_)
        for pair in pairs:
            typical[[pair.first, pair.second], [pair.second, pair.first]] = False
        if (typical == before).all():
            break
    return common, pairs
