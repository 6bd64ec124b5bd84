"""An estimator's parameters in model.json, and back."""

from typing import Any

from defero.estimators.recipe import Recipe


def parse_parameter(name: str, value: Any) -> Any:
    """Return a parameter as the constructor takes it; raises where model.json holds something else."""
    if name == "recipe":
        return value if value is None else Recipe.from_dict(value)
    entries = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str | int | float | None) for one in entries):
        raise ValueError(f"{name} must be a text, a number, true, false, null or a list of these, got {value!r:.60}.")
    return tuple(value) if isinstance(value, list) else value


def plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that JSON can hold."""
    scalars = (str, int, float, bool, type(None))
    recipe = parameters.get("recipe")
    flat = {key: list(value) if isinstance(value, tuple) else value for key, value in parameters.items()}
    return ({"recipe": recipe.to_dict()} if isinstance(recipe, Recipe) else {}) | {
        key: value
        for key, value in flat.items()
        if isinstance(value, scalars) or (isinstance(value, list) and all(isinstance(one, scalars) for one in value))
    }
