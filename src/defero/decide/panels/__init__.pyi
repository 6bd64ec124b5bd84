from defero.core.targets import TARGETS as TARGETS
from defero.core.targets import Target as Target
from defero.decide.panels.base import ConformalSets as ConformalSets
from defero.decide.panels.base import conformal_quantile as conformal_quantile
from defero.decide.panels.predictor import ExpertSetPredictor as ExpertSetPredictor
