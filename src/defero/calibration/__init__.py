"""Honest probabilities: a held-out part of the cases sets right what the model claims of itself and of the experts."""

from defero.calibration.calibrator import Calibrator
from defero.calibration.maps import Method

__all__ = ["Calibrator", "Method"]
