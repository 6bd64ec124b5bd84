"""What explains that experts err together: the item, hard items that all meet, and chance."""

import math
from dataclasses import dataclass

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.scores import logit, sigmoid

CERTAIN = 0.999
"""Nobody is taken to be surer than this: one error against a stated certainty would outweigh all the others."""
SPREAD = (3.0, 0.5, 1.0)
"""How far an expert's log-odds are off, their slope from 1, and the log-odds in one class beyond that: spreads of
normal priors."""
_STEPS = 25
_STRIDE = 2.0


def explained_chance(
    correct: BoolArray, observed: BoolArray, label_idx: IntArray, expert_proba: FloatArray, *, n_classes: int
) -> FloatArray:
    """Return P(expert j is wrong) as the item explains it, (n, J); 0 where no answer is recorded.

    The stated log-odds of being right are moved by one number for each expert, then by one for each expert and true
    class, both by maximum a-posteriori: what experts find hard in a class is no secret between two of them.
    """
    item, expert = np.nonzero(observed)
    right = correct[item, expert].astype(np.float64)
    odds = logit(np.clip(expert_proba[item, expert], 1 - CERTAIN, CERTAIN))
    n_experts = observed.shape[1]
    odds = _recalibrated(odds, right, expert, n_cells=n_experts, spreads=SPREAD[:2])
    cell = expert * n_classes + label_idx[item]
    odds = _recalibrated(odds, right, cell, n_cells=n_experts * n_classes, spreads=(SPREAD[2], 0.0))
    wrong = np.zeros(observed.shape)
    wrong[item, expert] = sigmoid(-odds)
    return wrong


def _recalibrated(
    odds: FloatArray, right: FloatArray, cell: IntArray, *, n_cells: int, spreads: tuple[float, float]
) -> FloatArray:
    """Return log-odds shift + (1 + tilt) odds, one shift and tilt for each cell, likeliest before normal priors.

    Newton's method on both at once, for all cells; a spread of 0 keeps the tilt at 0.
    """
    tight, tilt_tight = 1 / spreads[0] ** 2, 1 / max(spreads[1], 1e-6) ** 2
    # From even odds, where the curve bends most: from stated certainties Newton's steps overshoot.
    shift, tilt = np.zeros(n_cells), np.full(n_cells, -1.0 if spreads[1] else 0.0)
    moved = shift[cell] + (1 + tilt[cell]) * odds
    for _ in range(_STEPS):
        chance = sigmoid(moved)
        off, bend = right - chance, chance * (1 - chance)
        sums = [np.bincount(cell, weights=w, minlength=n_cells) for w in (off, off * odds, bend, bend * odds)]
        slope, tilt_slope = sums[0] - tight * shift, sums[1] - tilt_tight * tilt
        curve, mixed = sums[2] + tight, sums[3]
        tilt_curve = np.bincount(cell, weights=bend * odds**2, minlength=n_cells) + tilt_tight
        room = curve * tilt_curve - mixed**2
        step = np.clip((tilt_curve * slope - mixed * tilt_slope) / room, -_STRIDE, _STRIDE)
        tilt_step = np.clip((curve * tilt_slope - mixed * slope) / room, -_STRIDE, _STRIDE)
        shift, tilt = shift + step, tilt + tilt_step
        moved = shift[cell] + (1 + tilt[cell]) * odds
        if max(np.abs(step).max(initial=0.0), np.abs(tilt_step).max(initial=0.0)) < 1e-8:
            break
    return moved


MOST = 0.5
"""No hidden difficulty is taken to explain a larger correlation: beyond it two experts are alike."""
_SMALL = 0.02
"""A typical correlation below this is as good as none; dividing by less would only blow up noise."""


@dataclass(frozen=True, eq=False)
class SharedResiduals:
    """Sums over the items that two experts share, (J, J) each; the diagonals are 0.

    Attributes
    ----------
    total : of the products of both residuals
    norm : the square root of the product of their summed variances
    variance : of the products' variances, were the two independent
    """

    total: FloatArray
    norm: FloatArray
    variance: FloatArray

    @classmethod
    def of(cls, residual: FloatArray, variance: FloatArray, observed: BoolArray) -> "SharedResiduals":
        """Sum residuals and variances (n, J), 0 where no answer is recorded."""
        over_shared = variance.T @ observed.astype(np.float64)  # [a, b]: of expert a, over the items shared with b
        parts = residual.T @ residual, np.sqrt(over_shared * over_shared.T), variance.T @ variance
        for part in parts:
            np.fill_diagonal(part, 0.0)
        return cls(*parts)

    @property
    def correlation(self) -> FloatArray:
        """(J, J): beyond the stated chances alone; nan where nothing is shared or nothing can vary."""
        return _ratio(self.total, self.norm)


@dataclass(frozen=True, eq=False)
class Common:
    """The correlation that two experts have as members of the pool, (J, J) each.

    Attributes
    ----------
    value : the likeliest
    most : as much as may well be, a standard deviation up in both experts
    """

    value: FloatArray
    most: FloatArray


def common_correlation(products: SharedResiduals, typical: BoolArray) -> Common:
    """Estimate what hidden difficulty explains of each pair's correlation.

    Where one difficulty makes everybody err, the correlation of a and b is l_a l_b (Spearman's one factor). With r_a
    and r_b their mean correlations with all others, and g that of the others among themselves, it is r_a r_b / g.
    Means, not medians: where errors are rare most pairs share none. Nothing about a and b together enters, nor any
    pair that is not `typical` (J, J). Each r is shrunk toward g as far as its own noise asks for, as if r / g were
    spread by a half around 1. At most `MOST`; with fewer than two others nothing is known, and all that is seen may be
    difficulty, up to `MOST`.
    """
    total, norm, variance = (
        np.where(typical, part, 0.0) for part in (products.total, products.norm, products.variance)
    )
    with_others, over_others, noise_of = (part.sum(axis=1, keepdims=True) - part for part in (total, norm, variance))
    pool = _ratio(_among_others(total), _among_others(norm))
    noise = _ratio(noise_of, over_others**2)
    level = np.maximum(pool, 0)
    prior = (level / 2 + _SMALL) ** 2
    drawn = pool + (_ratio(with_others, over_others) - pool) * prior / (prior + noise)
    doubt = np.sqrt(prior * noise / (prior + noise))
    unknown = np.clip(np.nan_to_num(products.correlation), 0, MOST)
    value, most = (_product(row, level, unknown) for row in (drawn, drawn + doubt))
    return Common(value, most)


def _product(row: FloatArray, level: FloatArray, unknown: FloatArray) -> FloatArray:
    positive = np.maximum(row, 0)
    product = positive * positive.T / np.maximum(level, _SMALL)
    return np.where(np.isnan(product), unknown, np.minimum(product, MOST))


def _among_others(part: FloatArray) -> FloatArray:
    """Return for each pair the sum over all pairs that neither belongs to, (J, J)."""
    row = part.sum(axis=1)
    return part.sum() / 2 - (row[:, None] + row[None, :]) + part


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Divide; nan by (nearly) nothing."""
    return np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 1e-9)


_TILTS = np.geomspace(0.01, 100.0, 60)


def chance_together(first: FloatArray, second: FloatArray, wrong: BoolArray, *, common: float) -> float:
    """Bound the chance that two experts' residuals agree at least so much.

    With q_a, q_b their chances of being wrong at an item, the sum over items of e_a e_b, e = wrong - q, exceeds t with
    probability at most min_s exp(sum_i log E exp(s e_a e_b) - s t) (Chernoff), where both are wrong with probability
    q_a q_b + c_i. The c_i, in proportion to the product of both standard deviations, add up to what `common` asks for.

    Parameters
    ----------
    first, second : (m,)
        Their chances of being wrong at the items that both answered.
    wrong : (m, 2) bool
    common : float
        The correlation that both have as members of the pool.
    """
    a, b = first, second
    spread = np.sqrt(a * (1 - a) * b * (1 - b))
    asked_for = common * math.sqrt(float((a * (1 - a)).sum() * (b * (1 - b)).sum()))
    total = float(spread.sum())
    lift = spread * (asked_for / total if total > 0 else 0.0)
    both = np.minimum(a * b + lift, np.minimum(a, b))
    chances = np.stack([both, a - both, b - both, np.maximum(1 - a - b + both, 0)])
    values = np.stack([(1 - a) * (1 - b), -(1 - a) * b, -a * (1 - b), a * b])
    covariance = float(((wrong[:, 0] - a) * (wrong[:, 1] - b)).sum())
    # Tilt by tilt: all at once would hold 240 numbers for each item.
    grown = [float(np.log((chances * np.exp(tilt * values)).sum(axis=0)).sum()) for tilt in _TILTS]
    return math.exp(min(float((np.array(grown) - _TILTS * covariance).min()), 0.0))
