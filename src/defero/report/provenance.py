"""Where a report comes from, so that it can be made again."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Provenance:
    """What a report was made of.

    Attributes
    ----------
    model, table : str
        Their names, as the command was given them.
    rows, left_out : int
        Rows of the table, and how many of them training had seen.
    seed : int
        Of the intervals that are drawn.
    fingerprint : str
        Of the rows judged, whatever their order.
    command : str
        The line that makes the report again.
    made : str
        The date, from whoever has a clock.
    versions : mapping
        Of the libraries at work now.
    notes : mapping
        What the model folder says of its training: the loss, the seed, the library versions.
    calibration : sentences
        What recalibration did, where there was one.
    answering : sentences
        What training found of who answered what; none where that was nothing.
    """

    model: str
    table: str
    rows: int
    left_out: int
    seed: int
    fingerprint: str
    command: str
    made: str
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, object] = field(default_factory=dict)
    calibration: tuple[str, ...] = ()
    answering: tuple[str, ...] = ()
