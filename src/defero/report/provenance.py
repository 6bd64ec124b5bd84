"""What a report needs beside the team's record, and the footer that says where the report comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from defero.judge.record.group_load import GroupTable
from defero.judge.record.team import TeamRecord
from defero.report.html import Html, joined, tag
from defero.report.numbers import count


@dataclass(frozen=True)
class Evidence:
    """What is known beside the record: how well the experts are known, groups of cases.

    Attributes
    ----------
    expert_sd : J numbers
        Standard deviation of P(expert j is right), averaged over the cases; nan if unknown.
    min_answers : int
        Experts with fewer training answers are never asked alone.
    groups : tuple of GroupTable
        The cases by the values of columns.
    panels_void : str
        Why the promise of the panels does not hold here, as a sentence; "" where it does.
    """

    expert_sd: tuple[float, ...]
    min_answers: int
    groups: tuple[GroupTable, ...] = ()
    panels_void: str = ""


@dataclass(frozen=True)
class Provenance:
    """Where a report comes from.

    Attributes
    ----------
    model, table : str
        Names of the model folder and of the table.
    rows, left_out : int
        Rows of the table, and how many of them were left out because training had used them.
    seed : int
        Seed of the bootstrap intervals.
    fingerprint : str
        Fingerprint of the evaluated rows, independent of their order.
    command : str
        The command that makes the report again.
    made : str
        The date.
    versions : mapping
        Versions of the libraries in use.
    settings : mapping
        Facts about training that the model folder holds, such as the columns and the seed.
    calibration : sentences
        What recalibration did; empty if there was none.
    answering : sentences
        What training learned about which cases experts answered; empty if nothing is notable.
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
    settings: Mapping[str, object] = field(default_factory=dict)
    calibration: tuple[str, ...] = ()
    answering: tuple[str, ...] = ()


def footer(record: TeamRecord, provenance: Provenance) -> Html:
    """Return the footer of the page."""
    rows = f"{count(provenance.rows)}, of which {count(provenance.left_out)} were used in training and left out"
    lines = [
        ("Model", provenance.model),
        ("Table", provenance.table),
        ("Rows", rows),
        ("Evaluated on", f"{count(record.team.total)} rows, fingerprint {provenance.fingerprint}"),
        ("Seed", str(provenance.seed)),
        ("Libraries", _pairs(provenance.versions)),
        ("Settings of the model", _pairs(provenance.settings)),
        ("Date", provenance.made),
        ("Command", tag("code", provenance.command)),
    ]
    entries = joined(joined([tag("dt", name), tag("dd", value)]) for name, value in lines if value)
    return tag("footer", tag("h2", "How this report was made"), tag("dl", entries))


def _pairs(values: Mapping[str, object]) -> str:
    scalars = {name: value for name, value in values.items() if isinstance(value, str | int | float)}
    return ", ".join(f"{name} {value}" for name, value in scalars.items())
