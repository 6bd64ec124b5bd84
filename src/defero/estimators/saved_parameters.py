"""An estimator's parameters in model.json, and back."""

from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from defero.core.codec import Packed, pack, unpack
from defero.core.errors import ModelFolderError
from defero.estimators.recipe import Recipe
from defero.team import FitFacts


def parse_parameter(name: str, value: Any) -> Any:
    """Return a parameter as the constructor takes it; raises where model.json holds something else."""
    if name == "recipe":
        return value if value is None else unpack(Recipe, Packed(value), place="facts.parameters.recipe")
    entries = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str | int | float | None) for one in entries):
        raise ValueError(f"{name} must be a text, a number, true, false, null or a list of these, got {value!r:.60}.")
    return tuple(value) if isinstance(value, list) else value


def plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that JSON can hold."""
    scalars = (str, int, float, bool, type(None))
    recipe = parameters.get("recipe")
    flat = {key: list(value) if isinstance(value, tuple) else value for key, value in parameters.items()}
    if Path(str(flat.get("text_encoder"))).is_dir():  # where a model lies on this machine is nobody's business
        del flat["text_encoder"]
    return ({"recipe": pack(recipe).manifest} if isinstance(recipe, Recipe) else {}) | {
        key: value
        for key, value in flat.items()
        if isinstance(value, scalars) or (isinstance(value, list) and all(isinstance(one, scalars) for one in value))
    }


def parameters_for(estimator: type[BaseEstimator], facts: FitFacts, folder: str | Path) -> dict[str, Any]:
    """Return the parameters of an estimator that a model folder remembers; raise if another class wrote it."""
    saved_by, name = facts.estimator, estimator.__name__
    if saved_by != name:
        raise ModelFolderError(f"{folder}: was written by {saved_by}, not {name}; use {saved_by}.load or Team.load.")
    known = {key: value for key, value in facts.parameters.items() if key in estimator._get_param_names()}
    try:
        return {key: parse_parameter(key, value) for key, value in known.items()}
    except ModelFolderError as error:
        raise ModelFolderError(f"{folder}: {error}") from error
    except (TypeError, ValueError) as error:
        raise ModelFolderError(f"{folder}: model.json: facts.parameters: {error} Fit again or restore it.") from error
