"""Slow twin of `assign`: every way to give the items to the experts and the model."""

from itertools import product

import numpy as np


def best_gain(value, lower, upper, most_deferred, fees=None, budget=np.inf):
    """Return the largest total gain within the limits; None where no assignment is within them."""
    n, j = value.shape
    best = None
    for choice in product(range(-1, j), repeat=n):
        asked = [(i, k) for i, k in enumerate(choice) if k >= 0]
        load = np.bincount([k for _, k in asked], minlength=j) if asked else np.zeros(j, int)
        if (load < lower).any() or (load > upper).any() or len(asked) > most_deferred:
            continue
        if not np.isfinite([value[one] for one in asked]).all():
            continue
        if fees is not None and sum(fees[one] for one in asked) > budget + 1e-9:
            continue
        gain = sum(value[one] for one in asked)
        best = gain if best is None else max(best, gain)
    return best


def drawn_batch(rng, *, n, j, ties, absent, money):
    """Return value (n, J), capacity (J pairs), at_most_asked, fees and budget of a random batch."""
    value = rng.uniform(-0.3, 0.7, (n, j))
    if ties:
        value = np.round(2 * value, 0) / 2
    value[rng.random((n, j)) < absent] = -np.inf
    lower = rng.integers(0, 3, j) * (rng.random(j) < 0.5)
    upper = lower + rng.integers(0, 3, j)
    share = None if rng.random() < 0.5 else float(rng.uniform(0.3, 1))
    fees = rng.integers(1, 6, (n, j)).astype(float) if money else None
    budget = float(rng.integers(0, 4 * n)) if money else None
    return value, [(int(low), int(high)) for low, high in zip(lower, upper, strict=True)], share, fees, budget
