"""Which experts to ask so that a promise holds: sets of experts with a finite-sample guarantee. numpy alone."""

from defero.conformal.paper_sets import NaiveExpertSets, RegularizedExpertSets
from defero.conformal.predictor import ExpertSetPredictor
from defero.conformal.thresholds import conformal_quantile
from defero.core.targets import TARGETS, Target

__all__ = [
    "TARGETS",
    "ExpertSetPredictor",
    "NaiveExpertSets",
    "RegularizedExpertSets",
    "Target",
    "conformal_quantile",
]
