"""Data to learn from: WEDGE, a simulated team whose best possible accuracy is known exactly."""

from defero.datasets.wedge import Wedge, wedge
from defero.datasets.wedge_truth import WedgeOptimum
from defero.datasets.wedge_truth import bayes_accuracy as wedge_bayes_accuracy
from defero.datasets.wedge_truth import bayes_coverage as wedge_coverage
from defero.datasets.wedge_truth import classifier_accuracy as wedge_classifier_accuracy
from defero.datasets.wedge_truth import expert_accuracy as wedge_expert_accuracy
from defero.datasets.wedge_truth import with_budget as wedge_with_budget
from defero.datasets.wedge_truth import with_fees as wedge_with_fees

__all__ = [
    "Wedge",
    "WedgeOptimum",
    "wedge",
    "wedge_bayes_accuracy",
    "wedge_classifier_accuracy",
    "wedge_coverage",
    "wedge_expert_accuracy",
    "wedge_with_budget",
    "wedge_with_fees",
]
