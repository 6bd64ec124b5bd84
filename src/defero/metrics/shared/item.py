"""What an item explains of the experts' errors: each stated chance, corrected by expert and by true class."""

import numpy as np

from defero.core.checks import BoolArray, FloatArray, IntArray
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
