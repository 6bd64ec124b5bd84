"""What is said of features that cannot be used: cells that are no numbers, and columns that a recipe leaves out."""

import warnings

import numpy as np

from defero.core.checks import FloatArray
from defero.core.errors import InputError
from defero.core.wording import join_names
from defero.data.recipes.columns import SAYS_NOTHING
from defero.data.recipes.recipe import FeatureRecipe


def finite(matrix: FloatArray) -> FloatArray:
    """Return a matrix of finite numbers as it is; raise naming the first other cell."""
    if np.isfinite(matrix).all():
        return matrix
    row, column = np.argwhere(~np.isfinite(matrix))[0]
    what = "NaN" if np.isnan(matrix[row, column]) else "inf"
    raise InputError(
        f"X contains {what} at row {row}, column {column}; expected finite numbers. Fill or drop such cells, "
        "or pass a DataFrame, whose missing cells are filled."
    )


def warn_of_unused_columns(recipe: FeatureRecipe | None) -> None:
    """Warn of columns that hold something and are not used; for the caller of `fit`, two frames up."""
    unused = {} if recipe is None else {k: why for k, why in recipe.dropped.items() if why not in SAYS_NOTHING}
    if unused:
        # What follows a semicolon is for the command line.
        told = join_names((f"{name} ({why.partition(';')[0]})" for name, why in unused.items()), most=6)
        count = "1 column is" if len(unused) == 1 else f"{len(unused)} columns are"
        warnings.warn(
            f"X: {count} not used: {told}. Mend what matters, name texts in text=[...], and drop the rest; "
            "dropped_columns_ has the list.",
            stacklevel=3,
        )
