"""Who should decide each case of a file; tables are read, decided and written piece by piece."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from defero.core.checks.arrays import BoolArray, one_of
from defero.core.errors import Argument, InputError, Message
from defero.core.labels import MISSING
from defero.core.results import Decision
from defero.core.scores import Scores
from defero.core.trial import ASK
from defero.core.wording import count_of
from defero.data.tables.bad_rows import are_skipped
from defero.decide.terms import TeamTerms, Terms, check_terms
from defero.study.money import need_labels, on_cases, terms_of_study
from defero.study.reading import Reading, with_folder
from defero.study.routing.arrivals import Arrivals, arrivals_of
from defero.study.routing.decisions import (
    SETTLED,
    Columns,
    KeyCount,
    Routing,
    decision_columns,
    decisions_to,
    score_columns,
    text_array,
)
from defero.study.routing.limits import FilePlan, answers_so_far, assign_file
from defero.team import Team
from defero.team.asking import model_answer
from defero.team.deciding import UNUSUAL, decide_scored
from defero.team.judge import terms_of
from defero.team.panel import with_decider
from defero.team.scoring import sd_of_features


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
    terms: Terms | None = None,
    ask: str | None = None,
    uncertainty: bool = False,
    unusual: str = "flag",
    progress: Callable[[int], None] | None = None,
    bad_rows: str = "stop",
) -> Routing:
    """Decide the cases of a file; the arguments are those of `Study.route`."""
    team = with_folder(team, reading)
    if team.recipe is None:
        raise InputError(f"{model}: was fitted on a matrix, not on a table; call its decide in Python.")
    _check_files(reading, out)
    one_of("unusual", unusual, UNUSUAL)
    said = check_terms(terms, unused=("available", "prices", "judge", "judge_price"))
    own, expected = terms_of_study(said, team, reading.source.columns() if team.scored_only else [])
    if team.scored_only:
        given = {"ask": ask, "uncertainty": uncertainty, "answers": reading.answers, "unusual": unusual == "ask"}
        need_labels(given | {"control": reading.said.control})
    ask = _ask(team, ask, answers=reading.answers is not None, limited=own.limited)
    way = _Options(own, ask, uncertainty, ask_unusual=unusual == "ask")
    arrive = partial(arrivals_of, team, reading, out, terms=own, skip=are_skipped(bad_rows))
    plan = _plan(team, reading, arrive, way)
    arrivals = arrive()
    routing, key, keys = Routing(out, team.expert_names), None, KeyCount()
    routing.otherwise = team.otherwise
    settled = [SETTLED] if plan and plan.answer_idx is not None else []
    routing.load.update(dict.fromkeys((team.otherwise, *settled, *team.expert_names), 0))
    with decisions_to(out, routing, arrivals.bad, file_format=arrivals.format, cases=arrivals.cases) as put:
        for piece in arrivals.good():
            key = arrivals.own_key(piece, key=reading.said.key)
            columns = _decided(team, piece, arrivals, way=way, plan=plan, start=routing.rows)
            routing.count(columns)
            routing.remarks.update(team.recipe.remarks(piece))
            routing.ignored_columns = tuple(name for name in arrivals.extra(team, piece) if name != key)
            put({"case": piece[key].tolist() if key else np.asarray(piece.index + arrivals.first_row), **columns})
            if key is not None:
                keys.add(piece[key])
            if progress is not None:
                progress(routing.rows)
    voided, rows = _voided(team, own, plan), count_of(n_repeated := keys.n_repeated(), "row")
    repeated = f"column {key}: {rows} with a key that an earlier row has too; each row has a decision."
    below = f"{routing.below_floor:,} of {count_of(routing.rows, 'item')}"
    routing.cautions = (
        *expected,
        *([repeated] if n_repeated else []),
        *_cautions(team, routing, way, plan, voided),
        *([] if own.columns else own.unpayable()),
        *([] if team.scored_only else own.notes()),
        *(
            [f"{below}: no P(right) reaches {own.floor:g}, so that the highest one was chosen."]
            if routing.below_floor
            else []
        ),
    )
    routing.promise_holds = team.panel is not None and not team.panel.stratified and not voided
    return routing


def _check_files(reading: Reading, out: Path | None) -> None:
    """Refuse decisions that would replace the cases, and spellings of answers where there are none."""
    path = reading.source.path
    if out is not None and path is not None and out.exists() and path.exists() and out.samefile(path):
        raise InputError(f"{Argument('out', str(out))}: is the table of cases itself; choose another name.")
    if out is not None and path is not None and path.is_dir() and path.resolve() in out.resolve().parents:
        raise InputError(f"{Argument('out', str(out))}: is inside the folder of the cases; choose another folder.")
    if reading.answers is None and reading.said.rename:
        raise InputError(
            f"{Argument('rename')}: is about the answers so far, and there are none; leave it out, or pass "
            f"{Argument('answers')}."
        )


def _plan(team: Team, reading: Reading, arrive: Callable[[], Arrivals], way: _Options) -> FilePlan | None:
    """Settle what needs the whole file, in a first pass over it; None where every case stands for itself."""
    in_turn, terms = way.ask == "sequential", way.terms
    if not terms.limited and not in_turn:
        return None
    if way.ask_unusual:
        raise InputError(
            f"{Argument('unusual', 'ask')} gives cases to experts whatever it costs: not with limits, answers so "
            f"far or {Argument('ask', 'sequential')}."
        )
    if terms.budget is not None and terms.free and team.prices is None:
        raise InputError(f"needs {Argument('fees')}: what each question costs.", argument="budget")
    answer_idx, notes = None, list[str]()
    if reading.answers is not None:
        answer_idx, notes = answers_so_far(team, arrive(), reading)
    elif in_turn and terms.limited:
        answer_idx = np.full((sum(map(len, arrive().good())), len(team.expert_names)), MISSING)
    if not terms.limited:
        return FilePlan(None, answer_idx, notes)
    return FilePlan(assign_file(team, arrive(), terms, answer_idx=answer_idx), answer_idx, notes)


def _ask(team: Team, ask: str | None, *, answers: bool, limited: bool) -> str:
    """Return how cases are settled: by one expert, or in turn where there are answers so far, unless said."""
    if ask is None:
        return "sequential" if answers else "one"
    one_of("ask", ask, ASK)
    if answers and ask != "sequential":
        raise InputError(
            f"{Argument('ask', ask)}: with {Argument('answers')} cases are asked about one after the other; leave "
            "it out."
        )
    if ask != "panel":
        return ask
    if team.panel is None or team.panel.stratified or team.panel.useless:
        why = None if team.panel is None else team.panel.useless_sentence()
        raise InputError(f"{Argument('ask', ask)}: {why or 'this team has no panels that a file can be routed to'}.")
    if limited:
        raise InputError(f"{Argument('ask', ask)}: limits are for single questions; leave one of them out.")
    return ask


def _decided(
    team: Team, piece: pd.DataFrame, arrivals: Arrivals, *, way: _Options, plan: FilePlan | None, start: int
) -> Columns:
    """Return the columns of the table of decisions for a piece; `start` is how many cases are before it."""
    features, scores, unusual = team.scored(piece, **arrivals.where)
    terms, rows = on_cases(way.terms, piece, **arrivals.where), slice(start, start + len(scores))
    if team.scored_only:
        if plan is not None and plan.assignment is not None:
            return plan.columns(rows, team, features, scores, terms)
        one = decide_scored(team, features, scores, terms, cases=piece)
        assert one.p_right is not None
        return score_columns(
            scores,
            team.expert_names,
            route=one.name,
            p_right=one.p_right,
            fee=np.zeros(len(one)) if one.fee is None else one.fee,
            expected_cost=one.expected_cost.round(6),
            reason=text_array(one.phrases()),
        )
    decision = decide_scored(team, features, scores, terms, unusual=unusual, ask_unusual=way.ask_unusual)
    columns = decision_columns(
        scores,
        decision,
        _panels(team, scores, decision, terms) if plan is None else None,
        team.classes,
        sd=sd_of_features(team, features) if way.uncertainty else None,
        model_idx=model_answer(scores, terms)[0],
        ask_panel=way.ask == "panel",
    )
    if plan is None:
        return columns
    paid = terms if terms.fees is None or terms.fees.any() else replace(terms, fees=None)
    return columns | plan.columns(rows, team, features, scores, paid)


def _panels(team: Team, scores: Scores, decision: Decision, terms: TeamTerms) -> BoolArray | None:
    """Return who is on each panel, (n, J): nobody where panels are useless; None where there are none."""
    if team.panel is None or (team.panel.stratified and not team.panel.useless):
        return None
    if team.panel.useless:
        return np.zeros((len(scores), scores.n_experts), dtype=np.bool_)
    return with_decider(team.panel.sets(scores, terms), decision)


def _cautions(team: Team, routing: Routing, way: _Options, plan: FilePlan | None, voided: list[str]) -> list[str]:
    """Say what a reader of the decisions should know: unusual cases, panels, limits and the log, what was not said."""
    sentences: list[str] = []
    unlike = f"{count_of(routing.unusual, 'case')} unlike those that were learned from"
    if routing.unusual and way.ask_unusual:
        promised = team.panel is not None and not team.panel.stratified
        void = ", without a panel's promise where the model would have decided" if promised else ""
        sentences.append(f"{unlike}: given to a person if one can be asked{void}.")
    elif routing.unusual:
        can = team.expert_names and plan is None
        ask = f"; {Argument('unusual', 'ask')} gives them to a person" if can else ""
        sentences.append(Message(f"{unlike}: see the column unusual{ask}."))
    if way.ask == "panel" and routing.rows > routing.load["model"]:
        sentences.append(
            "a case that a panel decides is counted for its first expert alone; the column ask names the whole panel."
        )
    sentences += voided
    if way.uncertainty and not routing.any_doubt and team.expert_names:
        sentences.append(
            Message(
                "no standard deviations: this model does not know its experts by their skill; fit with "
                f"{Argument('net', 'auto')}."
            )
        )
    sentences += [] if plan is None else plan.cautions
    if way.ask == "sequential" and way.terms.free and (plan is None or plan.assignment is None):
        sentences.append(Message(f"a question costs 0.01 of an error; {Argument('fees')} sets what it costs."))
    return sentences


def _voided(team: Team, now: TeamTerms, plan: FilePlan | None) -> list[str]:
    """Say that the panels were calibrated for other fees or other experts, and what to do."""
    if team.panel is not None and (useless := team.panel.useless_sentence()) is not None:
        return [useless]
    if team.panel is None or team.panel.stratified:
        return []
    if plan is not None:
        if plan.assignment is None and plan.answer_idx is None:
            return []  # panels were not asked for
        what = "answers so far" if plan.assignment is None else "limits"
        return [f"the panels' promise does not hold with {what}: no panels are used."]
    before, everybody, why = terms_of(team), (True,) * len(team.expert_names), list[str]()
    if now.columns:
        why.append("fees that differ from case to case")
    elif not now.same_as(before) and now.costs.matrix.tolist() == before.costs.matrix.tolist():
        fees = [0.0] * len(team.expert_names) if now.fees is None else now.fees.tolist()
        paid = {name: fee for name, fee in zip(team.expert_names, fees, strict=True) if fee}
        how = f"with {Argument('fees', paid)}" if paid else f"without {Argument('fees')}"
        why.append(f"other fees than in fit (fit {how} for panels that keep it)")
    elif not now.same_as(before):
        why.append("other costs of errors than in fit (fit with them for panels that keep it)")
    there = everybody if now.available is None else now.available.tolist()
    if any(was and not still for was, still in zip(team.panel.available or everybody, there, strict=True)):
        why.append("absent experts (fit without them for panels that keep it)")
    return [Message(f"the panels' promise does not hold with {' and '.join(why)}.")] if why else []
