"""Maps of several methods side by side, each for some of the experts; and the map of one who joins later."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from defero.calibration.isotonic import IsotonicMaps
from defero.calibration.maps import ExpertMaps, Untouched
from defero.calibration.platt import PlattMaps
from defero.core.checks import FloatArray
from defero.core.errors import InputError
from defero.core.scores import Link

NewcomersMap = Literal["typical", "identity"]


def with_newcomer(maps: ExpertMaps, newcomer: NewcomersMap) -> ExpertMaps:
    """Return the maps with one more at the end; those of the others are as they were.

    Parameters
    ----------
    maps : ExpertMaps of J experts
    newcomer : "typical" or "identity"
        "typical", for scores that were made as those of the others: the pooled map where most of them have Platt's,
        which is what an expert without held-out answers gets; else the identity, as isotonic steps are each
        expert's own. "identity": the score is taken at its word.

    Examples
    --------
    >>> maps = PlattMaps("logit", (2.0, 0.5), (0.1, 0.2), (0.8, 0.0))
    >>> with_newcomer(maps, "typical").slope
    (2.0, 0.5, 0.8)
    >>> with_newcomer(maps, "identity").methods
    ('platt', 'platt', 'none')
    """
    j = maps.n_experts
    parts = list(zip(maps.parts, maps.experts, strict=True)) if isinstance(maps, ChosenMaps) else [(maps, range(j))]
    mended = newcomer == "typical" and 2 * maps.methods.count("none") < max(j, 1)
    found: list[tuple[ExpertMaps, tuple[int, ...]]] = []
    taken = PlattMaps if mended and any(isinstance(part, PlattMaps) for part, _ in parts) else Untouched
    for part, columns in parts:
        if isinstance(part, taken):
            found.append((part.with_newcomer(), (*columns, j)))
        else:
            found.append((part, tuple(columns)))
    if not any(isinstance(part, taken) for part, _ in parts):
        found.append((Untouched(maps.link, 1), (j,)))
    return side_by_side(found, link=maps.link)


_KNOWN = {kind.method: kind for kind in (Untouched, PlattMaps, IsotonicMaps)}


@dataclass(frozen=True)
class ChosenMaps:
    """Maps of several methods, each for some of the experts.

    Attributes
    ----------
    parts : maps, one per method in use
    experts : for each part the columns it takes, in order; together 0..J-1
    """

    parts: tuple[ExpertMaps, ...]
    experts: tuple[tuple[int, ...], ...]
    method: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        sizes = [part.n_experts for part in self.parts]
        if not sizes or sizes != [len(columns) for columns in self.experts]:
            raise InputError("parts and experts must be as many, with one column for each of a part's maps.")
        if sorted(j for columns in self.experts for j in columns) != list(range(sum(sizes))):
            raise InputError("experts must name each column 0..J-1 once.")
        if len({part.link for part in self.parts}) != 1:
            raise InputError("parts must be of one link.")

    @property
    def link(self) -> Link:
        """What the raw scores are that these maps take."""
        return self.parts[0].link

    @property
    def n_experts(self) -> int:
        """J."""
        return sum(part.n_experts for part in self.parts)

    @property
    def methods(self) -> tuple[str, ...]:
        """Which method each expert got."""
        name_of = {
            j: name
            for part, columns in zip(self.parts, self.experts, strict=True)
            for j, name in zip(columns, part.methods, strict=True)
        }
        return tuple(name_of[j] for j in range(self.n_experts))

    def logits(self, expert_raw: FloatArray) -> FloatArray:
        """Return the calibrated log-odds, (n, J)."""
        found = np.empty(expert_raw.shape)
        for part, columns in zip(self.parts, self.experts, strict=True):
            found[:, columns] = part.logits(expert_raw[:, columns])
        return found

    def take(self, experts: tuple[int, ...]) -> ExpertMaps:
        """Return the maps of some experts, in this order.

        >>> both = ChosenMaps((Untouched("logit", 1), PlattMaps("logit", (2.0,), (0.0,), (1.0, 0.0))), ((1,), (0,)))
        >>> both.take((1, 0)).methods
        ('none', 'platt')
        """
        found: list[tuple[ExpertMaps, tuple[int, ...]]] = []
        for part, columns in zip(self.parts, self.experts, strict=True):
            place = {old: inside for inside, old in enumerate(columns)}
            new = tuple(j for j, old in enumerate(experts) if old in place)
            if new:
                found.append((part.take(tuple(place[experts[j]] for j in new)), new))
        return side_by_side(found, link=self.link)

    def settings(self) -> dict[str, Any]:
        """Return what model.json keeps."""
        return {
            "method": self.method,
            "chosen": list(self.methods),
            "parts": [part.settings() for part in self.parts],
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "ChosenMaps":
        """Return the maps that `settings()` described."""
        methods = [part["method"] for part in settings["parts"]]
        parts = tuple(_KNOWN[part["method"]].from_settings(part) for part in settings["parts"])
        chosen = settings["chosen"]
        return cls(parts, tuple(tuple(j for j, name in enumerate(chosen) if name == method) for method in methods))


def side_by_side(parts: list[tuple[ExpertMaps, tuple[int, ...]]], *, link: Link) -> ExpertMaps:
    """Return maps of several methods, each with its columns, as one; nobody's maps where there are none."""
    if not parts:
        return Untouched(link, 0)
    if len(parts) == 1 and parts[0][1] == tuple(range(parts[0][0].n_experts)):
        return parts[0][0]
    return ChosenMaps(tuple(part for part, _ in parts), tuple(columns for _, columns in parts))
