"""A small model folder to write and read."""

import numpy as np

from defero.core.codec import Packed
from defero.data.model_folder import write_folder

ARRAYS = {"weight": np.arange(6.0).reshape(2, 3), "seen.fit": np.array([1, 2**63], dtype=np.uint64)}


def write(folder, manifest=None, arrays=None):
    write_folder(folder, Packed(manifest or {"kind": "toy", "fee": 0.1}, arrays or ARRAYS, {}))
