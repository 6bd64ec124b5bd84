from defero.conformal.base import ConformalSets as ConformalSets
from defero.conformal.predictor import ExpertSetPredictor as ExpertSetPredictor
from defero.conformal.thresholds import conformal_quantile as conformal_quantile
from defero.core.targets import TARGETS as TARGETS
from defero.core.targets import Target as Target
