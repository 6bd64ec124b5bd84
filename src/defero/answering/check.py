"""Check whether who answered what depends on the item's features or on its label."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.answering.chances import LeftOver, expert_chances, label_left_over, pool_chance, some_items, spread_chances
from defero.answering.inputs import WhoAnswered, directions, known_features, who_answered
from defero.answering.learned import learned_columns
from defero.answering.weights import By
from defero.answering.wording import describe
from defero.core.checks.arrays import FloatArray, IntArray, frozen, names
from defero.core.errors import InputError
from defero.core.several_tests import holm_adjusted

RISK = 0.05
"""Significance level: how often a dependence is reported although answers were given at random."""
SMALL_SHIFT = 0.01
"""No accuracy is off by more than this where the classes of the answered items are shifted by less."""

MOST_ITEMS = 50_000
"""Of more items a random part is tested; `answers_by_class` and `rates` are counted on all."""


@dataclass(frozen=True, eq=False)
class AnsweringCheck:
    """The result of `check_answering`. Every p value is adjusted for the number of questions asked.

    A `shift` is half the sum of the gaps between the classes of the items that were answered and those that chance and
    the features predict for them: an accuracy counted on the answers is off by at most that much.

    Attributes
    ----------
    p_features : float
        That answering does not depend on the features; nan where that cannot be asked.
    p_label : float
        That it does not depend on the label, given the features: for the pool, from expert to expert, or for one
        expert, whichever is least.
    p_pool, p_spread : float
        Of those the first two: items of one class get more answers; experts differ in which classes they answer.
    p_expert : (J,)
        Of those the last: 1 for who answered nothing or everything.
    shift : float
    expert_shift : (J,)
    answers_by_class : (K,)
        The mean number of answers that items of a class got; nan for a class without items.
    rates : (J, K)
        The share of the items of a class that an expert answered; nan likewise.
    oddest : (J,) int
        The class whose share among an expert's answers differs most from what was expected, -1 where there is none.
    gap : (J,)
        By how much: above 0 where they answered more of it.
    class_sizes : (K,) int
        How many items there are of each class.
    n_answers : int
    n_questions : int
        How many of the five could be asked: p values are multiplied by this.
    expert_names : J names
    classes : K names
    """

    p_features: float
    p_label: float
    p_pool: float
    p_spread: float
    p_expert: FloatArray
    shift: float
    expert_shift: FloatArray
    answers_by_class: FloatArray
    rates: FloatArray
    oddest: IntArray
    gap: FloatArray
    class_sizes: IntArray
    n_answers: int
    n_questions: int
    expert_names: tuple[str, ...]
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in ("p_expert", "expert_shift", "answers_by_class", "rates", "oddest", "gap", "class_sizes"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def depends_on_features(self) -> bool:
        """Does answering depend on the features? That alone biases nothing where the heads read them well."""
        return self.p_features < RISK

    @property
    def depends_on_label(self) -> bool:
        """Does answering depend on the label, beyond what the features predict? Then the answers need weights."""
        return self.pool_depends or self.experts_differ or bool(self.dependent_experts.size)

    @property
    def pool_depends(self) -> bool:
        """Do items of some class get more answers, by more than a hair?"""
        return self.p_pool < RISK and self.shift >= SMALL_SHIFT

    @property
    def experts_differ(self) -> bool:
        """Do experts differ in the classes that they answered?"""
        return self.p_spread < RISK

    @property
    def dependent_experts(self) -> IntArray:
        """Experts, by number, whose own answers alone show it, the largest shift first."""
        dependent = np.flatnonzero((self.p_expert < RISK) & (self.expert_shift >= SMALL_SHIFT))
        return dependent[np.argsort(-self.expert_shift[dependent], kind="stable")]

    def describe(self, *, weighted: By | None = None) -> tuple[str, ...]:
        """Return the result, what it means, what to do and what weights cannot correct, as sentences.

        Parameters
        ----------
        weighted : "label" or "label+features", optional
            How the answers were weighted already; without it weights are advised.
        """
        return describe(self, weighted=weighted)


def check_answering(
    item_idx: ArrayLike,
    expert_idx: ArrayLike,
    label_idx: ArrayLike,
    features: ArrayLike | None = None,
    *,
    n_classes: int,
    n_experts: int,
    expert_names: object = None,
    classes: object = None,
    rng: np.random.Generator | None = None,
) -> AnsweringCheck:
    """Test whether who answered what depends on the features, or on the label given the features.

    Up to five questions are asked, each at a level of 0.05 / 5: does the number of answers an item got depend on the
    features, or on what they leave of the label; do experts differ in which features or labels they answered; and
    does one expert, named with Holm's adjustment, choose by the label? Of answers given at random anything is said in
    at most 5 % of all studies, whoever worked on the same items: see `defero.answering.chances`.

    Parameters
    ----------
    item_idx, expert_idx : (m,) int
        Which item, and whose answer; each pair once.
    label_idx : (n,) int
        The class of each item that somebody might have answered, answered or not. It must not be made of the answers:
        a majority leans to what its voters say, and so seems to depend on who they were.
    features : (n, d), optional
        What the experts' heads will read. Columns of a posterior that was not learned from the item itself help.
    n_classes, n_experts : int
        K and J.
    expert_names, classes : names, optional
        For the words.
    rng : numpy Generator, optional
        Shuffles the items; by default always the same way.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> label = (rng.random(2_000) < 0.3).astype(int)
    >>> item = np.flatnonzero(rng.random(2_000) < np.where(label == 1, 0.9, 0.2))
    >>> check = check_answering(item, np.zeros(len(item), int), label, n_classes=2, n_experts=1)
    >>> check.depends_on_label, check.answers_by_class.round(1).tolist(), round(check.shift, 2)
    (True, [0.2, 0.9], 0.36)
    """
    who = who_answered(item_idx, expert_idx, label_idx, n_classes=n_classes, n_experts=n_experts)
    known = known_features(features, n_items=who.n_items)
    named, class_names = names("expert_names", expert_names, count=n_experts), _class_names(classes, n_classes)
    rng = np.random.default_rng(0) if rng is None else rng
    tested_items = some_items(who.n_items, MOST_ITEMS, rng=rng)
    part, known = who.part(tested_items), known[tested_items]
    left = label_left_over(part.label_idx, known, learned_columns(part, known, rng=rng))
    asked, each = _chances(part, directions(known), left, rng=rng)
    of_all = np.abs(part.per_item @ left.residual) / max(1, part.per_item.sum())
    gaps = part.sums(left.residual) / np.maximum(part.per_expert, 1)[:, None]
    oddest, gap = _farthest(gaps, left)
    with np.errstate(divide="ignore", invalid="ignore"):
        answers_by_class = who.by_class.sum(axis=0) / who.per_class
        rates = who.by_class / who.per_class
    return AnsweringCheck(
        p_features=_least(asked[:2]),
        p_label=_least(asked[2:]),
        p_pool=float(asked[2]),
        p_spread=float(asked[3]),
        p_expert=each,
        shift=_half(of_all[None])[0].item(),
        expert_shift=_half(np.abs(gaps)),
        answers_by_class=answers_by_class,
        rates=rates,
        oddest=oddest,
        gap=gap,
        class_sizes=who.per_class,
        n_answers=len(who.item_idx),
        n_questions=_questions(asked),
        expert_names=named,
        classes=class_names,
    )


def _chances(
    who: WhoAnswered, towards: FloatArray, left: LeftOver, *, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the p values of the five questions, nan where one cannot be asked, and those of the experts, (J,).

    The questions: features of the pool and from expert to expert; the label likewise, and of one expert. All are
    adjusted for the number of questions.
    """
    pool = [pool_chance(who.per_item, towards, rng=rng), pool_chance(who.per_item, *left.free(), rng=rng)]
    spread = spread_chances(who, [towards, left.residual], [None, left.by_trees], rng=rng)
    each = _each_expert(who, left)
    one = each.min(initial=1.0) if left.residual.size and who.item_idx.size else np.nan
    asked = np.array([pool[0], spread[0], pool[1], spread[1], one])
    times = _questions(asked)
    return np.minimum(1.0, times * asked), np.minimum(1.0, times * each)


def _questions(asked: FloatArray) -> int:
    """Count the questions that could be asked, 1 at least."""
    return max(1, int((~np.isnan(asked)).sum()))


def _each_expert(who: WhoAnswered, left: LeftOver) -> FloatArray:
    """Return p values of the experts, adjusted for the classes of each and for their number, (J,)."""
    chances = expert_chances(who, left)
    least = chances.min(axis=1, initial=1.0) * max(1, chances.shape[1])
    return holm_adjusted(np.where(who.per_expert > 0, np.minimum(1.0, least), 1.0))


def _least(chances: FloatArray) -> float:
    """Return the least of some p values; nan where none could be had."""
    return float(np.nanmin(chances)) if not np.isnan(chances).all() else float("nan")


def _half(gaps: FloatArray) -> FloatArray:
    """Return half the sum of the gaps of all classes; of two classes one column is there."""
    return gaps[:, 0] if gaps.shape[1] == 1 else gaps.sum(axis=1) / 2.0


def _farthest(gaps: FloatArray, left: LeftOver) -> tuple[IntArray, FloatArray]:
    """Return the class with the largest gap of each expert, (J,), and the gap."""
    if not gaps.shape[1]:
        return np.full(len(gaps), -1), np.zeros(len(gaps))
    place = np.abs(gaps).argmax(axis=1)
    largest = gaps[np.arange(len(gaps)), place]
    return np.where(largest == 0, -1, left.classes[place]), largest


def _class_names(classes: object, n_classes: int) -> tuple[str, ...]:
    """Return the classes as words."""
    if classes is None:
        return tuple(str(k) for k in range(n_classes))
    names_given = tuple(str(one) for one in classes) if isinstance(classes, Iterable) else ()
    if len(names_given) != n_classes:
        raise InputError(f"must be {n_classes} names, one per class, got {len(names_given)}.", argument="classes")
    return names_given
