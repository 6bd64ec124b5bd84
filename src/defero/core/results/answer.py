"""Answer: the team's label for each item."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, frozen
from defero.core.display import Tabular
from defero.core.errors import InputError
from defero.core.labels import Labels
from defero.core.wording import count_of


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Tabular):
    """The team's label for each item.

    Attributes
    ----------
    label : (n,)
        Of the type of the labels.
    confidence : (n,)
        P(the label is right).
    heard : (n, J) bool
        Whose answers were used; nobody's if the model answered.
    """

    label: Labels
    confidence: FloatArray
    heard: BoolArray

    def __post_init__(self) -> None:
        label, heard = np.asarray(self.label), np.asarray(self.heard)
        confidence = np.asarray(self.confidence, dtype=np.float64)
        if heard.ndim != 2 or heard.dtype != np.bool_:
            raise InputError(
                f"must be (n, J) True or False, got shape {heard.shape} of {heard.dtype}.", argument="heard"
            )
        if label.shape != (len(heard),) or confidence.shape != (len(heard),):
            raise InputError(
                f"label and confidence must have {len(heard)} items like heard, "
                f"got {label.shape} and {confidence.shape}."
            )
        object.__setattr__(self, "label", frozen(label))
        object.__setattr__(self, "heard", frozen(heard))
        object.__setattr__(self, "confidence", frozen(confidence))

    def __len__(self) -> int:
        return len(self.label)

    def headline(self) -> str:
        """Return how many items were answered, and for how many experts were heard."""
        heard = int((~self.by_model).sum())
        return f"Answer: {count_of(len(self), 'item')}; experts were heard for {heard:,} of them."

    def columns(self, most: int | None = None) -> dict[str, Any]:
        """Return label, confidence, and how many experts were heard."""
        n_heard = self.heard[:most].sum(axis=1)
        return {"label": self.label[:most], "confidence": self.confidence[:most], "n_heard": n_heard}

    @property
    def by_model(self) -> BoolArray:
        """(n,): did the model answer alone?"""
        return np.logical_not(self.heard.any(axis=1))
