"""Kinds of arrays, for signatures."""

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Parts = tuple[IntArray, ...]
"""Disjoint parts of the rows."""
