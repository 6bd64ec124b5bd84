"""What is said of features that cannot be used: cells that are no numbers, and texts that nobody named."""

import warnings

import numpy as np

from defero.core.checks import FloatArray
from defero.core.errors import InputError, listing
from defero.data.recipe import FeatureRecipe
from defero.data.recipe_columns import FREE_TEXT


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


def warn_of_unread_texts(recipe: FeatureRecipe) -> None:
    """Warn of columns of free text that nobody named."""
    unread = [name for name, reason in recipe.dropped.items() if reason == FREE_TEXT]
    if unread:
        warnings.warn(
            f"X: free text that is not used: {listing(unread)}. Name such columns in text=[...] to read them, or drop "
            "them.",
            stacklevel=4,
        )
