"""The report: one HTML page without scripts that needs no network, from the templates of this folder."""

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import PurePath
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from defero.core.trial import Trial
from defero.core.wording import count_of, money, printable
from defero.judge.intervals import Share
from defero.judge.record import tables
from defero.judge.record.cautions import no_better, nothing_deferred
from defero.judge.record.figures import Figure, FigureTable, Section, hundredths, in_points
from defero.judge.record.members import FEW
from defero.judge.record.score_sections import GLOSSARY, score_sections
from defero.judge.record.scores import ScoreRecord
from defero.judge.record.team import Record
from defero.judge.record.ways import CostRecord, better_than_team
from defero.judge.shared_errors import LEAST_SHARED, NOTEWORTHY, SharedErrors
from defero.judge.smooth import smooth_calibration_error
from defero.report.pictures import TeamPictures, score_frontier

IN_SIGHT = 11
"""Number of experts that a long table shows."""
SPARED = 3
"""A table is folded only if more experts than this would be hidden."""
CONTENTS = {
    "ways": "Ways of asking",
    "costs": "What it costs",
    "groups": "Groups of cases",
    "gain": "Gain",
    "classes": "Classes",
    "load": "Who is asked",
    "calibration": "Calibration",
    "panels": "Panels",
    "deferral": "Share of deferred cases",
    "skill": "Skill by class",
    "shared-errors": "Shared mistakes",
    "glossary": "How to read this report",
}
"""Ids of the sections and the names of their links."""
OF_MODEL = {
    "gain": "The model",
    "classes": "Classes",
    "load": "Promised and kept",
    "calibration": "Calibration",
    "glossary": "How to read this report",
}
"""The same for a team without experts."""
NO_BREAK = "\u00a0"
_MINUS = re.compile(r"(?<![\w.-])-(?=\d+\.\d)")


@dataclass(frozen=True)
class Evidence:
    """What is known beside the record: how well the experts are known, groups of cases.

    Attributes
    ----------
    expert_sd : J numbers
        Standard deviation of P(expert j is right), averaged over the cases; nan if unknown.
    groups : {column: two tables}
        Recall, and load, by the values of columns.
    panels_void : str
        Why the promise of the panels does not hold here, as a sentence; "" where it does.
    """

    expert_sd: tuple[float, ...] = ()
    groups: Mapping[str, tuple[FigureTable, FigureTable]] = field(default_factory=dict)
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

    @property
    def table_name(self) -> str:
        """The table without its folder."""
        return PurePath(self.table).name

    def facts(self, record: Record | ScoreRecord) -> list[tuple[str, str]]:
        """Return names and values for the foot of the page."""
        return [
            ("Model", self.model),
            ("Table", self.table),
            ("Rows", f"{self.rows:,}, of which {self.left_out:,} were used in training and left out"),
            ("Evaluated on", f"{record.items:,} rows, fingerprint {self.fingerprint}"),
            ("Seed", str(self.seed)),
            ("Libraries", _pairs(self.versions)),
            ("Settings of the model", _pairs(self.settings)),
            ("Date", self.made),
            ("Command", self.command),
        ]


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if isinstance(value, str | int | float))


def report_page(trial: Trial, record: Record, provenance: Provenance, *, evidence: Evidence | None = None) -> str:
    """Return the page as text.

    Parameters
    ----------
    trial : Trial
        The team on held-out cases, which the pictures show.
    record : Record
        Its results. The page has the numbers of `evaluate`.
    provenance : Provenance
        Model, table, seed and versions behind the report.
    evidence : Evidence, optional
        How well the experts are known.
    """
    evidence = evidence or Evidence()
    nothing = nothing_deferred(record.coverage, n_experts=len(record.experts))
    experts = [record.experts[j] for j in tables.most_asked_first(record)]
    answered = [one for one in record.experts if one.alone.total >= FEW]
    return render(
        "team.html",
        record=record,
        sentence=sentence(record),
        nothing_deferred=nothing,
        # The head of the page says these already.
        cautions=[
            with_minus(one) for one in record.cautions if one not in (nothing, no_better(record.team_minus_model))
        ],
        provenance=provenance,
        evidence=evidence,
        contents=_contents(record, grouped=bool(evidence.groups)),
        better=better_than_team(record.ways, record.ask),
        # By the lower end of the interval, and of those with enough answers: ten right of ten say little.
        best=max(answered, key=lambda one: one.alone.interval[0], default=None),
        never_asked=[one.name for one in experts if not one.asked.total],
        few=FEW,
        calibration=tables.calibration(record, before=_errors_before(trial), expert_sd=evidence.expert_sd),
        shared=_shared_mistakes(record.shared_errors),
        pictures=TeamPictures(trial, record),
    )


def score_page(
    record: ScoreRecord,
    provenance: Provenance,
    *,
    kinds: Mapping[str, Sequence[str]] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Return the page of a team whose experts have only scores, as text.

    Parameters
    ----------
    record : ScoreRecord
    provenance : Provenance
    kinds : {column: (n,) values}, optional
        Categorical columns of the items: who gets which kinds.
    notes : sentences
    """
    drawn = score_frontier(record)
    sections = [
        replace(one, parts=[*one.parts, drawn]) if one.key == "frontier" and drawn is not None else one
        for one in score_sections(record, kinds or {})
    ]
    return render(
        "base.html",
        record=record,
        sentence=record.headline(),
        notes=notes,
        sections=[*sections, Section("glossary", CONTENTS["glossary"], [GLOSSARY])],
        provenance=provenance,
    )


def sentence(record: Record | ScoreRecord) -> str:
    """Return the result in one sentence."""
    if isinstance(record, ScoreRecord):
        return record.headline()
    gain, cases = record.team_minus_model, count_of(record.team.total, "held-out case", "held-out cases")
    team, model = shown(Figure(record.team.value)), shown(Figure(record.model.value))
    if not record.experts:
        return f"On {cases} the model is right on {model}."
    if record.costs is not None and record.costs.unequal:
        return f"On {cases} {_cost_sentence(record.costs)}"
    ends = "" if math.isnan(gain.low) else f" (95 % interval {in_points(gain.low)} to {in_points(gain.high)})"
    points = typeset(f"{in_points(gain.difference)} points{ends}") if gain.n else "– points"
    return f"On {cases} the team is right on {team}, the model alone on {model}: {points}."


def _cost_sentence(costs: CostRecord) -> str:
    """Say what the team and the model alone cost, where errors cost differently."""
    team, model = (money(one.cost, like=costs.like) for one in (costs.team, costs.of("model")))
    saved = costs.team.against_model
    if saved is None:
        return f"the team costs {team} per case."
    low, high, amount = (money(one, like=costs.like) for one in (saved.low, saved.high, abs(saved.per_case)))
    ends = "" if math.isnan(saved.low) else typeset(f" (95 % interval of the savings {low} to {high})")
    verb = "saves" if saved.per_case >= 0 else "loses"
    return f"the team costs {team} per case, the model alone {model}: it {verb} {amount}{ends}."


def _contents(record: Record, *, grouped: bool) -> list[tuple[str, str]]:
    names = CONTENTS if record.experts else OF_MODEL
    return [(key, name) for key, name in names.items() if grouped or key != "groups"]


def _errors_before(trial: Trial) -> Any:
    """Return the error before calibration of each expert and, last, of the model: (J + 1,); None if nothing changed."""
    raw, now = trial.uncalibrated, trial.scores
    if all(np.array_equal(getattr(now, name), getattr(raw, name)) for name in ("class_proba", "expert_proba")):
        return None
    experts = smooth_calibration_error(raw.expert_proba, trial.expert_correct, observed=trial.observed, average=None)
    return np.append(experts, smooth_calibration_error(raw.model_proba, raw.class_idx == trial.label_idx))


def _shared_mistakes(errors: SharedErrors) -> dict[str, Any]:
    """Return who makes the same mistakes in sentences, and by which rule."""
    weaker = [
        f"{' and '.join(one.experts)} often make the same mistakes: together they count as about {one.voices:.1f} "
        "experts."
        for one in errors.pairs
        if not any({one.first, one.second} <= set(group) for group in errors.groups)
    ]
    known = bool((errors.correlation == errors.correlation).any())
    return {
        "known": known,
        "sentences": [*errors.sentences, *weaker],
        "least": LEAST_SHARED,
        "noteworthy": NOTEWORTHY,
    }


def render(template: str, **values: Any) -> str:
    """Return a page of a template."""
    return environment().get_template(template).render(style=_style(), **values)


def n_folded(n_rows: int) -> int:
    """Return how many rows of a table stay folded; 0 for all but long ones."""
    return n_rows - IN_SIGHT if n_rows > IN_SIGHT + SPARED else 0


@functools.cache
def _style() -> Markup:
    return Markup(resources.files("defero.report").joinpath("style.css").read_text(encoding="utf-8"))


@functools.cache
def environment() -> Environment:
    """Return the environment of the templates: what they insert is written by `shown`, then escaped."""
    made = Environment(
        loader=PackageLoader("defero.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=shown,
    )
    made.globals["tables"] = tables
    made.filters |= {
        "by_chance": tables.by_chance,
        "count": "{:,}".format,
        "count_of": count_of,
        "interval": _interval,
        "n_folded": n_folded,
        "money": lambda amount, like=None: typeset(money(amount, like=like)),
        "one_line": lambda text: " ".join(str(text).split()),
        "percent": lambda share: shown(Figure(share)),
        "points": lambda difference: typeset(in_points(difference)),
        "with_minus": with_minus,
    }
    return made


def with_minus(text: str) -> str:
    """Write the minus sign of decimal numbers in a sentence; hyphens in names stay.

    >>> with_minus("-0.1 points (-1.2 to +0.9) of dr-2.5, class -1")
    '−0.1 points (−1.2 to +0.9) of dr-2.5, class -1'
    """
    return _MINUS.sub("\u2212", text)


def _interval(share: Share) -> str:
    low, high = share.interval
    return "–" if math.isnan(low) else f"{hundredths(low)} to {hundredths(high)}"


def shown(value: object) -> object:
    r"""Write what a template inserts: numbers as a typesetter would, control characters of names as escapes.

    >>> shown(Figure(0.5, 0.41, 0.59)), shown("\x1b[31m \u202eann")
    ('50.0\xa0% (41.0 to 59.0)', '\\x1b[31m \\u202eann')
    """
    if isinstance(value, Markup):
        return value
    if isinstance(value, Figure) or str(value) == "-":
        return typeset(str(value))
    return printable(str(value))


def typeset(number: str) -> str:
    """Write numbers with a minus sign and with a blank that does not break before the per cent sign.

    >>> typeset("-0.2  (-1.2 to +0.9)"), typeset("50.0 %").split(), typeset("-")
    ('−0.2 (−1.2 to +0.9)', ['50.0', '%'], '–')
    """
    if number == "-":
        return "–"
    return number.replace("  (", " (").replace(" %", f"{NO_BREAK}%").replace("-", "\u2212")
