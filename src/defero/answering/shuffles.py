"""Tests by shuffling the items against the answers: exact where answers were given at random, whoever worked with whom.

All that is known of who answered what stays as it is: that each item got exactly five answers, that the same people
worked through the same batches. Only which item stands behind which row of it is shuffled.
"""

import numpy as np

from defero.answering.who import WhoAnswered
from defero.core.checks import FloatArray, IntArray

N_SHUFFLES = 299
ENOUGH = 10
"""So many shuffles beyond what was seen settle that it is nothing unusual: ENOUGH of l shuffles give the p value
ENOUGH / l (Besag & Clifford 1991)."""
MOST_ANSWERS = 100_000
"""Of more answers those to a random part of the items are shuffled."""
_AT_ONCE = 50


def pool_chance(per_item: IntArray, values: FloatArray, *, rng: np.random.Generator) -> float:
    """Return how often shuffled items are as unlike each other in how many answers they got, a p value.

    With a_i the number of answers less its mean and z_i the values, (n, c) with means 0, the statistic is
    s' C^-1 s with s = sum_i a_i z_i and C = sum_i a_i^2 z_i z_i', which does not mind that some z_i vary more.
    nan where all items got the same number, or the values say nothing.
    """
    centred = per_item - per_item.mean()
    if not values.size or np.abs(centred).max() < 1e-12 or np.abs(values).max() < 1e-12:
        return float("nan")
    first, second = np.triu_indices(values.shape[1])
    pairs = values[:, first] * values[:, second]
    observed = _distance(centred[:, None], values, pairs)[0] * (1.0 - 1e-9)
    beyond: list[bool] = []
    while len(beyond) < N_SHUFFLES and sum(beyond) < ENOUGH:
        shuffled = rng.permuted(np.tile(centred, (min(_AT_ONCE, N_SHUFFLES - len(beyond)), 1)), axis=1).T
        beyond += (_distance(shuffled, values, pairs) >= observed).tolist()
    return _chance(beyond)


def _distance(centred: FloatArray, values: FloatArray, pairs: FloatArray) -> FloatArray:
    """Return s' C^-1 s of several columns of numbers of answers, (b,)."""
    c = values.shape[1]
    total = centred.T @ values
    spread = np.empty((len(total), c, c))
    first, second = np.triu_indices(c)
    spread[:, first, second] = spread[:, second, first] = centred.T**2 @ pairs
    # A class of two or three items may get the same number of answers in all of them.
    spread += 1e-9 * np.trace(spread, axis1=1, axis2=2)[:, None, None] * np.eye(c) + 1e-300 * np.eye(c)
    return (total * np.linalg.solve(spread, total[:, :, None])[:, :, 0]).sum(axis=1)


def spread_chances(who: WhoAnswered, blocks: list[FloatArray], *, rng: np.random.Generator) -> list[float]:
    """Return for each block of values how often shuffled items differ as much from expert to expert, p values.

    The statistic adds up over experts |sum_i o_ij z_i|^2 / ((1 - N_j / n) sum_i o_ij |z_i|^2), about 1 for each where
    answers were given at random; N_j is how many the expert gave. nan where no expert says anything.
    """
    if len(who.item_idx) > MOST_ANSWERS:
        kept = some_items(who.n_items, max(2, who.n_items * MOST_ANSWERS // len(who.item_idx)), rng=rng)
        who, blocks = who.part(kept), [block[kept] - block[kept].mean(axis=0) for block in blocks]
    told = (who.per_expert >= 2) & (who.per_expert < who.n_items)
    mine = told[who.expert_idx]
    order = np.argsort(who.expert_idx[mine], kind="stable")
    items = who.item_idx[mine][order]
    counts = who.per_expert[told]
    if not len(counts):
        return [float("nan")] * len(blocks)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)[:-1]])
    columns = np.column_stack([np.column_stack([block, (block**2).sum(axis=1)]) for block in blocks])
    ends = np.cumsum([block.shape[1] + 1 for block in blocks]).tolist()
    narrowed = 1.0 - counts / who.n_items

    def statistics(behind: FloatArray) -> FloatArray:
        total = np.add.reduceat(behind[items], starts, axis=0)
        found = []
        for end, block in zip(ends, blocks, strict=True):
            length, size = total[:, end - 1 - block.shape[1] : end - 1], total[:, end - 1]
            found.append(((length**2).sum(axis=1) / np.maximum(narrowed * size, 1e-300)).sum())
        return np.array(found)

    observed = statistics(columns) * (1.0 - 1e-9)
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
