"""An evaluation for a person: its figures as text, and as one page to pass on."""

import math
import os
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from defero.core.errors import Argument, InputError, Spelling
from defero.core.wording import money, percent
from defero.data.model_folder import library_versions
from defero.data.recipes.columns import CategoricalColumn
from defero.data.tables.cells import texts
from defero.data.tables.read import Table, TableSource
from defero.data.whole_files import write_whole
from defero.decide.terms import Terms
from defero.judge.record import tables
from defero.judge.record.figures import Figure
from defero.judge.record.members import PromiseRecord, shown_metrics
from defero.judge.record.score_sections import score_sections
from defero.judge.record.scores import ScoreRecord
from defero.judge.record.team import Record

if TYPE_CHECKING:
    from defero.study.evaluate import Evaluation

PAGES = (".html", ".htm")


def check_page(out: Path, *, model: Path | None, tables: tuple[Table | None, ...] = ()) -> None:
    """Raise before any work where the page cannot be written, or would replace what it is made of."""
    named = Argument("out", str(out))
    if out.is_dir():
        raise InputError(f"{named}: is a folder; name a file in it, such as {out / 'report.html'}.")
    if not out.resolve().parent.is_dir():
        raise InputError(f"{named}: the folder {out.resolve().parent} does not exist; make it first.")
    if not os.access(out.resolve().parent, os.W_OK | os.X_OK):
        raise InputError(f"{named}: no permission to write in {out.resolve().parent}; choose another folder.")
    for table, what in zip(tables, ("the table of cases", "the log of answers"), strict=False):
        path = None if table is None else TableSource.of(table).path
        if path is not None and out.exists() and path.exists() and out.samefile(path):
            raise InputError(f"{named}: is {what} itself; choose another name.")
    if model is not None and out.resolve().parent == model.resolve():
        raise InputError(f"{named}: lies in the model's folder, which stays as it is; choose another folder.")
    if out.suffix.lower() not in PAGES:
        raise InputError(
            f"{named}: the page is HTML; name it {out.with_suffix('.html').name}. For a PDF open it in a browser "
            "and print it there."
        )


def report_call(study: str, out: object, table: Any, terms: Terms | None, **more: Any) -> str:
    """Return the call of `Study.report` that makes the page again; a table or an array stands there by its name."""
    paid = {} if terms is None else {name: _written(name, value) for name, value in terms.given().items()}
    words = [_written("table", one) for one in (str(out), table) if one is not None]
    words += [f"terms=Terms({', '.join(f'{name}={value}' for name, value in paid.items())})"] if paid else []
    words += [f"{name}={_written(name, value)}" for name, value in more.items() if value]
    return f"{study}.report({', '.join(words)})"


def _written(name: str, value: Any) -> str:
    value = str(value) if isinstance(value, os.PathLike) else value
    return repr(value) if isinstance(value, str | float | int | dict | list | tuple) else name


def write_page(evaluation: "Evaluation", out: Path, *, command: str, spell: Spelling = str) -> None:
    """Write the page, whole or not at all.

    Parameters
    ----------
    evaluation : Evaluation
    out : Path
        Checked by `check_page`.
    command : str
        The line that makes the page again.
    spell : callable
        Writes the arguments that the page mentions.
    """
    from defero.report.page import Evidence, Provenance, report_page, score_page

    record, team = evaluation.record, evaluation.team
    answering = team.facts.answering
    provenance = Provenance(
        model=evaluation.model,
        table=evaluation.table,
        rows=evaluation.rows,
        left_out=evaluation.seen_by_fit + evaluation.of_seen_groups,
        seed=evaluation.random_state,
        fingerprint=evaluation.fingerprint(),
        command=command,
        made=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        versions=library_versions(),
        settings=team.facts.settings(),
        calibration=() if team.calibrator is None else tuple(team.calibrator.describe()),
        answering=() if answering is None else tuple(one.message(spell) for one in answering.sentences),
    )
    if evaluation.trial is None:
        page = score_page(record, provenance, kinds=_kinds(evaluation), notes=evaluation.notes)
    else:
        evidence = Evidence(
            expert_sd=evaluation.expert_sd,
            groups={one.column: (one.recall(), one.load()) for one in evaluation.groups},
            panels_void=" ".join(one[:1].upper() + one[1:] for one in evaluation.other_terms),
        )
        page = report_page(evaluation.trial, record, provenance, evidence=evidence)
    try:
        write_whole(out, page.encode("utf-8"))
    except InputError as error:
        raise InputError(f"{Argument('out')} {error}") from error


def _kinds(evaluation: "Evaluation") -> dict[str, list[str]]:
    """Return the cells of the categorical columns."""
    recipe = evaluation.team.recipe
    return {
        column.name: [cell or "blank" for cell in texts(evaluation.columns[column.name])]
        for column in (() if recipe is None else recipe.columns)
        if isinstance(column, CategoricalColumn)
    }


_COLUMNS = """
  right           share of right answers on all cases that they answered
  decides         share of the cases that the team gives them
  right there     share of right answers on those cases"""
_PROMISES = "  promised there  mean P(right) that the team assumed on those cases"
_WEIGHTS = """
This team decides by weights, which are no probabilities, so it makes no promises."""


def record_text(record: Record) -> str:
    """Return a team's record as text for a person."""
    gain, recorded = record.team_minus_model, record.recorded_answers_per_item
    lines = [f"On {record.team.total} held-out cases (95 % intervals):\n", tables.members(record).text()]
    more = len(record.experts) - tables.MOST_ROWS
    lines += [f"... and {more} experts who are asked less; to_dict (--json) has all."] if more > 0 else []
    lines += [_COLUMNS, *([_PROMISES, *_metric_lines()] if record.promising else [_WEIGHTS])]
    if record.experts:
        lines.append(
            f"\nTeam minus model, in points: {Figure.gain(gain)}; McNemar's p = {gain.p_value:.2g}.\n"
            f"The team is right where the model alone is wrong on {record.only_team_right} cases, "
            f"and wrong where it is right on {record.only_model_right}."
        )
    lines += _promise_lines(record.promises.total)
    if recorded != len(record.experts):
        lines.append(
            f"Only recorded answers can be used: on average {recorded:.1f} of {len(record.experts)} experts "
            "answered a case, and the team chose among those."
        )
        if not math.isnan(record.coverage_with_all):
            lines.append(
                f"So the model decides {percent(record.coverage)} here; it would decide "
                f"{percent(record.coverage_with_all)} if everybody could be asked, as in route."
            )
    lines += _way_lines(record)
    if record.panel is not None:
        lines += [f"\nPanels ({record.panel.target}). {record.panel.promise}\n", tables.panel(record.panel).text()]
    lines += [] if record.panel_note is None else [f"\n{record.panel_note}"]
    shown = tables.largest(record.class_counts)
    lines.append("\n" + tables.recall(record).only(range(4), shown).text())
    more = len(record.recall) - len(shown)
    lines += [f"... and {more} rarer classes; to_dict (--json) has all."] if more else []
    if record.cautions:
        lines.append("\n" + "\n".join(f"note: {sentence}" for sentence in record.cautions))
    return "\n".join(lines)


def _metric_lines() -> list[str]:
    """Return what each metric is."""
    named = ((word, line) for one in shown_metrics().values() for word, line in zip_longest([one.column], one.words))
    return [f"  {word or '':14}  {line}" for word, line in named]


def _promise_lines(total: PromiseRecord) -> list[str]:
    """Return the total promised beside what was kept; nothing where nothing was promised."""
    if total.verdict is None:
        return []
    verdict = "too few cases to tell" if total.verdict == "too few" else tables.VERDICTS[total.verdict]
    kept = Figure(total.kept.value, *total.interval).inline()
    return [
        f"Over all cases: promised {percent(total.promised)} (mean P(right) of the deciders), kept {kept}: {verdict}."
    ]


def _way_lines(record: Record) -> list[str]:
    """Return every way of asking beside the plain alternatives, also in money; nothing without experts."""
    if len(record.ways) < 3:
        return []
    fee = "the fees" if record.fees_given else "0.01 of an error for each question (no fee was given)"
    lines = [
        "\n" + tables.ways(record).text(),
        f"Cost: errors and {fee}, {'in units of one error' if record.costs is None else 'in your unit of money'}. "
        "Questions: answers heard per case.",
    ]
    if record.costs is not None:
        n_items, team = record.team.total, record.costs.team
        spent, errors, total = (money(one * n_items) for one in (team.spent, team.errors, team.cost))
        lines += [
            "\n" + tables.costs(record).text(),
            "In the unit of the fees and costs that were given (95 % intervals by Student's t, paired for savings). "
            f"For all {n_items} cases the team spends {spent} on questions and its errors cost {errors}: {total} in "
            "total.",
        ]
    return lines


def score_text(record: ScoreRecord) -> str:
    """Return the record of a team whose experts have only scores as text for a person."""
    return "\n\n".join([record.headline(), *(one.text() for one in score_sections(record, {}))])
