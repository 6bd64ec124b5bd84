"""What a panel promised, and what it kept on held-out cases."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.checks import IntArray
from defero.core.errors import InputError
from defero.core.trial import Trial
from defero.metrics.accuracy import wilson_interval
from defero.metrics.share import Share, number


@dataclass(frozen=True)
class PanelRecord:
    """The panels of the deferred cases.

    Attributes
    ----------
    promise : str
        In words.
    target, alpha : str, float
    asked_for : float
        The level promised: 1 - alpha kept, or for "missed-share" at most alpha missed.
    kept : float
        The level seen, on deferred cases that some recorded expert got right.
    low, high : float
        Its 95 % interval.
    cases : int
        How many such cases there were.
    deferred : int
    raw_size, filled_size : float
        Experts per panel, before and after empty panels got the top expert.
    raw_size_half, filled_size_half : float
        Half the width of their 95 % intervals.
    accuracy : Share
        The whole team's, with panels voting on what is deferred.
    """

    promise: str
    target: str
    alpha: float
    asked_for: float
    kept: float
    low: float
    high: float
    cases: int
    deferred: int
    raw_size: float
    filled_size: float
    raw_size_half: float
    filled_size_half: float
    accuracy: Share

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        sizes = ("raw_size", "filled_size", "raw_size_half", "filled_size_half")
        numbers = {name: number(getattr(self, name)) for name in ("kept", "low", "high", *sizes)}
        return {
            "promise": self.promise,
            "target": self.target,
            "alpha": self.alpha,
            "asked_for": self.asked_for,
            **numbers,
            "cases": self.cases,
            "deferred": self.deferred,
            "team_with_panels": self.accuracy.to_dict(),
        }


def panel_record(trial: Trial) -> PanelRecord:
    """Judge the panels of a trial on its deferred cases."""
    if trial.panel is None:
        raise InputError("the trial has no panel; call conformalize before judging panels.")
    panel, deferred = trial.panel, trial.panel.deferred
    sets, target, alpha = panel.sets, panel.target, panel.alpha
    right = trial.expert_correct & panel.eligible
    rows = deferred & right.any(axis=1)
    inside = (sets.raw_mask & right)[rows].sum(axis=1)
    total = right[rows].sum(axis=1)
    if target == "missed-share":
        # Shares in [0, 1] vary at most as much as hits and misses of the same mean: Wilson errs on the safe side.
        missed = float((1 - inside / total).sum())
        kept = missed / len(total) if len(total) else math.nan
        low, high = wilson_interval(missed, len(total))
    else:
        hit = inside == total if target == "all-correct" else inside > 0
        share = Share(int(hit.sum()), int(rows.sum()))
        kept, (low, high) = share.value, share.interval
    raw_size, raw_half = _mean_and_half_width(sets.raw_mask[deferred].sum(axis=1))
    filled_size, filled_half = _mean_and_half_width(sets.mask[deferred].sum(axis=1))
    return PanelRecord(
        promise=panel.promise,
        target=target,
        alpha=alpha,
        asked_for=alpha if target == "missed-share" else 1 - alpha,
        kept=kept,
        low=low,
        high=high,
        cases=int(rows.sum()),
        deferred=int(deferred.sum()),
        raw_size=raw_size,
        filled_size=filled_size,
        raw_size_half=raw_half,
        filled_size_half=filled_half,
        accuracy=Share(int(np.sum(panel.said_idx == trial.label_idx)), len(trial)),
    )


def _mean_and_half_width(values: IntArray) -> tuple[float, float]:
    if len(values) < 2:
        return (float(values[0]) if len(values) else math.nan), math.nan
    return float(values.mean()), 1.96 * float(values.std(ddof=1)) / math.sqrt(len(values))
