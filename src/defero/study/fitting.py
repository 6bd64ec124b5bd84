"""Fit a team on the four parts: train, check who answered what, calibrate, find panels, remember what was seen."""

from dataclasses import replace

from defero.core import ExpertTable
from defero.data.case_file import Cases
from defero.router import FitFacts, Router
from defero.router.facts import AnsweringFacts, ControlFacts
from defero.study.answering import answering_in
from defero.study.fresh_cases import seen_groups, seen_keys
from defero.study.notes import few_groups, notes_on
from defero.study.shared_answers import shared_in
from defero.study.training import FitChoices


def fit_team(
    cases: Cases,
    parts: tuple[ExpertTable, ...],
    choices: FitChoices,
    *,
    cuts: dict[str, str | None],
    fees: list[float],
    random_state: int,
    progress: bool,
) -> tuple[Router, list[str]]:
    """Return the team, and what looks like a mistake in its cases.

    Parameters
    ----------
    cases : Cases
    parts : four ExpertTable
        To learn from, to calibrate, to conformalise, for the test.
    choices : FitChoices
    cuts : mapping
        The columns of "groups", "time" and "split" that the cases are split by, or None.
    fees : (J,)
    random_state : int
    progress : bool
    """
    choices.check_reads(pictures=cases.pictures is not None)
    learn, groups = parts[0], None
    if cuts["groups"] is not None:
        groups = cases.apart.loc[learn.features.index, cuts["groups"]].astype(str).to_numpy()
    router, text_features = choices.train(learn, cases, groups=groups, random_state=random_state, progress=progress)
    answering = answering_in(learn, cases, router, text_features=text_features, groups=groups, weights=choices.weights)
    router = choices.finish(router, parts, fees=fees)
    seen = {
        **router.seen,
        **seen_groups(cases, parts[:3], groups=cuts["groups"]),
        **seen_keys(router, cases, parts[:3]),
    }
    facts = _facts(router.facts, cases, answering, cuts=cuts, random_state=random_state)
    team = replace(router, facts=facts, seen=seen)
    notes = [
        *cases.notes,
        *choices.without_effect(fees),
        *few_groups(cases, parts, groups=cuts["groups"]),
        *notes_on(cases, team),
    ]
    return team, notes


def _facts(
    facts: FitFacts,
    cases: Cases,
    answering: AnsweringFacts | None,
    *,
    cuts: dict[str, str | None],
    random_state: int,
) -> FitFacts:
    """Return what the team remembers of its table: how to read the next one, and what its labels are worth."""
    file, control = cases.file, cases.control
    log = {"item": file.item, "annotator": file.annotator, "answer": file.answer}
    return replace(
        facts,
        label=file.label,
        key=cases.key,
        random_state=random_state,
        format=file.format,
        log_columns=None if file.answers is None else {role: name for role, name in log.items() if name},
        majority_label=cases.n_majority > 0,
        control=None if control is None else ControlFacts(control.from_name, control.to_name, control.kind),
        answering=answering,
        shared_errors=shared_in(cases),
        groups=cuts["groups"],
        time=cuts["time"],
        split=cuts["split"],
    )
