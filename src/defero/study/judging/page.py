"""The report of an evaluation: one page to pass on, also with somebody absent or other fees."""

import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from defero.core.errors import Argument, InputError, Spelling
from defero.data.case_file import Table, TableSource
from defero.data.model_folder import library_versions
from defero.data.tables.write import write_whole
from defero.metrics.record.scenario import Scenario
from defero.router.costs.what_if import team_way, team_way_within
from defero.study.judging.evaluation import Evaluation, other_terms

if TYPE_CHECKING:
    from defero.report.provenance import Provenance

PAGES = (".html", ".htm")


def check_page(out: Path, *, model: Path | None, tables: tuple[Table | None, ...] = ()) -> None:
    """Raise before any work where the page cannot be written, or would replace what it is made of."""
    named = Argument("out", str(out))
    if out.is_dir():
        raise InputError(named, f": is a folder; name a file in it, such as {out / 'report.html'}.")
    if not out.resolve().parent.is_dir():
        raise InputError(named, f": the folder {out.resolve().parent} does not exist; make it first.")
    if not os.access(out.resolve().parent, os.W_OK | os.X_OK):
        raise InputError(named, f": no permission to write in {out.resolve().parent}; choose another folder.")
    for table, what in zip(tables, ("the table of cases", "the log of answers"), strict=False):
        path = None if table is None else TableSource.of(table).path
        if path is not None and out.exists() and path.exists() and out.samefile(path):
            raise InputError(named, f": is {what} itself; choose another name.")
    if model is not None and out.resolve().parent == model.resolve():
        raise InputError(named, ": lies in the model's folder, which stays as it is; choose another folder.")
    if out.suffix.lower() not in PAGES:
        raise InputError(
            named,
            f": the page is HTML; name it {out.with_suffix('.html').name}. For a PDF open it in a browser and print "
            "it there.",
        )


def write_page(evaluation: Evaluation, out: Path, *, command: str, spell: Spelling = str) -> None:
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
    from defero.report.page import report_page
    from defero.report.provenance import Evidence

    evidence = Evidence(
        expert_sd=evaluation.expert_sd,
        min_answers=evaluation.router.min_answers,
        scenarios=what_if(evaluation),
        groups=evaluation.groups,
        panels_void=_capitalized(other_terms(evaluation.router, evaluation.terms, evaluation.absent)),
    )
    provenance = _provenance(evaluation, command=command, spell=spell)
    page = report_page(evaluation.trial, evaluation.record, provenance, evidence=evidence)
    try:
        write_whole(out, page.encode("utf-8"))
    except InputError as error:
        raise InputError(Argument("out"), f" {error}") from error


def _capitalized(sentences: tuple[str, ...]) -> str:
    """Return the sentences as a paragraph.

    >>> _capitalized(("the panels were found elsewhere.",))
    'The panels were found elsewhere.'
    """
    return " ".join(one[:1].upper() + one[1:] for one in sentences)


def _provenance(evaluation: Evaluation, *, command: str, spell: Spelling) -> "Provenance":
    from defero.report.provenance import Provenance

    calibrator, answering = evaluation.router.calibrator, evaluation.router.facts.answering
    return Provenance(
        model=evaluation.model,
        table=evaluation.table,
        rows=evaluation.rows,
        left_out=evaluation.seen_by_fit + evaluation.of_seen_groups,
        seed=evaluation.random_state,
        fingerprint=evaluation.fingerprint(),
        command=command,
        made=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        versions=library_versions(),
        settings=evaluation.router.facts.settings(),
        calibration=() if calibrator is None else tuple(calibrator.describe(evaluation.router.expert_names)),
        answering=() if answering is None else tuple(one.message(spell) for one in answering.sentences),
    )


MOST_ABSENT = 3
"""Of so many experts who are asked most it is tried what their absence does."""


def what_if(evaluation: Evaluation) -> tuple[Scenario, ...]:
    """Return the team as it is, without each of those who are asked most, with twice the fees, and with half the money.

    Half the money is half of what the team spends on questions as it is.
    """
    router, trial, terms = evaluation.router, evaluation.trial, evaluation.terms
    if not router.expert_names or not len(trial):
        return ()
    features = router.features(evaluation.cases.features)
    before = evaluation.available
    present = np.ones(len(router.expert_names), dtype=np.bool_) if before is None else before
    own = trial.way or next(one for one in trial.ways if one.name == "one")
    scenarios = [Scenario.of("as it is", own)]
    order = np.argsort(-trial.decision.load, kind="stable")
    for j in [int(j) for j in order[:MOST_ABSENT] if trial.decision.load[j]]:
        available = present & (np.arange(len(present)) != j)
        way = team_way(router, features, trial, terms, available=available)
        scenarios.append(Scenario.of(f"without {router.expert_names[j]}", way))
    if terms.fees is not None:
        dearer = replace(terms, fees=2 * terms.fees)
        scenarios.append(Scenario.of("fees doubled", team_way(router, features, trial, dearer, available=before)))
        half = float(own.fees.sum()) / 2
        if half > 0:
            way = team_way_within(router, features, trial, terms, available=before, budget=half)
            scenarios.append(Scenario.of("half the budget", way))
    return tuple(scenarios)
