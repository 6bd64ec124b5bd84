"""Columns of a table as one matrix of numbers, learned from the training rows: every method sees the same."""

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from defero.core.checks.arrays import FloatArray

MOST_CATEGORIES = 20


def matrices(
    train: pd.DataFrame, test: pd.DataFrame, *, directions: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return both parts as numbers: standardised columns, one-hot categories, or the main `directions` of them all.

    >>> shown = pd.DataFrame({"size": [1.0, 3.0], "kind": ["a", "b"]})
    >>> matrices(shown, shown)[0].tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """
    texts = [name for name in train if not pd.api.types.is_numeric_dtype(train[name])]
    numbers = [name for name in train if name not in texts]
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            (
                "texts",
                OneHotEncoder(
                    handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False
                ),
                texts,
            ),
        ]
    )
    first, second = np.asarray(columns.fit_transform(train)), np.asarray(columns.transform(test))
    if directions is None:
        return first.astype(np.float64), second.astype(np.float64)
    main = make_pipeline(PCA(directions, random_state=0), StandardScaler())
    return main.fit_transform(first), main.transform(second)
