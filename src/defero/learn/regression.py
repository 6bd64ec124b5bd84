"""One linear regression of all experts together: what they have in common, and how each differs, both shrunk.

    y_ij = x_i . (c + u_j) + e_ij,   c_f ~ N(0, common_b),   u_jf ~ N(0, own_b),   e_ij ~ N(0, noise)

where b is the block of column f, such as the levels of one category. The variances are those under which the targets
are most likely (empirical Bayes, MacKay's fixed point), so nothing is held out for them. Who has few targets is near c.
"""

from dataclasses import dataclass

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray

USUAL = 0.01
"""Variance of the targets that the columns of a block are expected to explain together, before any is seen."""
BELIEF = 0.5
"""As many experts' worth does that expectation count."""
_LEAST_MASKS, _MOST_MASKS, _MOST_WORK = 4, 24, 6e8
_MAX_ROUNDS, _SMALL_CHANGE = 60, 0.01


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of products: all that the regression needs of n items. Experts with targets of the same items share theirs.

    Attributes
    ----------
    gram : (g, p, p)
        Of the columns, for each set of items.
    cross : (p, J)
        Of columns and targets.
    squares, counts : (J,)
    mask : (J,) int
        Each expert's set of items.
    """

    gram: FloatArray
    cross: FloatArray
    squares: FloatArray
    counts: IntArray
    mask: IntArray

    @classmethod
    def of(cls, design: FloatArray, targets: FloatArray) -> "Sums":
        """Sum over the items: columns (n, p), targets (n, J) with NaN where there is none."""
        has = np.isfinite(targets)
        filled = np.where(has, targets, 0.0)
        first, mask = _masks(has)
        grams = [design[has[:, j]].T @ design[has[:, j]] for j in first]
        return cls(_stacked(grams, design), design.T @ filled, (filled**2).sum(axis=0), has.sum(axis=0), mask)

    def without(self, design: FloatArray, targets: FloatArray) -> "Sums":
        """Return the sums without some of the items."""
        has = np.isfinite(targets)
        filled = np.where(has, targets, 0.0)
        rows = [has[:, int(np.flatnonzero(self.mask == g)[0])] for g in range(len(self.gram))]
        grams = [gram - design[some].T @ design[some] for gram, some in zip(self.gram, rows, strict=True)]
        squares, counts = self.squares - (filled**2).sum(axis=0), self.counts - has.sum(axis=0)
        return Sums(_stacked(grams, design), self.cross - design.T @ filled, squares, counts, self.mask)


def _stacked(grams: list[FloatArray], design: FloatArray) -> FloatArray:
    """Return the products (g, p, p), also of no experts."""
    return np.reshape(grams, (len(grams), design.shape[1], design.shape[1]))


def _masks(has: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the first expert of each set of items, and the set of each expert, (J,)."""
    if has.all():
        return np.zeros(min(1, has.shape[1]), np.int64), np.zeros(has.shape[1], np.int64)
    packed = np.packbits(has.T, axis=1)
    _, first, mask = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return first, mask.reshape(-1)


@dataclass(frozen=True, eq=False)
class Spreads:
    """Variances: of the noise, and of each column's weights, in common and each expert's own, (p,).

    The first column is the constant: what it has in common may be anything.
    """

    noise: float
    common: FloatArray
    own: FloatArray


def solve(sums: Sums, spreads: Spreads) -> FloatArray:
    """Return everybody's weights c + u_j, (p, J)."""
    return _posterior(sums, spreads, np.arange(len(sums.gram)))[0]


def fit_spreads(sums: Sums, block: IntArray) -> Spreads:
    """Learn the variances; columns with the same number in `block` (p,) share theirs. Block 0 is the constant."""
    n = max(int(sums.counts.sum()), 1)
    p, n_blocks = len(block), int(block.max()) + 1
    mean = sums.cross[0].sum() / n
    noise = max(float(sums.squares.sum()) / n - mean**2, 1e-9)
    total = np.einsum("gpp->p", sums.gram) / max(float(sums.gram[:, 0, 0].sum()), 1.0)
    variance = np.maximum(total - (sums.gram[:, 0].sum(axis=0) / max(float(sums.gram[:, 0, 0].sum()), 1.0)) ** 2, 0.0)
    variance[0] = 1.0
    usual = USUAL / np.maximum(np.bincount(block, variance, minlength=n_blocks), 1e-12)
    # With very many sets of items the variances are learned from some; each costs p^3 in every round.
    most = min(len(sums.gram), max(_LEAST_MASKS, min(_MOST_MASKS, int(_MOST_WORK / p**3))))
    some = np.unique(np.linspace(0, len(sums.gram) - 1, most).round().astype(np.int64))
    n_targets = max(int(sums.counts[np.isin(sums.mask, some)].sum()), 1)
    common = own = usual[block]
    for _ in range(_MAX_ROUNDS):
        before = np.concatenate([[noise], common, own])
        weights, shared, shared_left, away, away_left = _posterior(sums, Spreads(noise, common, own), some)
        experts = np.flatnonzero(np.isin(sums.mask, some))
        own_known = _by_block(block, away_left.sum(axis=1), n_blocks)
        own_new = (_by_block(block, (away**2).sum(axis=1), n_blocks) + BELIEF * usual) / (own_known + BELIEF)
        common_known = _by_block(block, shared_left, n_blocks)
        common_new = (_by_block(block, shared**2, n_blocks) + BELIEF * usual) / (common_known + BELIEF)
        error = sums.squares[experts].sum() - 2 * (weights * sums.cross)[:, experts].sum()
        for g in some:
            of_mask = weights[:, sums.mask == g]
            error += float((of_mask * (sums.gram[g] @ of_mask)).sum())
        freedom = n_targets - own_known.sum() - common_known.sum()
        noise = max(float(error) / max(freedom, 0.1 * n_targets), 1e-9)
        common, own = common_new[block], own_new[block]
        change = np.log(np.concatenate([[noise], common, own]) / before)
        if np.abs(change).max(initial=0.0) < _SMALL_CHANGE:
            break
    assert common.shape == own.shape == (p,)
    return Spreads(noise, common, own)


def _by_block(block: IntArray, values: FloatArray, n_blocks: int) -> FloatArray:
    return np.maximum(np.bincount(block, values, minlength=n_blocks), 0.0)


def _posterior(
    sums: Sums, spreads: Spreads, some: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return weights (p, J), c (p,), and u (p, J); beside c and u how much of each column the targets determine.

    Each u_j meets c alone, so the u_j are eliminated one by one: with A_j = (G_j / noise + own^-1)^-1, what is left
    for c is sum_j (G_j - G_j A_j G_j / noise) / noise + common^-1.
    """
    p, n_experts = sums.cross.shape
    precision = 1.0 / spreads.own
    cross = sums.cross / spreads.noise
    left, right = np.diag(np.append(0.0, 1.0 / spreads.common[1:])), np.zeros(p)
    inverses, carried = {}, {}
    for g in some:
        gram = sums.gram[g] / spreads.noise
        inverses[g] = np.linalg.inv(gram + np.diag(precision))
        carried[g] = inverses[g] @ gram
        members = np.flatnonzero(sums.mask == g)
        left += len(members) * (gram - gram @ carried[g])
        right += (cross[:, members] - carried[g].T @ cross[:, members]).sum(axis=1)
    covariance = np.linalg.inv((left + left.T) / 2 + 1e-9 * np.eye(p))
    shared = covariance @ right
    away, away_left = np.zeros((p, n_experts)), np.zeros((p, n_experts))
    for g in some:
        members = np.flatnonzero(sums.mask == g)
        away[:, members] = inverses[g] @ cross[:, members] - (carried[g] @ shared)[:, None]
        variance = np.diag(inverses[g]) + ((carried[g] @ covariance) * carried[g]).sum(axis=1)
        away_left[:, members] = (1.0 - variance * precision)[:, None]
    shared_left = 1.0 - np.diag(covariance) / spreads.common
    shared_left[0] = 1.0
    return shared[:, None] + away, shared, shared_left, away, away_left
