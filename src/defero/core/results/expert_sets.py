"""ExpertSets: the experts to ask for each item; Answer: the team's label for each item."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, frozen, names
from defero.core.display import Tabular
from defero.core.errors import InputError
from defero.core.labels import Labels
from defero.core.wording import count_of


@dataclass(frozen=True, eq=False, repr=False)
class ExpertSets(Tabular):
    """The experts to ask for each item.

    Attributes
    ----------
    mask : (n, J) bool
        Whether expert j is in the set of item i.
    expert_names : J names
    filled : (n,) bool
        Whether the set was empty before the best expert was added; False by default.

    Examples
    --------
    >>> sets = ExpertSets(np.array([[True, False], [True, True]]), ("ann", "bob"))
    >>> sets.size.tolist(), sets.members(1)
    ([1, 2], ['ann', 'bob'])
    """

    mask: BoolArray
    expert_names: tuple[str, ...]
    filled: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def __post_init__(self) -> None:
        mask = np.asarray(self.mask)
        if mask.dtype != np.bool_ or mask.ndim != 2:
            raise InputError(f"must be (n, J) True or False, got shape {mask.shape} of {mask.dtype}.", argument="mask")
        object.__setattr__(self, "expert_names", names("expert_names", self.expert_names, count=mask.shape[1]))
        filled = np.asarray(self.filled)
        if filled.dtype == np.bool_ and filled.size == 0:
            filled = np.zeros(len(mask), dtype=np.bool_)
        if filled.dtype != np.bool_ or filled.shape != (len(mask),):
            raise InputError(
                f"must be True or False for each of {len(mask)} items, got shape {filled.shape} of {filled.dtype}.",
                argument="filled",
            )
        object.__setattr__(self, "mask", frozen(mask))
        object.__setattr__(self, "filled", frozen(filled))

    def __len__(self) -> int:
        return len(self.mask)

    def headline(self) -> str:
        """Return how many sets there are, and how large they are on average."""
        mean = f"; {self.size.mean():.2f} experts on average" if len(self) else ""
        return f"ExpertSets: {count_of(len(self), 'item')}{mean}."

    def columns(self, most: int | None = None) -> dict[str, Any]:
        """Return panel (the names), size, and one column of True or False per expert."""
        panels = ["; ".join(self.members(item)) for item in range(len(self))[:most]]
        members = {name: self.mask[:most, j] for j, name in enumerate(self.expert_names)}
        return {"panel": panels, "size": self.size[:most], **members}

    @property
    def raw_mask(self) -> BoolArray:
        """(n, J): the sets before empty ones were filled."""
        return self.mask & ~self.filled[:, None]

    @property
    def size(self) -> IntArray:
        """(n,): how many experts each set holds."""
        return self.mask.sum(axis=1).astype(np.int64)

    def members(self, item: int) -> list[str]:
        """Return the names in one item's set."""
        return [name for name, inside in zip(self.expert_names, self.mask[item], strict=True) if inside]


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
                f"and confidence must have {len(heard)} items like heard, got {label.shape} and {confidence.shape}.",
                argument="label",
            )
        object.__setattr__(self, "label", frozen(label))
        object.__setattr__(self, "heard", frozen(heard))
        object.__setattr__(self, "confidence", frozen(confidence))

    def __len__(self) -> int:
        return len(self.label)

    def headline(self) -> str:
        """Return how many items were answered, and for how many experts were heard."""
        n_heard = int((~self.by_model).sum())
        return f"Answer: {count_of(len(self), 'item')}; experts were heard for {n_heard:,} of them."

    def columns(self, most: int | None = None) -> dict[str, Any]:
        """Return label, confidence, and how many experts were heard."""
        n_heard = self.heard[:most].sum(axis=1)
        return {"label": self.label[:most], "confidence": self.confidence[:most], "n_heard": n_heard}

    @property
    def by_model(self) -> BoolArray:
        """(n,): did the model answer alone?"""
        return np.logical_not(self.heard.any(axis=1))
