"""Displays of a team on held-out cases, in the style of scikit-learn's: each draws on Axes and stores its numbers."""

from importlib import import_module

try:
    import_module("matplotlib")
except ImportError as error:
    raise ImportError("pictures need matplotlib: pip install 'defero[report]'") from error

from defero.plotting.agreement import AgreementDisplay
from defero.plotting.deferral_curve import DeferralCurveDisplay
from defero.plotting.expert_load import ExpertLoadDisplay
from defero.plotting.reliability import ReliabilityDisplay
from defero.plotting.set_size import SetSizeDisplay
from defero.plotting.shared_errors import SharedErrorsDisplay
from defero.plotting.skill import SkillDisplay
from defero.plotting.style import drawing, dress

__all__ = [
    "AgreementDisplay",
    "DeferralCurveDisplay",
    "ExpertLoadDisplay",
    "ReliabilityDisplay",
    "SetSizeDisplay",
    "SharedErrorsDisplay",
    "SkillDisplay",
    "drawing",
    "dress",
]
