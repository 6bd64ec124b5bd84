"""A fitted team at work: other cases are read, judged, reported and routed, and experts join."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from defero.core.errors import InputError
from defero.data.table_spec import SaidAgain
from defero.data.tables.read import Table
from defero.decide.terms import LIMITS, Terms, check_terms
from defero.study.judging.comparison import compare_teams, load_rival, within_limits
from defero.study.judging.evaluation import Evaluation, evaluate_cases
from defero.study.judging.fresh_cases import rows_are_checked
from defero.study.judging.groups import group_tables
from defero.study.judging.page import check_page, write_page
from defero.study.newcomer import Newcomer, describe_newcomer, join_team, with_new_panels
from defero.study.routing.decisions import Routing
from defero.study.routing.route import route_cases
from defero.study.team_cases import ReadAgain, Reading, TeamCases, read_for_team
from defero.team import Team
from defero.team.roster import check_name


class TeamAtWork:
    """What can be done with a fitted team; `Study` adds the cases that it is made of.

    Attributes
    ----------
    team : Team or None
    name : str
        What messages call the team: its folder, once it is saved.
    """

    team: Team | None
    name: str

    def read(self, table: Table, *, newcomer: str | None = None, **said: Unpack[ReadAgain]) -> TeamCases:
        """Read other cases for this team: whatever is not said here is as in the table of `fit`.

        Parameters
        ----------
        table : path or DataFrame
        newcomer : str, optional
            Read the answers of this person alone, for `add_expert`; `answer` is then their column in a wide table.
        **said
            label, answers, item, annotator, answer, key, majority_label, format, control, images, rename, blank : as in
            `read_cases`.
            bad_rows : "stop" or "skip", what to do where rows of the table cannot be used. "stop", the default: the
            error names all of them. "skip": the good rows are read, and <table>.bad-rows.csv lists the others.
            most_cases : of a table with more cases a random sample of so many is read, so that memory does not grow
            with the file; 200,000 by default.
            engine, workers, address : where the files of a folder of Parquet files are read, as in `route_folder`: the
            cases are the same. By default one after the other in this process.
        """
        return read_for_team(self._ready(), Reading.of(table, **said), model=self.name, newcomer=newcomer)

    def evaluate(
        self,
        table: Table | TeamCases | None = None,
        *,
        against: Sequence[str | PathLike[str]] = (),
        all_rows_new: bool = False,
        ask: str = "one",
        terms: Terms | None = None,
        by: Sequence[str] = (),
        random_state: int = 0,
        **said: Unpack[ReadAgain],
    ) -> Evaluation:
        """Judge the team on cases that it has not seen.

        Parameters
        ----------
        table : path, DataFrame or what `read` returned, optional
            Rows that the team has seen, or of a group that it has seen, are left out. By default the test part.
        against : paths
            Model folders of other teams to compare with, case by case, on the rows that no team saw.
        all_rows_new : bool
            You vouch that no row was used to fit the team. Needed only where nobody can check that: its folder has no
            fingerprints of rows, or was written with another key.
        ask : "one", "sequential" or "panel"
            How a case is settled, for the team's figures: one expert, whose answer is final; one after the other, as
            long as a question is worth its fee; a panel at once. All ways are in `record.ways`, whatever is chosen.
        terms : Terms, optional
            What questions and errors cost, by default as in `fit`; who is absent; and limits for all judged cases
            together: `limited` has the team under them. Only experts who answered a case can be asked about it, so
            that fewest questions may be out of reach. Fees may be "@column" for a price for each case.
        by : names
            Up to five columns of the table: `groups` has load, accuracy and recall by their values.
        random_state : int
            Of the intervals that are drawn.
        **said
            How the table is read, as in `read`.
        """
        self._ready()
        check_terms(terms, unused=("available", "prices"))
        if table is None:
            if against:
                raise InputError(": other teams may have seen the test part; pass a table.", argument="against")
            judged = self._evaluate_test(ask=ask, terms=terms, random_state=random_state)
            return replace(judged, groups=group_tables(judged, by), limited=within_limits(judged))
        read = table if isinstance(table, TeamCases) else self.read(table, **said)
        how: dict[str, Any] = {"all_rows_new": all_rows_new, "ask": ask, "random_state": random_state}
        judged = evaluate_cases(read, model=self.name, terms=terms, **how)
        notes = (*judged.notes, *rows_are_checked(read.team, all_rows_new=all_rows_new))
        judged = replace(judged, notes=notes, groups=group_tables(judged, by), limited=within_limits(judged))
        if not against:
            return judged
        others = [str(other) for other in against]
        load = partial(load_rival, beside=read.team)
        rivals = compare_teams(judged, read.reading, others, load=load, all_rows_new=all_rows_new, terms=terms)
        return replace(judged, against=rivals)

    def report(
        self,
        out: str | PathLike[str] = "report.html",
        table: Table | TeamCases | None = None,
        *,
        all_rows_new: bool = False,
        ask: str = "one",
        terms: Terms | None = None,
        by: Sequence[str] = (),
        random_state: int = 0,
        **said: Unpack[ReadAgain],
    ) -> Evaluation:
        """Judge the team as `evaluate` does, and write a page that needs no network.

        Parameters
        ----------
        out : path
            A name that ends in .html.
        table, all_rows_new, ask, terms, by, random_state, **said
            As in `evaluate`, without limits; the page shows the groups of `by`.
        """
        paid = check_terms(terms, unused=LIMITS).given()
        page, saved = Path(out), Path(self.name).is_dir()
        given = table.reading.given if isinstance(table, TeamCases) else (table,)
        check_page(page, model=Path(self.name) if saved else None, tables=given)
        how: dict[str, Any] = {"all_rows_new": all_rows_new, "ask": ask, "random_state": random_state}
        judged = self.evaluate(table, terms=terms, by=by, **how, **said)
        study = f"Study.load({self.name!r})" if saved and isinstance(table, str | PathLike) else "study"
        more: dict[str, Any] = {"by": tuple(by), **said}
        words = [_written("table", one) for one in (str(out), table) if one is not None]
        words += (
            [f"terms=Terms({', '.join(f'{name}={_written(name, one)}' for name, one in paid.items())})"] if paid else []
        )
        words += [f"{name}={_written(name, value)}" for name, value in more.items() if value]
        write_page(judged, page, command=f"{study}.report({', '.join(words)})")
        return judged

    def route(
        self,
        table: Table,
        out: str | PathLike[str] | None = None,
        *,
        terms: Terms | None = None,
        ask: str | None = None,
        uncertainty: bool = False,
        unusual: str = "flag",
        answers: Table | None = None,
        images: str | PathLike[str] | None = None,
        bad_rows: str = "stop",
        progress: Callable[[int], None] | None = None,
        **said: Unpack[SaidAgain],
    ) -> Routing:
        """Say for each case who should decide it, with probabilities and the reason.

        Parameters
        ----------
        table : path or DataFrame
            Larger than memory is fine. Columns are found by name; those that the team does not know are ignored.
        out : path, optional
            The decisions: .csv, .tsv, .jsonl (each also .gz) or .parquet; .json for tasks of Label Studio.
        terms : Terms, optional
            What questions and errors cost, by default as in `fit`; who is absent; and limits on the questions in the
            whole file. Fees may be "@column" for a price for each case.
        ask : "one", "sequential" or "panel", optional
            How a case is settled. "one": one expert, whose answer is final. "sequential": the decisions have the first
            question; `answers` takes the answers, and the next decisions have the next one. "panel": all experts of the
            panel. By default "one", with `answers` "sequential".
        uncertainty : bool
            Beside each p_<expert>, sd_<expert>: the standard deviation of that probability. It covers chance in this
            expert's answers only; the real error can be several times as large.
        unusual : "flag" or "ask"
            The column unusual names the columns that make a case unlike those that were learned from. With "ask" such
            a case goes to the best expert who can be asked, even where the model would decide.
        answers : path or DataFrame, optional
            A log of the answers so far, one per row: each case gets its next question or its final label. A later
            answer of the same person to the same case wins. With limits the answers so far count toward them.
        images
            As in `read_cases`.
        bad_rows : "stop" or "skip"
            What to do where rows cannot be used, as a cell is not a number. "stop": nothing is written, and the error
            names all of them. "skip": the good rows are decided, and <out>.bad-rows.csv lists the others.
        progress : callable, optional
            Called with the number of rows decided so far.
        **said
            key : a column to copy, that names the cases; by default that of `fit`. item, annotator, answer : columns of
            the log; by default as in `fit`, else found by name. rename : as in `read_cases`, for the answers so far.
            format, control, blank : as in `read_cases`.

        Returns
        -------
        Routing
            Who got how many cases, with notes; `to_frame()` has the decisions.
        """
        reading = Reading.of(table, answers=answers, images=images, **said)
        return route_cases(
            self._ready(),
            reading,
            None if out is None else Path(out),
            model=self.name,
            terms=terms,
            ask=ask,
            uncertainty=uncertainty,
            unusual=unusual,
            progress=progress,
            bad_rows=bad_rows,
        )

    def add_expert(
        self,
        name: str,
        table: Table | TeamCases,
        *,
        panels: Table | None = None,
        all_rows_new: bool = False,
    ) -> Newcomer:
        """Add an expert to the team from a few answers, without a new training.

        Parameters
        ----------
        name : str
        table : path, DataFrame or what `read(..., newcomer=name)` returned
            Cases with labels, some of which the new expert answered, in a column of that name.
        panels : path or DataFrame, optional
            Other cases, with labels and everybody's answers, on which new panels are found. Without them a team that
            had panels has none afterwards: their promise was for the experts before.
        all_rows_new : bool
            You vouch that no row of `panels` was used before; see `evaluate`.
        """
        before = self._ready()
        self.check_name(name)
        read = table if isinstance(table, TeamCases) else self.read(table, newcomer=name)
        joined, notes = join_team(read.team, name, read.cases)
        state = "none" if before.panel is None else "dropped"
        if panels is not None:
            joined, more = with_new_panels(
                before, joined, panels, read.reading, model=self.name, all_rows_new=all_rows_new
            )
            state, notes = "new", [*notes, *more]
        if before.rows_key is not None:  # a team that forgot its rows, or has another key, remembers no later ones
            joined = joined.forget_rows()
        newcomer = describe_newcomer(read.team, joined, name, read.cases, panels=state, notes=notes)
        self.team = joined
        return newcomer

    def check_name(self, name: str) -> None:
        """Raise unless a new expert may be called so."""
        check_name(self._ready(), name)

    def save(self, folder: str | PathLike[str], *, onnx: bool = False, forget_rows: bool = False) -> None:
        """Write the model folder: model.json and weights.safetensors, no pickle.

        Parameters
        ----------
        folder : path
        onnx : bool
            Write a deep net as an ONNX file, which `route` runs without torch.
        forget_rows : bool
            Leave the fingerprints of the rows that the team has used out of the folder; the study keeps its own.
            Nobody can then check that a row is new to the saved team, so `evaluate` and `report` need `all_rows_new`.
        """
        team = self._ready().copy().forget_rows() if forget_rows else self._ready()
        if onnx:
            from defero.estimators.deep_nets import as_onnx

            team = replace(team, scorer=as_onnx(team.scorer))
        team.save(Path(folder))
        self.name = str(folder)

    def _ready(self) -> Team:
        if self.team is None:
            raise InputError("no team yet: call fit first, or Study.load.")
        return self.team

    def _evaluate_test(self, *, ask: str, terms: Terms | None, random_state: int) -> Evaluation:
        """Judge the team on the cases that were kept for the test."""
        raise InputError(": this team has no cases kept for the test; pass a table.", argument="table")


def _written(name: str, value: Any) -> str:
    """Write an argument as it stands in a call; a table or an array by its name."""
    value = str(value) if isinstance(value, PathLike) else value
    return repr(value) if isinstance(value, str | float | int | dict | list | tuple) else name
