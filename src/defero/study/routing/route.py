"""Who should decide each case of a file; tables are read, decided and written piece by piece."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import BoolArray
from defero.core.checks.options import one_of
from defero.core.errors import Argument, InputError, Message
from defero.core.labels import MISSING
from defero.core.results import Decision
from defero.core.scores import Scores
from defero.core.trial import ASK
from defero.decide.terms import LIMITS, TeamTerms, Terms, check_terms
from defero.study.bad_rows import are_skipped
from defero.study.money import on_cases, terms_of_study
from defero.study.routing.arrivals import Arrivals, arrivals_of, own_key
from defero.study.routing.decisions import Columns, decision_columns
from defero.study.routing.file_plan import SETTLED, AnswersSoFar, FilePlan, answers_so_far
from defero.study.routing.identity import run_identity
from defero.study.routing.limits import assign_file
from defero.study.routing.repeated_keys import repeated_sentence
from defero.study.routing.routed import Routing
from defero.study.routing.sinks import sink_to
from defero.study.team_cases import Reading, with_folder
from defero.team import Team
from defero.team.asking import model_answer
from defero.team.deciding import UNUSUAL, decide_scored, sets_of
from defero.team.judge import terms_of
from defero.team.panel import with_decider
from defero.team.scoring import sd_of_features
from defero.team.storage import router_files


@dataclass(frozen=True)
class _Options:
    """On what terms, in what way cases are settled, standard deviations or not, and unusual cases."""

    terms: TeamTerms
    ask: str
    uncertainty: bool
    ask_unusual: bool


def route_cases(
    team: Team,
    reading: Reading,
    out: Path | None,
    *,
    model: str,
    terms: Terms | None,
    ask: str | None,
    uncertainty: bool,
    unusual: str,
    progress: Callable[[int], None] | None,
    bad_rows: str,
) -> Routing:
    """Decide the cases of a file; the arguments are those of `Study.route`."""
    team = with_folder(team, reading)
    if team.recipe is None:
        raise InputError(f"{model}: was fitted on a matrix, not on a table; call its decide in Python.")
    _check_files(reading, out)
    one_of("unusual", unusual, UNUSUAL)
    own = terms_of_study(check_terms(terms, unused=("available", "prices")), team)
    ask = _ask(team, ask, answers=reading.answers is not None, limited=own.limited)
    way = _Options(own, ask, uncertainty, ask_unusual=unusual == "ask")
    skip = are_skipped(bad_rows)
    arrive = partial(arrivals_of, team, reading, out, terms=own, skip=skip)
    plan = _plan(team, reading, arrive, way)
    arrivals = arrive()
    routing, key = Routing(out, team.expert_names), None
    identity = _identity(team, reading, way, bad_rows)
    kind: dict[str, Any] = {"file_format": arrivals.format, "cases": arrivals.cases, "identity": identity}
    with sink_to(out, routing, arrivals.bad, **kind) as sink:
        for piece in arrivals.good():
            key = own_key(piece, arrivals, key=reading.said.key)
            columns = _decided(team, piece, arrivals, way=way, key=key, routing=routing, plan=plan)
            sink.put(columns, None if key is None else piece[key])
            if progress is not None:
                progress(routing.rows)
    useless = None if team.panel is None else team.panel.useless_sentence()
    voided = _voided(team, own, plan) if useless is None else [useless]
    routing.cautions = (
        *repeated_sentence(key, sink.n_repeated()),
        *_unusual_sentence(team, routing, way, can_be_asked=plan is None),
        *_of_panels(routing, way),
        *voided,
        *_no_doubt(team, routing, way),
        *([] if plan is None else plan.cautions),
        *_default_fee(way, plan),
        *([] if own.columns else own.unpayable()),
        *own.notes(),
    )
    routing.promise_holds = team.panel is not None and not team.panel.stratified and not voided
    return routing


def _check_files(reading: Reading, out: Path | None) -> None:
    """Refuse decisions that would replace the cases, and spellings of answers where there are none."""
    path = reading.source.path
    if out is not None and path is not None and out.exists() and path.exists() and out.samefile(path):
        raise InputError(Argument("out", str(out)), ": is the table of cases itself; choose another name.")
    if out is not None and path is not None and path.is_dir() and path.resolve() in out.resolve().parents:
        raise InputError(Argument("out", str(out)), ": is inside the folder of the cases; choose another folder.")
    if reading.answers is None and reading.said.rename:
        raise InputError(
            Argument("rename"),
            ": is about the answers so far, and there are none; leave it out, or pass ",
            Argument("answers"),
            ".",
        )


def _identity(team: Team, reading: Reading, way: _Options, bad_rows: str) -> dict[str, Any] | None:
    """Return what tells this run from others; None where a frame is routed, or nobody can tell two models apart."""
    if reading.source.path is None or not reading.source.path.exists():
        return None
    try:
        model = router_files(team)
    except InputError:  # a function of somebody's, for example
        return None
    terms = way.terms
    options = {
        "reading": [reading.said, reading.images, reading.source.inside],
        "fees": [terms.fees, terms.columns, terms.costs.matrix, terms.costs_given, terms.available],
        "way": [way.ask, way.uncertainty, way.ask_unusual],
        "limits": [getattr(terms, name) for name in LIMITS],
        "bad_rows": bad_rows,
    }
    return run_identity(model, dict(zip(("table", "answers"), reading.given, strict=True)), options)


def _plan(team: Team, reading: Reading, arrive: Callable[[], Arrivals], way: _Options) -> FilePlan | None:
    """Settle what needs the whole file, in a first pass over it; None where every case stands for itself."""
    in_turn, terms = way.ask == "sequential", way.terms
    if not terms.limited and not in_turn:
        return None
    if way.ask_unusual:
        raise InputError(
            Argument("unusual", "ask"),
            " gives cases to experts whatever it costs: not with limits, answers so far or ",
            Argument("ask", "sequential"),
            ".",
        )
    if terms.budget is not None and terms.free:
        raise InputError("needs ", Argument("fees"), ": what each question costs.", argument="budget")
    arrivals = arrive()
    where: dict[str, Any] = {"source": arrivals.source, "first_row": arrivals.first_row}
    so_far = None
    if reading.answers is not None:
        so_far = _so_far(team, reading, arrivals)
        arrivals = arrive()
    elif in_turn and terms.limited:
        n_cases = sum(map(len, arrivals.good()))
        so_far = AnswersSoFar(np.full((n_cases, len(team.expert_names)), MISSING))
        arrivals = arrive()
    if not terms.limited:
        return FilePlan(so_far=so_far)
    answer_idx = None if so_far is None else so_far.answer_idx
    return FilePlan(assign_file(team, arrivals.good(), terms, answer_idx=answer_idx, **where), so_far)


def _so_far(team: Team, reading: Reading, arrivals: Arrivals) -> AnswersSoFar:
    """Return the answers so far to the rows that can be used; an answer to another row of the file is no error."""
    good: list[BoolArray] = []

    def pieces() -> Iterator[pd.DataFrame]:
        for piece in arrivals.read(0):
            good.append(arrivals.bad.keep(piece))
            yield piece

    key = reading.said.key or arrivals.key
    where: dict[str, Any] = {"source": arrivals.source, "first_row": arrivals.first_row}
    so_far = answers_so_far(team, list(pieces()) if key is None else pieces(), reading, key=key, **where)
    return replace(so_far, answer_idx=so_far.answer_idx[np.concatenate(good)])


def _ask(team: Team, ask: str | None, *, answers: bool, limited: bool) -> str:
    """Return how cases are settled: by one expert, or in turn where there are answers so far, unless said."""
    if ask is None:
        return "sequential" if answers else "one"
    one_of("ask", ask, ASK)
    if answers and ask != "sequential":
        raise InputError(
            Argument("ask", ask),
            ": with ",
            Argument("answers"),
            " cases are asked about one after the other; leave it out.",
        )
    if ask != "panel":
        return ask
    if team.panel is None or team.panel.stratified or team.panel.useless:
        why = None if team.panel is None else team.panel.useless_sentence()
        raise InputError(Argument("ask", ask), f": {why or 'this team has no panels that a file can be routed to'}.")
    if limited:
        raise InputError(Argument("ask", ask), ": limits are for single questions; leave one of them out.")
    return ask


def _default_fee(way: _Options, plan: FilePlan | None) -> list[str]:
    """Say what a question costs where cases are asked about one after the other and no fee was given."""
    if way.ask != "sequential" or not way.terms.free or (plan is not None and plan.assignment is not None):
        return []
    return [Message("a question costs 0.01 of an error; ", Argument("fees"), " sets what it costs.")]


def _decided(
    team: Team,
    piece: pd.DataFrame,
    arrivals: Arrivals,
    *,
    way: _Options,
    key: str | None,
    routing: Routing,
    plan: FilePlan | None,
) -> Columns:
    """Decide the cases of a piece; return the columns of the table of decisions."""
    assert team.recipe is not None
    features, scores, unusual = team.scored(piece, source=arrivals.source, first_row=arrivals.first_row)
    terms = on_cases(way.terms, piece, source=arrivals.source, first_row=arrivals.first_row)
    decision = decide_scored(team, features, scores, terms, unusual=unusual, ask_unusual=way.ask_unusual)
    start = routing.rows
    panels = _panels(team, scores, decision, terms) if plan is None else None
    sd = sd_of_features(team, features) if way.uncertainty else None
    routing.any_doubt |= sd is not None and bool((sd == sd).any())
    columns = decision_columns(
        scores,
        decision,
        panels,
        team.classes,
        sd=sd,
        model_idx=model_answer(scores, terms)[0],
        ask_panel=way.ask == "panel",
    )
    expert, n_settled = decision.expert, 0
    if plan is not None:
        paid = terms if terms.fees is None or terms.fees.any() else replace(terms, fees=None)
        steps = plan.steps(slice(start, start + len(scores)), team, features, scores, paid)
        columns, expert = steps.columns(columns, team.expert_names), steps.ask
        n_settled = int(steps.settled.sum())
    n_each = np.bincount(expert + 1, minlength=len(team.expert_names) + 1).tolist()
    routing.load.update(dict(zip(("model", *team.expert_names), n_each, strict=True)))
    if plan is not None and plan.so_far is not None:
        routing.load.subtract({"model": n_settled, SETTLED: -n_settled})
    routing.unusual += 0 if unusual is None else int((unusual != "").sum())
    routing.remarks.update(team.recipe.remarks(piece))
    routing.ignored_columns = tuple(name for name in arrivals.extra(team, piece) if name != key)
    return {"case": piece[key].tolist() if key else np.asarray(piece.index + arrivals.first_row), **columns}


def _panels(team: Team, scores: Scores, decision: Decision, terms: TeamTerms) -> BoolArray | None:
    """Return who is on each panel, (n, J): nobody where panels are useless; None where there are none."""
    if team.panel is None or (team.panel.stratified and not team.panel.useless):
        return None
    if team.panel.useless:
        return np.zeros((len(scores), scores.n_experts), dtype=np.bool_)
    with warnings.catch_warnings():  # what voids the promise is told once, in the cautions
        warnings.filterwarnings("ignore", "the panel's promise does not hold")
        sets = sets_of(team, scores, terms)
    return with_decider(sets, decision)


def _of_panels(routing: Routing, way: _Options) -> list[str]:
    """Say that a case of a panel is counted once, for the expert who is asked first."""
    if way.ask != "panel" or not (routing.rows - routing.load["model"]):
        return []
    return ["a case that a panel decides is counted for its first expert alone; the column ask names the whole panel."]


def _unusual_sentence(team: Team, routing: Routing, way: _Options, *, can_be_asked: bool) -> list[str]:
    """Say how many cases are unusual, what became of them, and how they are given to a person if they can be."""
    if not routing.unusual:
        return []
    cases, them = ("1 case is", "it") if routing.unusual == 1 else (f"{routing.unusual} cases are", "them")
    if not way.ask_unusual:
        ask = (
            ("; ", Argument("unusual", "ask"), f" gives {them} to a person.")
            if team.expert_names and can_be_asked
            else (".",)
        )
        return [Message(f"{cases} unlike those that were learned from: see the column unusual", *ask)]
    promised = team.panel is not None and not team.panel.stratified
    void = ", without a panel's promise where the model would have decided" if promised else ""
    return [f"{cases} unlike those that were learned from and given to a person if one can be asked{void}."]


def _voided(team: Team, now: TeamTerms, plan: FilePlan | None) -> list[str]:
    """Say that the panels were calibrated for other fees or other experts, and what to do."""
    if team.panel is None or team.panel.stratified:
        return []
    if plan is not None:
        if plan.assignment is None and plan.so_far is None:
            return []  # panels were not asked for
        what = "answers so far" if plan.assignment is None else "limits"
        return [f"the panels' promise does not hold with {what}: no panels are used."]
    before, everybody = terms_of(team), (True,) * len(team.expert_names)
    there = everybody if now.available is None else now.available.tolist()
    why: list[object] = []
    if now.columns:
        why += [" and ", "fees that differ from case to case"]
    elif not now.same_as(before) and now.costs.matrix.tolist() == before.costs.matrix.tolist():
        fees = [0.0] * len(team.expert_names) if now.fees is None else now.fees.tolist()
        paid = {name: fee for name, fee in zip(team.expert_names, fees, strict=True) if fee}
        how = ("with ", Argument("fees", paid)) if paid else ("without ", Argument("fees"))
        why += [" and ", "other fees than in fit (fit ", *how, " for panels that keep it)"]
    elif not now.same_as(before):
        why += [" and ", "other costs of errors than in fit (fit with them for panels that keep it)"]
    if any(was and not still for was, still in zip(team.panel.available or everybody, there, strict=True)):
        why += [" and ", "absent experts (fit without them for panels that keep it)"]
    return [Message("the panels' promise does not hold with ", *why[1:], ".")] if why else []


def _no_doubt(team: Team, routing: Routing, way: _Options) -> list[str]:
    """Say that there are no standard deviations, where they were asked for."""
    if not way.uncertainty or routing.any_doubt or not team.expert_names:
        return []
    return [
        Message("no standard deviations: this model has no shrunk heads; fit with ", Argument("heads", "shrunk"), ".")
    ]
