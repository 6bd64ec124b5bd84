"""defero: learn from past cases who should decide the next one, the model, one expert, or a panel.

The public names load what they need when they are first used, so that `import defero` stays light.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from defero.core import Answer, Decision, ExpertSets, ExpertTable, InputError, ModelFolderError, Scores, TableError
    from defero.data import read_table
    from defero.estimators.baselines import BestExpert, ConfidenceThreshold, ModelOnly, RandomExpert
    from defero.estimators.deferral import DeferralClassifier
    from defero.estimators.recipe import Recipe
    from defero.estimators.two_stage import TwoStageDeferral
    from defero.router import Router
    from defero.study import Cases, Evaluation, Study, read_cases

__version__ = "0.1.0"

_HOMES = {
    "Answer": "defero.core",
    "BestExpert": "defero.estimators.baselines",
    "Cases": "defero.study",
    "ConfidenceThreshold": "defero.estimators.baselines",
    "Decision": "defero.core",
    "DeferralClassifier": "defero.estimators.deferral",
    "Evaluation": "defero.study",
    "ExpertSets": "defero.core",
    "ExpertTable": "defero.core",
    "InputError": "defero.core",
    "ModelFolderError": "defero.core",
    "ModelOnly": "defero.estimators.baselines",
    "RandomExpert": "defero.estimators.baselines",
    "Recipe": "defero.estimators.recipe",
    "Router": "defero.router",
    "Scores": "defero.core",
    "Study": "defero.study",
    "TableError": "defero.core",
    "TwoStageDeferral": "defero.estimators.two_stage",
    "read_cases": "defero.study",
    "read_table": "defero.data",
}
_MODULES = (
    "aggregation",
    "answering",
    "calibration",
    "conformal",
    "data",
    "datasets",
    "experts",
    "losses",
    "metrics",
    "nets",
    "plotting",
    "training",
)
"""The public modules; their names are in their `__all__`. What lies deeper is private."""

__all__ = [
    "Answer",
    "BestExpert",
    "Cases",
    "ConfidenceThreshold",
    "Decision",
    "DeferralClassifier",
    "Evaluation",
    "ExpertSets",
    "ExpertTable",
    "InputError",
    "ModelFolderError",
    "ModelOnly",
    "RandomExpert",
    "Recipe",
    "Router",
    "Scores",
    "Study",
    "TableError",
    "TwoStageDeferral",
    "__version__",
    "read_cases",
    "read_table",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        try:
            return getattr(importlib.import_module(_HOMES[name]), name)
        except ModuleNotFoundError as error:
            if error.name == "torch":
                raise ImportError(f"{name} needs PyTorch: pip install 'defero[train]'.") from error
            raise
    if name in _MODULES:
        return importlib.import_module(f"defero.{name}")
    raise AttributeError(f"module 'defero' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
