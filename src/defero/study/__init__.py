"""The protocol: read past cases, split them in four, fit, calibrate, conformalize, test, remember, report, route."""

from defero.data.cases import Cases
from defero.data.read_cases import read_cases
from defero.study.evaluate import Evaluation
from defero.study.study import Study

__all__ = ["Cases", "Evaluation", "Study", "read_cases"]
