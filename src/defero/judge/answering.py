"""Were answers given at random? One test for the label and for the features of who was asked about what."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from defero.core.answers import Answers, Triplets
from defero.core.checks.arrays import FloatArray, IntArray, float_matrix, frozen, index_numbers, names
from defero.core.errors import Argument, InputError, Message
from defero.core.wording import round_percent

RISK = 0.01
"""Level of each of the two tests: answers given at random are called something else in at most 2 % of all studies."""
SMALL_SHIFT = 0.01
"""No accuracy is off by more than this where the classes of the answered items are shifted by less."""
N_SHUFFLES = 399
MOST_ITEMS, MOST_ANSWERS = 20_000, 200_000
"""Of more items, or of items with more answers, a random part is tested; the rates are counted on all."""
MOST_CLASSES, MOST_COLUMNS, MOST_DIRECTIONS = 12, 128, 6
FEWEST_LEARNED = 100
"""Of fewer items boosting learns nothing."""
UNLEARNED = 0.75
"""Boosting misses a part of what the features explain: sums of residuals count beyond so much of what it found."""


@dataclass(frozen=True, eq=False)
class WhoAnswered:
    """m answers of J experts to n items of K classes: who and to what, never what was said.

    Attributes
    ----------
    answers : Answers
    label_idx : (n,) int
        The class of each item.

    Examples
    --------
    >>> who = WhoAnswered.of(Answers.from_cells(np.array([[-1, 0], [-1, -1], [0, 1]])), [0, 0, 1])
    >>> who.answers.per_item().tolist(), who.by_class.tolist()
    ([1, 0, 2], [[0, 1], [1, 1]])
    """

    answers: Answers
    label_idx: IntArray
    n_classes: int

    @classmethod
    def of(cls, answers: Answers, label_idx: ArrayLike) -> Self:
        """Check the labels."""
        n_classes = None if answers.classes is None else len(answers.classes)
        labels = index_numbers("label_idx", label_idx, below=n_classes, n_items=len(answers))
        if not len(labels):
            raise InputError(
                "must hold at least one item, got none; pass answered and unanswered items alike.", argument="label_idx"
            )
        return cls(answers, labels, int(labels.max()) + 1 if n_classes is None else n_classes)

    @property
    def n_items(self) -> int:
        """How many items there are, n."""
        return len(self.label_idx)

    @property
    def n_experts(self) -> int:
        """How many experts there are, J."""
        return self.answers.n_experts

    @cached_property
    def triplets(self) -> Triplets:
        """The answers one by one."""
        return self.answers.triplets()

    @property
    def item_idx(self) -> IntArray:
        """The item of each answer, (m,)."""
        return self.triplets.item_idx

    @property
    def expert_idx(self) -> IntArray:
        """Whose each answer is, (m,)."""
        return self.triplets.expert_idx

    @cached_property
    def per_expert(self) -> IntArray:
        """How many answers each expert gave, (J,)."""
        return self.answers.per_expert()

    @cached_property
    def per_class(self) -> IntArray:
        """How many items each class has, (K,)."""
        return np.bincount(self.label_idx, minlength=self.n_classes)

    @cached_property
    def by_class(self) -> IntArray:
        """How many items of each class each expert answered, (J, K)."""
        cell = self.expert_idx * self.n_classes + self.label_idx[self.item_idx]
        return np.bincount(cell, minlength=self.n_experts * self.n_classes).reshape(self.n_experts, self.n_classes)

    def sums(self, values: FloatArray) -> FloatArray:
        """Add up what the items have, (n, c), over the items that each expert answered, (J, c)."""
        of_answers = values[self.item_idx]
        columns = [np.bincount(self.expert_idx, one, minlength=self.n_experts) for one in of_answers.T]
        return np.column_stack(columns) if columns else np.empty((self.n_experts, 0))


def known_features(features: ArrayLike | None, *, n_items: int) -> FloatArray:
    """Return the items' features, (n, d); no columns where none are given."""
    known = np.empty((n_items, 0)) if features is None else float_matrix("features", features)
    if len(known) != n_items:
        raise InputError(f"must have {n_items} rows, one per item, got {len(known)}.", argument="features")
    return known


def standardised(features: FloatArray) -> FloatArray:
    """Return each feature with mean 0 and standard deviation 1, without those that never change.

    >>> standardised(np.array([[1.0, 7.0], [3.0, 7.0]])).tolist()
    [[-1.0], [1.0]]
    """
    centre, spread = features.mean(axis=0), features.std(axis=0)
    # Rounding leaves a constant column a standard deviation of 1e-16 or so.
    changing = spread > 1e-12 * np.maximum(np.abs(centre), 1.0)
    return (features[:, changing] - centre[changing]) / spread[changing]


def directions(features: FloatArray) -> FloatArray:
    """Return the leading principal directions of the features and their squares, each of mean 0 and variance 1.

    The squares show who is asked about what is unusual, or usual, in any direction. At most 12 columns.
    """
    leading = _leading(features, MOST_DIRECTIONS)
    return np.column_stack([leading, standardised(np.clip(leading, -4.0, 4.0) ** 2)])


def _leading(features: FloatArray, count: int) -> FloatArray:
    """Return the leading principal directions of the features, each of mean 0 and variance 1, (n, at most count)."""
    scaled = standardised(features)
    if not scaled.size:
        return np.empty((len(features), 0))
    from sklearn.utils.extmath import randomized_svd  # not above: without features the check needs no scikit-learn

    left, sizes, _ = randomized_svd(scaled, min(count, *scaled.shape), random_state=0)
    return standardised(left[:, sizes > 1e-4 * sizes[0]])


@dataclass(frozen=True, eq=False)
class AnsweringCheck:
    """The result of `check_answering`.

    Attributes
    ----------
    p_label, p_features : float
        P values: answering does not depend on the label, given the features; it does not depend on the features. nan
        where that cannot be asked.
    shift : float
        How far the classes of the items that an expert answered are from what chance and the features foretell, half
        the sum of the gaps, averaged over all answers: a mean accuracy counted on the answers is off by at most that.
    rates : (J, K)
        The share of the items of a class that an expert answered; nan for a class without items.
    oddest : (int, int, float, float)
        Expert and class of the largest gap, the share of the class among the expert's answers, and the expected one.
    expert_names : J names
    classes : K names
    """

    p_label: float
    p_features: float
    shift: float
    rates: FloatArray
    oddest: tuple[int, int, float, float]
    expert_names: tuple[str, ...]
    classes: tuple[str, ...]

    @property
    def depends_on_features(self) -> bool:
        """Does answering depend on the features? That alone biases nothing where the model reads them well."""
        return self.p_features < RISK

    @property
    def depends_on_label(self) -> bool:
        """Does answering depend on the label, beyond what the features foretell? Then the answers need weights."""
        return self.p_label < RISK and self.shift >= SMALL_SHIFT

    def sentence(self, *, weighted: str | None = None) -> Message:
        """Return what was found and what to do about it, or that it was done, in one sentence.

        Parameters
        ----------
        weighted : "label" or "label+features", optional
            How the answers were weighted already; without it weights are advised.
        """
        given = "" if np.isnan(self.p_features) else ", beyond what the features predict"
        if not (self.depends_on_label or self.depends_on_features):
            known = "label" if np.isnan(self.p_features) else "features or the label"
            return Message(f"No sign that answering depends on the {known}.")
        by = "label+features" if self.depends_on_features else "label"
        what, why = f"its features (p = {self.p_features:.2g})", "if the model does not read these well, "
        if self.depends_on_label:
            also = ", and on its features" * self.depends_on_features
            what = f"its label{given} (p = {self.p_label:.2g}): {self.example}{also}"
            why = f"accuracies learned from these answers can be off by up to {100 * self.shift:.0f} points; "
        advice = Message(f"use {Argument('answer_weights', by)}")
        used = Message(f"the model was fitted with {Argument('answer_weights', weighted)}")
        enough = not self.depends_on_label or weighted in (by, "label+features")
        done = (why, advice) if weighted is None else (used,) if enough else (used, "; ", advice)
        return Message(f"Whether a case was answered depends on {what}; ", *done, ".")

    @property
    def example(self) -> str:
        """What shows that answering depends on the label, in a clause."""
        j, k, share, expected = self.oddest
        return (
            f"of the answers of {self.expert_names[j]} {round_percent(share)} are to class {self.classes[k]} where "
            f"{round_percent(expected)} were expected"
        )


def check_answering(
    answers: Answers,
    label_idx: ArrayLike,
    features: ArrayLike | None = None,
    *,
    rng: np.random.Generator | None = None,
) -> AnsweringCheck:
    """Test whether who answered what depends on the features, or on the label given the features.

    Both questions are one test of numbers z of the items: directions of the features; and the label less what the
    features foretell, 1[y = k] - e_k(x). Were answers given at random, the sum of z over the items that somebody
    answered would be 0 but for chance. Its square over its variance is twice the log likelihood ratio of "they choose
    by z" over "they do not" (the score form). It is taken of the number of answers of an item, of all experts in sum,
    and of the expert who stands out most. The p value of the most unusual of the three comes from shuffling the items,
    so it holds for any number of answers, whoever worked on the same items.

    Parameters
    ----------
    answers : Answers of J experts to n items
        Such as `ExpertTable.coded`; what was said plays no part.
    label_idx : (n,) int
        The class of each item that somebody might have answered, answered or not. It must not be made of the answers:
        a majority leans to what its voters say, and so seems to depend on who they were.
    features : (n, d), optional
        What the experts' heads will read. Columns of a posterior that was not learned from the item itself help.
    rng : numpy Generator, optional
        Shuffles the items; by default always the same way.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> label = (rng.random(2_000) < 0.3).astype(int)
    >>> answered = rng.random(2_000) < np.where(label == 1, 0.9, 0.2)
    >>> check = check_answering(Answers.from_cells(np.where(answered, 0, -1)[:, None]), label)
    >>> check.depends_on_label, check.rates.round(1).tolist(), round(check.shift, 2)
    (True, [[0.2, 0.9]], 0.36)
    """
    who = WhoAnswered.of(answers, label_idx)
    known = known_features(features, n_items=who.n_items)
    rng = np.random.default_rng(0) if rng is None else rng
    most = min(MOST_ITEMS, max(2, who.n_items * MOST_ANSWERS // max(1, len(who.item_idx))))
    items = np.arange(who.n_items) if who.n_items <= most else np.sort(rng.choice(who.n_items, most, replace=False))
    part, known = WhoAnswered(answers.take(items), who.label_idx[items], who.n_classes), known[items]
    left, learned, of_class = _label_left_over(part, known, rng=rng)
    gaps = part.sums(left) / np.maximum(part.per_expert, 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = who.by_class / who.per_class
    return AnsweringCheck(
        p_label=_p_value(part, left, learned, rng=rng),
        p_features=_p_value(part, directions(known), None, rng=rng),
        shift=float((part.per_expert @ np.abs(gaps)).sum() / 2 / max(1, len(part.item_idx))),
        rates=frozen(rates),
        oddest=_oddest(part, gaps, of_class),
        expert_names=answers.expert_names or names("expert_names", None, count=who.n_experts),
        classes=tuple(map(str, range(who.n_classes) if answers.classes is None else answers.classes.tolist())),
    )


def _oddest(who: WhoAnswered, gaps: FloatArray, of_class: IntArray) -> tuple[int, int, float, float]:
    """Return the expert and the class whose gap is largest beside what chance alone brings, and both shares."""
    if not gaps.size or not len(who.item_idx):
        return -1, -1, np.nan, np.nan
    j, column = divmod(int(np.argmax(np.abs(gaps) * np.sqrt(who.per_expert)[:, None])), gaps.shape[1])
    k = int(of_class[column])
    share = float(who.by_class[j, k] / max(1, who.per_expert[j]))
    return j, k, share, min(1.0, max(0.0, share - float(gaps[j, column])))


def _label_left_over(
    who: WhoAnswered, features: FloatArray, *, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return 1[y = k] - e_k(x) of the most frequent classes, what boosting adds to e_k, (n, c) each, and the classes.

    e is ridge regression on the leading directions and on cross-fitted predictions, by boosting, of the classes and of
    how many answers an item got. It is fitted to its own residuals once more ("twicing"): a sum of what is left is then
    cleared of what foretells the label and of what foretells the answering (Shah & Peters 2020).
    """
    of_class = np.argsort(-who.per_class, kind="stable")[: min(MOST_CLASSES, np.count_nonzero(who.per_class))]
    target = (who.label_idx[:, None] == of_class).astype(np.float64)
    target = target - target.mean(axis=0)
    columns = standardised(features) if features.shape[1] <= MOST_COLUMNS else _leading(features, MOST_COLUMNS)
    if not columns.size or len(of_class) < 2:
        return target, np.zeros_like(target), of_class
    plain = fitted = _bent(columns, target)
    if who.n_items >= FEWEST_LEARNED:
        learned = [_boosted(columns, one, rng=rng) for one in (*target.T[:4], who.answers.per_item()) if np.ptp(one)]
        squares = np.clip(columns, -4.0, 4.0) ** 2 if columns.shape[1] <= 40 else columns[:, :0]
        fitted = _bent(np.column_stack([columns, standardised(np.column_stack([*learned, squares]))]), target)
    return target - fitted, fitted - plain, of_class


def _bent(columns: FloatArray, target: FloatArray) -> FloatArray:
    """Return the fit on the columns, bent: a probability is no straight line of the features."""
    fitted = _ridge(columns, target)
    knots = np.quantile(fitted, np.arange(1, 8) / 8.0, axis=0)
    bends = np.column_stack([np.maximum(fitted - knot, 0.0) for knot in knots])
    return _ridge(np.column_stack([columns, standardised(bends)]), target)


def _ridge(columns: FloatArray, target: FloatArray) -> FloatArray:
    from sklearn.linear_model import RidgeCV

    model = RidgeCV(np.geomspace(1e-5, 1e3, 17) * len(columns))
    once = model.fit(columns, target).predict(columns)
    return np.asarray(once + RidgeCV([model.alpha_]).fit(columns, target - once).predict(columns))


def _boosted(columns: FloatArray, target: FloatArray, *, rng: np.random.Generator) -> FloatArray:
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import KFold, cross_val_predict

    trees = HistGradientBoostingRegressor(
        learning_rate=0.15, max_iter=40, max_leaf_nodes=8, max_bins=64, l2_regularization=1.0, early_stopping=False
    )
    folds = KFold(3, shuffle=True, random_state=int(rng.integers(2**31)))
    return np.asarray(cross_val_predict(trees, columns, target, cv=folds))


def _p_value(who: WhoAnswered, values: FloatArray, learned: FloatArray | None, *, rng: np.random.Generator) -> float:
    """Return the p value of "who answered what does not depend on these values (n, c)".

    `learned` (n, c), what boosting explains of the values, takes its part of the sums that were seen.
    """
    size = values.std(axis=0)
    changing = size > 1e-9
    known = (values - values.mean(axis=0))[:, changing] / size[changing]
    if not known.size or not ((who.per_expert > 0) & (who.per_expert < who.n_items)).any():
        return float("nan")
    answered = sparse.coo_array(
        (np.ones(len(who.item_idx)), (who.expert_idx, who.item_idx)), shape=(who.n_experts, who.n_items)
    )
    per_item = who.answers.per_item()
    chosen = sparse.vstack([answered, (per_item - per_item.mean())[None]]).tocsr()
    # Drawing without putting back narrows the spread of an expert's sum.
    spread = sparse.diags_array(np.append(1.0 - who.per_expert / who.n_items, 1.0)) @ chosen.power(2)
    explained = 0.0 if learned is None else UNLEARNED * np.abs(chosen @ (learned[:, changing] / size[changing]))

    def ratios(items: FloatArray, less: FloatArray | float) -> list[float]:
        sums = np.maximum(np.abs(chosen @ items) - less, 0.0)
        *experts, pool = (sums**2).sum(axis=1) / np.maximum(spread @ (items**2).sum(axis=1), 1e-9)
        return [pool, sum(experts), max(experts)]

    shuffled = (ratios(rng.permutation(known), 0.0) for _ in range(N_SHUFFLES))
    drawn = np.array([ratios(known, explained), *shuffled])
    # How many of all, what was seen among them, are as large as each: a p value for each ratio, (1 + N_SHUFFLES, 3).
    chances = (drawn[:, None] <= drawn * (1.0 + 1e-9)).mean(axis=1)
    return float((chances.min(axis=1) <= chances[0].min()).mean())
