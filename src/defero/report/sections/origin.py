"""The foot of the page: what the report was made of, so that it can be made again."""

from collections.abc import Mapping

from defero.metrics.record.team import TeamRecord
from defero.report.html import Html, joined, tag
from defero.report.provenance import Provenance
from defero.report.wording import count


def origin(record: TeamRecord, provenance: Provenance) -> Html:
    """Return the footer."""
    lines = [
        ("Model", provenance.model),
        ("Table", provenance.table),
        ("Rows", f"{count(provenance.rows)}, of which {count(provenance.left_out)} seen by training and left out"),
        ("Judged on", f"{count(record.team.total)} rows, fingerprint {provenance.fingerprint}"),
        ("Seed", str(provenance.seed)),
        ("Libraries", _pairs(provenance.versions)),
        ("The model's notes", _pairs(provenance.notes)),
        ("Made", provenance.made),
        ("Make it again", tag("code", provenance.command)),
    ]
    shown = joined(joined([tag("dt", name), tag("dd", value)]) for name, value in lines if value)
    return tag("footer", tag("h2", "Where this comes from"), tag("dl", shown))


def _pairs(values: Mapping[str, object]) -> str:
    plain = {name: value for name, value in values.items() if isinstance(value, str | int | float)}
    return ", ".join(f"{name} {value}" for name, value in plain.items())
