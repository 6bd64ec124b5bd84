"""The map of an expert who joined later: nothing was held out to find one of their own."""

from typing import Literal

from defero.calibration.chosen import ChosenMaps, side_by_side
from defero.calibration.maps import ExpertMaps, Untouched
from defero.calibration.platt import PlattMaps

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
