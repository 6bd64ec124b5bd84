"""Members who cannot be asked."""

from collections.abc import Sequence

import numpy as np

from defero.core.checks.arrays import BoolArray
from defero.core.errors import Argument, InputError
from defero.core.wording import did_you_mean, join_names
from defero.pools.router import PoolRouter
from defero.study.absent import check_absent


def present_members(router: PoolRouter, absent: Sequence[str]) -> BoolArray | None:
    """Return who of a pool is left (J,), or None for everybody; raises for names that the pool does not have."""
    check_absent(absent)
    unknown = [name for name in absent if name not in router.expert_names]
    if unknown:
        hint = did_you_mean(unknown[0], router.expert_names)
        raise InputError(
            Argument("absent", unknown), f": no such expert{hint} The pool has {join_names(router.expert_names)}."
        )
    if not set(router.expert_names) - set(absent):
        raise InputError(Argument("absent", list(absent)), ": nobody of the pool is left.")
    return np.array([name not in absent for name in router.expert_names]) if absent else None
