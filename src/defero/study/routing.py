"""Who should decide each case of a file; tables are read, decided and written piece by piece."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import BoolArray
from defero.core.checks.options import one_of
from defero.core.errors import Argument, InputError, Message
from defero.core.results import Decision
from defero.core.scores import Scores
from defero.core.wording import count_of, join_names
from defero.data.case_file import TableSource, no_question
from defero.data.exports.export import EXPORTS, TABLE, OpenCases, takes_control, writes
from defero.data.exports.label_studio_results import Control
from defero.data.recipes.recipe import remark_sentences
from defero.data.tables.cells import no_such_column
from defero.data.tables.read import read_chunks, read_frame
from defero.decisions.terms import Terms
from defero.router import Router
from defero.router.costs.under_terms import decide_under, model_labels
from defero.router.deciding import UNUSUAL
from defero.router.judge import terms_of
from defero.router.panel import with_decider
from defero.study.absent import available_without
from defero.study.decisions import Columns, RepeatedKeys, decision_columns, decisions_to, is_tasks
from defero.study.file_plan import SETTLED, FilePlan
from defero.study.limits import FileLimits, assign_file
from defero.study.money.given import Money, TeamTerms
from defero.study.reading import format_of
from defero.study.rounds import answers_so_far
from defero.study.team_cases import Reading, with_folder


@dataclass(eq=False, repr=False)
class Routing:
    """What was decided for the cases of a file.

    Attributes
    ----------
    out : Path or None
        The file of decisions.
    expert_names : J names
    load : Counter
        How many cases the model and each expert get; "settled": how many are settled by the answers so far.
    remarks : Counter
        Clauses on blank or unknown cells, with the number of rows.
    ignored_columns : names
        Columns that the team does not know.
    unusual : int
        How many cases are unlike those that were learned from.
    cautions : sentences
    promise_holds : bool
        Whether the panels keep what they promised in `fit`.
    any_doubt : bool
        Whether some probability has a standard deviation.
    decisions : DataFrame, optional
        The decisions, where there is no file.
    """

    out: Path | None
    expert_names: tuple[str, ...]
    load: Counter[str] = field(default_factory=Counter)
    remarks: Counter[str] = field(default_factory=Counter)
    ignored_columns: tuple[str, ...] = ()
    unusual: int = 0
    cautions: tuple[str, ...] = ()
    promise_holds: bool = False
    any_doubt: bool = False
    decisions: pd.DataFrame | None = field(default=None, repr=False)

    def to_frame(self) -> pd.DataFrame:
        """Return the decisions, a row for each case; those in a file are read from it."""
        if self.decisions is not None:
            return self.decisions
        return read_frame(str(self.out))

    def __repr__(self) -> str:
        where = "" if self.out is None else f" in {self.out}"
        shown = [f"{name} {count}" for name, count in self.load.most_common()]
        return f"Routing: {count_of(self.rows, 'decision')}{where} ({join_names(shown, most=6)}); to_frame() has them."

    @property
    def rows(self) -> int:
        """How many cases were decided."""
        return self.load.total()

    @property
    def deciders(self) -> tuple[str, ...]:
        """The model, the answers so far if there are any ("settled"), and the experts."""
        return ("model", *([SETTLED] if SETTLED in self.load else []), *self.expert_names)

    @property
    def notes(self) -> list[str]:
        """Everything a reader should know, a sentence each."""
        columns = ", ".join(self.ignored_columns)
        ignored = [f"columns that the model does not know are ignored: {columns}."] if columns else []
        return [*ignored, *remark_sentences(self.remarks), *self.cautions]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: what `defero route --json` prints."""
        return {
            "decisions": None if self.out is None else str(self.out),
            "promise_holds": self.promise_holds,
            "rows": self.rows,
            "load": {name: self.load[name] for name in self.deciders},
            "unusual": self.unusual,
            "ignored_columns": list(self.ignored_columns),
            "notes": dict(self.remarks),
            "cautions": list(self.cautions),
        }


@dataclass(frozen=True, eq=False)
class _Arrivals:
    """Cases to be decided: pieces of a table, and of an export the tasks and their question."""

    pieces: Iterator[pd.DataFrame]
    source: str
    first_row: int
    key: str | None
    format: str = TABLE
    cases: OpenCases | None = None


@dataclass(frozen=True)
class _Terms:
    """Fees and costs, who is there (J,), whether probabilities get a standard deviation and unusual cases an expert."""

    money: TeamTerms
    available: list[bool]
    uncertainty: bool
    ask_unusual: bool


def route_cases(
    router: Router,
    reading: Reading,
    out: Path | None,
    *,
    model: str,
    money: Money,
    absent: Sequence[str],
    uncertainty: bool,
    unusual: str,
    progress: Callable[[int], None] | None,
    limits: FileLimits,
) -> Routing:
    """Decide the cases of a file; the arguments are those of `Study.route`."""
    router = with_folder(router, reading)
    if router.recipe is None:
        raise InputError(f"{model}: was fitted on a matrix, not on a table; call its decide in Python.")
    path = reading.source.path
    if out is not None and path is not None and out.exists() and path.exists() and out.samefile(path):
        raise InputError(Argument("out", str(out)), ": is the table of cases itself; choose another name.")
    one_of("unusual", unusual, UNUSUAL)
    if reading.answers is None and reading.spellings:
        raise InputError(
            Argument("rename" if reading.rename else "blank"),
            ": is about the answers so far, and there are none; leave it out, or pass ",
            Argument("answers"),
            ".",
        )
    terms = replace(_terms(router, money, absent, uncertainty=uncertainty), ask_unusual=unusual == "ask")
    plan = _plan(router, reading, out, terms=terms, limits=limits)
    arrivals = _arrivals(router, reading, out)
    routing, repeated, key = Routing(out, router.expert_names), RepeatedKeys(), None
    decided: list[pd.DataFrame] = []
    with decisions_to(out, decided, file_format=arrivals.format, cases=arrivals.cases) as write:
        for piece in arrivals.pieces:
            key = _own_key(piece, arrivals, key=reading.key)
            if key is not None:
                repeated.add(piece[key])
            write(_decided(router, piece, arrivals, terms=terms, key=key, routing=routing, plan=plan))
            if progress is not None:
                progress(routing.rows)
    useless = None if router.panel is None else router.panel.useless_sentence()
    voided = _voided(router, terms, plan) if useless is None else [useless]
    routing.cautions = (
        *repeated.sentence(key),
        *_unusual_sentence(router, routing, terms),
        *voided,
        *_no_doubt(router, routing, terms),
        *([] if plan is None else plan.cautions),
        *terms.money.notes,
    )
    routing.promise_holds = router.panel is not None and not router.panel.stratified and not voided
    if out is None:
        routing.decisions = pd.concat(decided, ignore_index=True)
    return routing


def _plan(router: Router, reading: Reading, out: Path | None, *, terms: _Terms, limits: FileLimits) -> FilePlan | None:
    """Settle what needs the whole file, in a first pass over it; None where every case stands for itself."""
    if not limits.given and reading.answers is None:
        return None
    if terms.ask_unusual:
        raise InputError(
            Argument("unusual", "ask"), " gives cases to experts whatever it costs: not with limits or answers so far."
        )
    if limits.budget is not None and terms.money.free:
        raise InputError("needs ", Argument("fees"), ": what each question costs.", argument="budget")
    arrivals = _arrivals(router, reading, out)
    where: dict[str, Any] = {"source": arrivals.source, "first_row": arrivals.first_row}
    so_far = None
    if reading.answers is not None:
        pieces = list(arrivals.pieces) if reading.key is None and arrivals.key is None else arrivals.pieces
        so_far = answers_so_far(router, pieces, reading, key=reading.key or arrivals.key, **where)
        arrivals = _arrivals(router, reading, out)
    if not limits.given:
        return FilePlan(so_far=so_far)
    answer_idx = None if so_far is None else so_far.answer_idx
    batch = assign_file(
        router,
        arrivals.pieces,
        limits,
        money=terms.money,
        available=terms.available,
        answer_idx=answer_idx,
        **where,
    )
    return FilePlan(batch, so_far)


def _terms(router: Router, money: Money, absent: Sequence[str], *, uncertainty: bool) -> _Terms:
    own = money.of_team(router.expert_names, router.classes, before=terms_of(router))
    return _Terms(own, available_without(absent, router.expert_names), uncertainty, ask_unusual=False)


def _arrivals(router: Router, reading: Reading, out: Path | None) -> _Arrivals:
    assert router.recipe is not None
    source, facts, key, control = reading.source, router.facts, reading.key, reading.control
    kind = format_of(source, reading.format, remembered=facts.format)
    if control is not None and not takes_control(kind):
        raise no_question(control, source.name, kind)
    if out is not None and is_tasks(out) and not writes(kind, out):
        raise InputError(
            Argument("out", str(out)),
            ": only the tasks of a Label Studio export are written as .json; for a table of decisions name it "
            f"{out.name.split('.')[0]}.csv.",
        )
    if kind == TABLE:
        texts = [*router.recipe.categorical, *(name for name in (key or facts.key,) if name is not None)]
        return _Arrivals(_pieces(source, texts), source.name, source.first_row, facts.key)
    if source.path is None:
        raise InputError(f"{source.name}: is a DataFrame; the export of a tool is a file, so pass its path.")
    known = facts.control
    asked = None if control is not None or known is None else Control(known.from_name, known.to_name, known.kind)
    cases = EXPORTS.find(kind).read_open(
        source.path, key=key, control=control, known_key=facts.key, known_control=asked
    )
    if out is not None and writes(kind, out) and takes_control(kind) and cases.control is None:
        raise InputError(
            f"{source.name}: nothing tells which question the model answers; no task has an answer, and the model was "
            "not fitted on an export. Write a table of decisions instead, such as ",
            Argument("out", "decisions.csv"),
            ".",
        )
    return _Arrivals(iter([cases.items]), source.name, 1, cases.key, kind, cases)


def _pieces(source: TableSource, as_text: list[str]) -> Iterator[pd.DataFrame]:
    return iter([source.read(as_text=[])]) if source.path is None else read_chunks(source.path, as_text=as_text)


def _own_key(piece: pd.DataFrame, arrivals: _Arrivals, *, key: str | None) -> str | None:
    """Return the column to copy; the one that `fit` had need not be there."""
    names = list(map(str, piece.columns))
    if key is not None and key not in names:
        raise no_such_column(key, names, source=arrivals.source, role="the key")
    chosen = key or arrivals.key
    return chosen if chosen in names else None


def _decided(
    router: Router,
    piece: pd.DataFrame,
    arrivals: _Arrivals,
    *,
    terms: _Terms,
    key: str | None,
    routing: Routing,
    plan: FilePlan | None,
) -> Columns:
    """Decide the cases of a piece; return the columns of the table of decisions."""
    assert router.recipe is not None
    features = router.features(piece, source=arrivals.source, first_row=arrivals.first_row)
    scores = router.score_features(features)
    unusual = router.unusual(features)
    money = terms.money.on(piece, source=arrivals.source, first_row=arrivals.first_row)
    decision = decide_under(
        router,
        features,
        scores,
        money,
        available=terms.available,
        unusual=unusual,
        ask_unusual=terms.ask_unusual,
    )
    start = routing.rows
    panels = _panels(router, scores, decision, money, available=terms.available) if plan is None else None
    sd = router.sd_of_features(features) if terms.uncertainty else None
    routing.any_doubt |= sd is not None and bool((sd == sd).any())
    columns = decision_columns(scores, decision, panels, router.classes, sd=sd, model_idx=model_labels(scores, money))
    expert, n_settled = decision.expert, 0
    if plan is not None:
        rows, matrix = slice(start, start + len(scores)), money.costs.matrix
        fees = None if money.fees is None or not money.fees.any() else money.fees
        steps = plan.steps(rows, router, features, scores, fees=fees, cost_matrix=matrix, available=terms.available)
        columns, expert = steps.columns(columns, router.expert_names), steps.ask
        n_settled = int(steps.settled.sum())
    if key in columns:
        raise InputError(
            Argument("key", key), ": the decisions have a column of that name of their own; rename the key."
        )
    asked = np.bincount(expert + 1, minlength=len(router.expert_names) + 1).tolist()
    routing.load.update(dict(zip(("model", *router.expert_names), asked, strict=True)))
    if plan is not None and plan.so_far is not None:
        routing.load.subtract({"model": n_settled, SETTLED: -n_settled})
    routing.unusual += int((decision.unusual != "").sum())
    routing.remarks.update(router.recipe.remarks(piece))
    facts = router.facts
    ours = {facts.label, facts.key, facts.groups, facts.time, facts.split, key, *router.expert_names}
    routing.ignored_columns = tuple(name for name in router.recipe.extra(piece) if name not in ours)
    first = {key: piece[key].tolist()} if key else {"row": np.asarray(piece.index + arrivals.first_row)}
    return {**first, **columns}


def _panels(
    router: Router, scores: Scores, decision: Decision, money: Terms, *, available: list[bool]
) -> BoolArray | None:
    """Return who is on each panel, (n, J): nobody where panels are useless; None where there are none."""
    if router.panel is None or (router.panel.stratified and not router.panel.useless):
        return None
    if router.panel.useless:
        return np.zeros((len(scores), scores.n_experts), dtype=np.bool_)
    with warnings.catch_warnings():  # what voids the promise is told once, in the cautions
        warnings.filterwarnings("ignore", "the panel's promise does not hold")
        sets = router.sets_of(scores, fees=money.fees_in_errors, available=available)
    return with_decider(sets, decision)


def _unusual_sentence(router: Router, routing: Routing, terms: _Terms) -> list[str]:
    """Say how many cases are unusual, and what became of them."""
    if not routing.unusual:
        return []
    cases, them = ("1 case is", "it") if routing.unusual == 1 else (f"{routing.unusual} cases are", "them")
    if not terms.ask_unusual:
        ask = ("; ", Argument("unusual", "ask"), f" gives {them} to a person.") if router.expert_names else (".",)
        return [Message(f"{cases} unlike those that were learned from: see the column unusual", *ask)]
    promised = router.panel is not None and not router.panel.stratified
    void = ", without a panel's promise where the model would have decided" if promised else ""
    return [f"{cases} unlike those that were learned from and given to a person if one can be asked{void}."]


def _voided(router: Router, terms: _Terms, plan: FilePlan | None) -> list[str]:
    """Say that the panels were calibrated for other fees or other experts, and what to do."""
    if router.panel is None or router.panel.stratified:
        return []
    if plan is not None:
        what = "limits" if plan.so_far is None else "answers so far"
        return [f"the panels' promise does not hold with {what}: no panels are used."]
    before, now = router.panel.terms, terms.money.terms
    present = router.panel.available or (True,) * len(terms.available)
    why: list[object] = []
    if terms.money.columns:
        why += [" and ", "fees that differ from case to case"]
    elif not now.same_as(before) and now.costs.matrix.tolist() == before.costs.matrix.tolist():
        fees = [0.0] * len(router.expert_names) if now.fees is None else now.fees.tolist()
        paid = {name: fee for name, fee in zip(router.expert_names, fees, strict=True) if fee}
        how = ("with ", Argument("fees", paid)) if paid else ("without ", Argument("fees"))
        why += [" and ", "other fees than in fit (fit ", *how, " for panels that keep it)"]
    elif not now.same_as(before):
        why += [" and ", "other costs of errors than in fit (fit with them for panels that keep it)"]
    if any(was and not now for was, now in zip(present, terms.available, strict=True)):
        why += [" and ", "absent experts (fit without them for panels that keep it)"]
    return [Message("the panels' promise does not hold with ", *why[1:], ".")] if why else []


def _no_doubt(router: Router, routing: Routing, terms: _Terms) -> list[str]:
    """Say that there are no standard deviations, where they were asked for."""
    if not terms.uncertainty or routing.any_doubt or not router.expert_names:
        return []
    return [
        Message("no standard deviations: this model has no shrunk heads; fit with ", Argument("heads", "shrunk"), ".")
    ]
