"""How likely such a choice of items is by chance: p values of the pool, of the experts together, and of each expert."""

from dataclasses import dataclass

import numpy as np

from defero.answering.inputs import WhoAnswered, basis, bends, standardised
from defero.core.checks.arrays import FloatArray, IntArray

UNLEARNED = 0.75
"""How much may be left in the residuals for each part that trees explain: of weak effects trees miss nearly half."""
MOST_CLASSES = 12
"""Of more classes the most frequent ones are looked at."""
_PENALTIES = np.append(10.0 ** np.arange(-5.0, 3.0, 0.5), np.inf)

N_SHUFFLES = 299
ENOUGH = 10
"""So many shuffles beyond what was seen settle that it is nothing unusual: ENOUGH of l shuffles give the p value
ENOUGH / l (Besag & Clifford 1991)."""
MOST_ANSWERS = 100_000
"""Of more answers those to a random part of the items are shuffled."""
_AT_ONCE = 50


@dataclass(frozen=True, eq=False)
class LeftOver:
    """Labels minus what the features predict, for c classes; of two classes one is enough.

    Attributes
    ----------
    classes : (c,) int
        Which class each column is about.
    residual : (n, c)
        1[y = k] - e_k(x); each column has mean 0.
    variance : (n, c)
        e_k(x) (1 - e_k(x)): how far chance alone moves a residual.
    by_trees : (n, c)
        What `learned_columns` add to the prediction: e_k(x) less the prediction without them.
    """

    classes: IntArray
    residual: FloatArray
    variance: FloatArray
    by_trees: FloatArray

    def free(self) -> tuple[FloatArray, FloatArray]:
        """Return residuals that do not imply each other, (n, c or c - 1), and what trees add of the same classes.

        Residuals of all classes add up to 0.
        """
        implied = self.residual.shape[1] > 1 and np.abs(self.residual.sum(axis=1)).max() < 1e-9
        return (self.residual[:, :-1], self.by_trees[:, :-1]) if implied else (self.residual, self.by_trees)


def beyond_features(sums: FloatArray, by_trees: FloatArray) -> FloatArray:
    """Shrink sums of residuals by `UNLEARNED` of the sums that trees explain, never past 0.

    Trees do not learn all that features explain from hundreds of items: where they explain much of who answered which
    label, what is left may be due to the features too. Only what exceeds that share counts.

    >>> beyond_features(np.array([3.0, -3.0, 1.0]), np.array([2.0, 2.0, -9.0])).tolist()
    [1.5, -1.5, 0.0]
    """
    return np.asarray(np.sign(sums) * np.maximum(0.0, np.abs(sums) - UNLEARNED * np.abs(by_trees)))


def label_left_over(label_idx: IntArray, features: FloatArray, learned: FloatArray | None = None) -> LeftOver:
    """Predict each class from the features by ridge regression, and return the residuals.

    e = (2 H - H^2) y with H the ridge smoother: fitting the residuals once more ("twicing", Tukey 1977). A sum of
    what is left over the items that somebody answered is then the same as one in which both the label and the
    answering were cleared of the features, o' (I - H) (I - H) y: what the fit of the one misses, that of the other
    catches (Shah & Peters 2020). The penalty is chosen by generalised cross-validation.

    Parameters
    ----------
    label_idx : (n,) int
    features : (n, d)
    learned : (n, c), optional
        More columns to predict from: see `learned_columns`.

    Examples
    --------
    >>> left = label_left_over(np.array([0, 0, 0, 1]), np.empty((4, 0)))
    >>> left.classes.tolist(), left.residual[:, 0].tolist(), left.variance[0, 0].item()
    ([1], [-0.25, -0.25, -0.25, 0.75], 0.1875)
    """
    counts = np.bincount(label_idx)
    classes = np.argsort(-counts, kind="stable")[: min(MOST_CLASSES, np.count_nonzero(counts))]
    if np.count_nonzero(counts) <= 2:
        classes = classes[1:]
    target = (label_idx[:, None] == classes).astype(np.float64)
    share = target.mean(axis=0)
    columns = basis(features)
    plain = fitted = _predicted(columns, target - share)
    if learned is not None and learned.size:
        fitted = _predicted(np.column_stack([columns, learned]), target - share)
    proba = np.clip(share + fitted, 0.0, 1.0)
    residual = target - share - fitted
    variance = np.maximum(proba * (1.0 - proba), 0.05 * share * (1.0 - share))
    # Where least squares is too sure of itself the residuals are larger than it says.
    variance *= np.maximum(1.0, (residual**2).mean(axis=0) / np.maximum(variance.mean(axis=0), 1e-12))
    return LeftOver(classes, residual, variance, fitted - plain)


def _predicted(columns: FloatArray, target: FloatArray) -> FloatArray:
    """Return the smoothed target, (n, c)."""
    fitted = _smoothed(columns, target)
    if not fitted.any():
        return fitted
    # A probability is no straight line of the features: the prediction is bent, and all fitted again.
    return _smoothed(np.column_stack([columns, standardised(bends(fitted))]), target)


def _smoothed(columns: FloatArray, target: FloatArray) -> FloatArray:
    """Return (2 H - H^2) target for the penalty with the least generalised cross-validation score, (n, c)."""
    if not columns.size or not target.size:
        return np.zeros_like(target)
    n_items = len(target)
    size, vectors = np.linalg.eigh(columns.T @ columns / n_items)
    size, vectors = size[size > 1e-9 * size[-1]], vectors[:, size > 1e-9 * size[-1]]
    along = vectors.T @ (columns.T @ target) / n_items
    best, least = np.zeros(len(size)), np.inf
    for penalty in _PENALTIES:
        shrinkage = size / (size + penalty) if np.isfinite(penalty) else np.zeros(len(size))
        twice = 2.0 * shrinkage - shrinkage**2
        freedom = 1.0 - (1.0 + twice.sum()) / n_items
        if freedom < 0.5:
            continue
        left = (target**2).mean(axis=0) - ((2.0 * twice - twice**2) / size) @ along**2
        score = float(left.sum()) / freedom**2
        if score < least:
            best, least = twice, score
    return columns @ (vectors @ ((best / size)[:, None] * along))


def expert_chances(who: WhoAnswered, left: LeftOver) -> FloatArray:
    """Return for each expert and class a bound on how likely such a choice of items is by chance, (J, c).

    With s = sum_i (o_ij - N_j / n) r_ik, shrunk by `beyond_features`, and v its variance, both given who answered what
    and the features, the chance of so large an |s| is at most 2 exp(-v h(|s| / v)), h(u) = (1 + u) log(1 + u) - u
    (Bennett 1962). No law of large numbers is leaned on: it holds for five answers and for a level of 1e-6, as
    hundreds of experts need, where a chi-square test of dozens of answers errs by orders of magnitude.
    """
    share = (who.per_expert / who.n_items)[:, None]
    total = beyond_features(who.sums(left.residual) - share * left.residual.sum(axis=0), who.sums(left.by_trees))
    variance = (1.0 - 2.0 * share) * who.sums(left.variance) + share**2 * left.variance.sum(axis=0)
    largest = np.maximum(1.0, np.abs(left.residual).max(axis=0, initial=0.0))
    size, variance = np.abs(total) / largest, np.maximum(variance / largest**2, 1e-12)
    ratio = size / variance
    exponent = variance * ((1.0 + ratio) * np.log1p(ratio) - ratio)
    return np.minimum(1.0, 2.0 * np.exp(-exponent))


def pool_chance(
    per_item: IntArray, values: FloatArray, by_trees: FloatArray | None = None, *, rng: np.random.Generator
) -> float:
    """Return how often shuffled items are as unlike each other in how many answers they got, a p value.

    With a_i the number of answers less its mean and z_i the values, (n, c) with means 0, the statistic is
    s' C^-1 s with s = sum_i a_i z_i and C = sum_i a_i^2 z_i z_i', which does not mind that some z_i vary more.
    Where the values are residuals and `by_trees`, (n, c), is given, the s that was seen is shrunk by
    `beyond_features`. nan where all items got the same number, or the values say nothing.
    """
    centred = per_item - per_item.mean()
    if not values.size or np.abs(centred).max() < 1e-12 or np.abs(values).max() < 1e-12:
        return float("nan")
    first, second = np.triu_indices(values.shape[1])
    pairs = values[:, first] * values[:, second]
    explained = None if by_trees is None else centred[None] @ by_trees
    observed = _distance(centred[:, None], values, pairs, explained)[0] * (1.0 - 1e-9)
    beyond: list[bool] = []
    while len(beyond) < N_SHUFFLES and sum(beyond) < ENOUGH:
        shuffled = rng.permuted(np.tile(centred, (min(_AT_ONCE, N_SHUFFLES - len(beyond)), 1)), axis=1).T
        beyond += (_distance(shuffled, values, pairs) >= observed).tolist()
    return _chance(beyond)


def _distance(
    centred: FloatArray, values: FloatArray, pairs: FloatArray, explained: FloatArray | None = None
) -> FloatArray:
    """Return s' C^-1 s of several columns of numbers of answers, (b,)."""
    c = values.shape[1]
    total = centred.T @ values
    if explained is not None:
        total = beyond_features(total, explained)
    spread = np.empty((len(total), c, c))
    first, second = np.triu_indices(c)
    spread[:, first, second] = spread[:, second, first] = centred.T**2 @ pairs
    # A class of two or three items may get the same number of answers in all of them.
    spread += 1e-9 * np.trace(spread, axis1=1, axis2=2)[:, None, None] * np.eye(c) + 1e-300 * np.eye(c)
    return (total * np.linalg.solve(spread, total[:, :, None])[:, :, 0]).sum(axis=1)


def spread_chances(
    who: WhoAnswered,
    blocks: list[FloatArray],
    by_trees: list[FloatArray | None] | None = None,
    *,
    rng: np.random.Generator,
) -> list[float]:
    """Return for each block of values how often shuffled items differ as much from expert to expert, p values.

    The statistic adds up over experts |sum_i o_ij z_i|^2 / ((1 - N_j / n) sum_i o_ij |z_i|^2), about 1 for each where
    answers were given at random; N_j is how many the expert gave. Where `by_trees` has what trees
    explain of a block, the sums that were seen are shrunk by `beyond_features`. nan where no expert says anything.
    """
    learned_columns = by_trees or [None] * len(blocks)
    explained = [
        np.zeros_like(block) if one is None else one for block, one in zip(blocks, learned_columns, strict=True)
    ]
    if len(who.item_idx) > MOST_ANSWERS:
        part = some_items(who.n_items, max(2, who.n_items * MOST_ANSWERS // len(who.item_idx)), rng=rng)
        who, blocks = who.part(part), [block[part] - block[part].mean(axis=0) for block in blocks]
        explained = [block[part] - block[part].mean(axis=0) for block in explained]
    counted = (who.per_expert >= 2) & (who.per_expert < who.n_items)
    of_counted = counted[who.expert_idx]
    order = np.argsort(who.expert_idx[of_counted], kind="stable")
    items = who.item_idx[of_counted][order]
    counts = who.per_expert[counted]
    if not len(counts):
        return [float("nan")] * len(blocks)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)[:-1]])
    columns = np.column_stack([np.column_stack([block, (block**2).sum(axis=1)]) for block in blocks])
    ends = np.cumsum([block.shape[1] + 1 for block in blocks]).tolist()
    narrowed = 1.0 - counts / who.n_items

    def statistics(behind: FloatArray, *, shrunk: bool = False) -> FloatArray:
        total = np.add.reduceat(behind[items], starts, axis=0)
        sums = []
        for end, block in zip(ends, explained, strict=True):
            length, size = total[:, end - 1 - block.shape[1] : end - 1], total[:, end - 1]
            if shrunk:
                length = beyond_features(length, np.add.reduceat(block[items], starts, axis=0))
            sums.append(((length**2).sum(axis=1) / np.maximum(narrowed * size, 1e-300)).sum())
        return np.array(sums)

    observed = statistics(columns, shrunk=True) * (1.0 - 1e-9)
    silent = np.array([not block.size or np.abs(block).max() < 1e-12 for block in blocks])
    beyond = np.zeros((0, len(blocks)), dtype=np.bool_)
    while len(beyond) < N_SHUFFLES and (beyond.sum(axis=0) < ENOUGH)[~silent].any():
        beyond = np.vstack([beyond, statistics(rng.permutation(columns)) >= observed])
    return [float("nan") if empty else _chance(one.tolist()) for empty, one in zip(silent, beyond.T, strict=True)]


def some_items(n_items: int, most: int, *, rng: np.random.Generator) -> IntArray:
    """Return a random part of the items, at most so many, in their order."""
    return np.arange(n_items) if n_items <= most else np.sort(rng.choice(n_items, most, replace=False))


def _chance(beyond: list[bool]) -> float:
    """Return the p value of shuffles that were, one after the other, beyond what was seen or not.

    >>> _chance([True, False] * 10), _chance([False] * 299)
    (0.5263157894736842, 0.0033333333333333335)
    """
    so_far = np.cumsum(beyond)
    if so_far[-1] >= ENOUGH:
        return ENOUGH / (1 + int(np.argmax(so_far == ENOUGH)))
    return (1 + int(so_far[-1])) / (1 + len(beyond))
