"""Calibrated probabilities: maps from held-out cases that correct the model and the experts."""

from defero.calibration.calibrator import Calibrator
from defero.calibration.maps import Method

__all__ = ["Calibrator", "Method"]
