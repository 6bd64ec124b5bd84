"""Data to learn from: WEDGE, whose best possible accuracy is known exactly, and digits with simulated specialists."""

from typing import TYPE_CHECKING, Any

from defero.datasets.wedge import Wedge, wedge
from defero.datasets.wedge_truth import WedgeOptimum
from defero.datasets.wedge_truth import bayes_accuracy as wedge_bayes_accuracy
from defero.datasets.wedge_truth import bayes_coverage as wedge_coverage
from defero.datasets.wedge_truth import classifier_accuracy as wedge_classifier_accuracy
from defero.datasets.wedge_truth import expert_accuracy as wedge_expert_accuracy
from defero.datasets.wedge_truth import with_budget as wedge_with_budget
from defero.datasets.wedge_truth import with_fees as wedge_with_fees

if TYPE_CHECKING:
    from defero.datasets.digits import digits_team

__all__ = [
    "Wedge",
    "WedgeOptimum",
    "digits_team",
    "wedge",
    "wedge_bayes_accuracy",
    "wedge_classifier_accuracy",
    "wedge_coverage",
    "wedge_expert_accuracy",
    "wedge_with_budget",
    "wedge_with_fees",
]


def __getattr__(name: str) -> Any:
    """Load the digits, and scikit-learn and pandas with them, only when they are asked for."""
    if name == "digits_team":
        from defero.datasets.digits import digits_team

        return digits_team
    raise AttributeError(f"module 'defero.datasets' has no attribute {name!r}")
