"""How good is the team? Pure functions on arrays; wherever a choice of experts is asked for, a Decision will do."""

from defero.metrics.accuracy import recall_per_class, system_accuracy, system_labels, wilson_interval
from defero.metrics.calibration import expected_calibration_error
from defero.metrics.deferral import DeferralCurve, ExpertUsage, coverage, deferral_curve, expert_usage
from defero.metrics.sets import missed_share, set_coverage, set_size

__all__ = [
    "DeferralCurve",
    "ExpertUsage",
    "coverage",
    "deferral_curve",
    "expected_calibration_error",
    "expert_usage",
    "missed_share",
    "recall_per_class",
    "set_coverage",
    "set_size",
    "system_accuracy",
    "system_labels",
    "wilson_interval",
]
