"""Seeds of parts, from one seed: the same wherever a run is resumed."""

import numpy as np


def derived_seed(*parts: int) -> int:
    """Return a seed for torch from whole numbers such as (seed, epoch, rank).

    >>> derived_seed(0, 1) == derived_seed(0, 1), derived_seed(0, 1) == derived_seed(1, 0)
    (True, False)
    """
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0]) >> 1
