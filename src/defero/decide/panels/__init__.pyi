from defero.core.registry import TARGETS as TARGETS
from defero.core.registry import Target as Target
from defero.decide.panels.predictor import ConformalSets as ConformalSets
from defero.decide.panels.predictor import ExpertSetPredictor as ExpertSetPredictor
from defero.decide.panels.thresholds import conformal_quantile as conformal_quantile
