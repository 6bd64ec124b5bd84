"""Rows that an earlier stage has used: nothing can be promised on those."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from defero.core.errors import InputError
from defero.data.fingerprint import held_out

Fingerprints = NDArray[np.uint64]


def refuse_seen(stage: str, rows: Fingerprints, earlier: Mapping[str, Fingerprints]) -> None:
    """Raise where rows were used by an earlier stage.

    In a table with few distinct feature values different cases look alike. If a share d of the earlier rows repeats
    another, a new row equals one of them by chance with probability about 2 d; only more than that is taken for
    reuse. Without repetitions a single shared row is.

    Parameters
    ----------
    stage : str
        Who wants to use the rows.
    rows : (n,) fingerprints
    earlier : mapping
        The fingerprints that each earlier stage has used.
    """
    used = np.concatenate([np.empty(0, np.uint64), *earlier.values()])
    shared = int((~held_out(used, rows)).sum())
    repeated = 1 - len(np.unique(used)) / len(used) if len(used) else 0.0
    by_chance = 2 * repeated * len(rows)
    if shared > by_chance + 4 * math.sqrt(by_chance):
        raise InputError(
            f"{stage}: {shared} of {len(rows)} rows were seen by {' or '.join(earlier)}, and nothing can be promised "
            "on those; pass rows of their own."
        )
