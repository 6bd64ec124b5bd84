"""How good is the team? Pure functions on arrays; wherever a choice of experts is asked for, a Decision will do."""

from defero.metrics.accuracy import recall_per_class, system_accuracy, system_labels
from defero.metrics.deferral import DeferralCurve, ExpertUsage, coverage, deferral_curve, expert_usage
from defero.metrics.probabilities.binned import (
    adaptive_calibration_error,
    expected_calibration_error,
    squared_calibration_error,
)
from defero.metrics.probabilities.decision_calibration import DecisionCalibration, Promise, decision_calibration
from defero.metrics.probabilities.groups import GroupCalibration, SkillByClass, calibration_by_group, skill_by_class
from defero.metrics.probabilities.proper_scores import BrierParts, brier_parts, brier_score, log_loss
from defero.metrics.probabilities.reliability import ReliabilityBins, reliability_bins
from defero.metrics.probabilities.smooth import SmoothCalibration, smooth_calibration_error, smooth_calibration_interval
from defero.metrics.record.team import TeamRecord, team_record
from defero.metrics.sets import missed_share, set_coverage, set_size
from defero.metrics.shared_errors import SharedErrors, shared_errors
from defero.metrics.shared_pairs import SharedPair
from defero.metrics.statistics.intervals import clopper_pearson_interval, wilson_interval
from defero.metrics.statistics.paired import Comparison, compare, holm, mcnemar, paired_interval
from defero.metrics.statistics.resampled import ResampledMean, nadeau_bengio

__all__ = [
    "BrierParts",
    "Comparison",
    "DecisionCalibration",
    "DeferralCurve",
    "ExpertUsage",
    "GroupCalibration",
    "Promise",
    "ReliabilityBins",
    "ResampledMean",
    "SharedErrors",
    "SharedPair",
    "SkillByClass",
    "SmoothCalibration",
    "TeamRecord",
    "adaptive_calibration_error",
    "brier_parts",
    "brier_score",
    "calibration_by_group",
    "clopper_pearson_interval",
    "compare",
    "coverage",
    "decision_calibration",
    "deferral_curve",
    "expected_calibration_error",
    "expert_usage",
    "holm",
    "log_loss",
    "mcnemar",
    "missed_share",
    "nadeau_bengio",
    "paired_interval",
    "recall_per_class",
    "reliability_bins",
    "set_coverage",
    "set_size",
    "shared_errors",
    "skill_by_class",
    "smooth_calibration_error",
    "smooth_calibration_interval",
    "squared_calibration_error",
    "system_accuracy",
    "system_labels",
    "team_record",
    "wilson_interval",
]
