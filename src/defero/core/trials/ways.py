"""Ways of asking: what a team does with n held-out cases, and the plain alternatives."""

from dataclasses import dataclass

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray, frozen
from defero.core.errors import InputError

ASK = ("one", "sequential", "panel")
"""How a team may settle a case: one expert, whose answer is final; one after the other; a panel at once."""
PLAIN = ("everybody_majority", "everybody_bayes", "best_expert", "random_expert", "model")
"""What one can do without a team."""
WAYS = (*ASK, *PLAIN)


@dataclass(frozen=True, eq=False)
class Way:
    """One way of settling n cases.

    Attributes
    ----------
    name : str
        One of `WAYS`.
    right : (n,) float
        Whether the label is right; for a random expert how likely it is to be.
    questions : (n,) float
        How many answers were heard.
    fees : (n,)
        What they cost.
    promised : (n,), optional
        P(the label is right) that was stated; None where nothing is promised.
    label_idx : (n,) class numbers, optional
        None for a random expert.
    errors : (n,), optional
        What the errors cost, in the unit of the fees; by default 1 for each.

    Examples
    --------
    >>> way = Way("model", right=[1, 0], questions=[0, 0], fees=[0, 0], promised=[0.9, 0.6], label_idx=[0, 1])
    >>> float(way.cost.mean())
    0.5
    """

    name: str
    right: FloatArray
    questions: FloatArray
    fees: FloatArray
    promised: FloatArray | None = None
    label_idx: IntArray | None = None
    errors: FloatArray | None = None

    def __post_init__(self) -> None:
        n_items = len(self.right)
        if self.errors is None:
            object.__setattr__(self, "errors", 1 - np.asarray(self.right, dtype=np.float64))
        for name in ("right", "questions", "fees", "promised", "label_idx", "errors"):
            value = getattr(self, name)
            if value is None:
                continue
            array = np.asarray(value, dtype=np.int64 if name == "label_idx" else np.float64)
            if array.shape != (n_items,):
                raise InputError(f"must have {n_items} items like right, got shape {array.shape}.", argument=name)
            object.__setattr__(self, name, frozen(array))

    @property
    def cost(self) -> FloatArray:
        """(n,): fees and errors."""
        assert self.errors is not None
        return self.fees + self.errors
