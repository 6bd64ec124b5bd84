"""Study: from past cases to a team that is fitted, calibrated, conformalized, tested, saved and used."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from defero.core import ExpertTable
from defero.core.errors import InputError
from defero.core.wording import Preformatted, join_names
from defero.data.cases import Cases
from defero.data.recipes.text_encoder import Encoder
from defero.data.table_spec import SaidAgain
from defero.data.tables.read import Table
from defero.decide.terms import LIMITS, Terms, check_terms
from defero.study.engines import engine_by_name
from defero.study.evaluate import Evaluation, evaluate_table, evaluate_test
from defero.study.fit import FitChoices, fit_scored, fit_team
from defero.study.money import fee_columns, need_labels, terms_of_fit, terms_of_study, with_files
from defero.study.newcomer import Newcomer, add_newcomer
from defero.study.notes import class_counts, sizes_sentence
from defero.study.page import check_page, report_call, write_page
from defero.study.parts import PART_NAMES, cut_cases
from defero.study.reading import ReadAgain, Reading, TeamCases, read_for_team
from defero.study.routing.decisions import Routing
from defero.study.routing.folder import route_folder
from defero.study.routing.route import route_cases
from defero.team import Team
from defero.team.rows import Fingerprints

if TYPE_CHECKING:
    from defero.estimators.recipe import Recipe


class Study(Preformatted):
    """Past cases in four disjoint parts, and the team that is made of them.

    Parameters
    ----------
    cases : Cases, optional
        What `read_cases` returned. None: a team without the cases that it was made of, as `Study.load` gives it.
    groups : str, optional
        Column of group ids, such as patient ids. All rows of a group go to the same part.
    time : str, optional
        Column of dates or numbers. The earliest cases are learned from, the latest are the test part.
    split : str, optional
        Column that names the part of each case, such as train, val or test.
    test_share : float, optional
        Share of the cases in the test part. Default: 0.2.
    random_state : int
        Random seed. The same seed gives the same model.
    team : Team, optional
        A fitted team.
    name : str
        What messages call the team: its folder, once it is saved.

    Attributes
    ----------
    cases : Cases or None
        Without the columns that the table is split by among their features.
    parts : four ExpertTable
        To learn from, to calibrate, to conformalize, for the test.
    team : Team or None
    notes : list of str
        What looked like a mistake, or was left out; after `fit`.

    Examples
    --------
    >>> import pandas as pd
    >>> from defero import read_cases
    >>> from defero.datasets import wedge
    >>> past, expert_names = wedge(400, random_state=0), ["ann", "bob", "cem", "dot"]
    >>> frame = pd.DataFrame(past.features).add_prefix("x").assign(truth=past.labels)
    >>> frame[expert_names] = past.answers
    >>> study = Study(read_cases(frame, label="truth", expert_names=expert_names))
    >>> [len(part) for part in study.parts]
    [201, 59, 60, 80]
    """

    def __init__(
        self,
        cases: Cases | None = None,
        *,
        groups: str | None = None,
        time: str | None = None,
        split: str | None = None,
        test_share: float | None = None,
        random_state: int = 0,
        team: Team | None = None,
        name: str = "team",
    ) -> None:
        self.team, self.name, self.random_state = team, name, random_state
        self.notes: list[str] = []
        self.cases: Cases | None = None
        self.parts: tuple[ExpertTable, ...] = ()
        self._choices: FitChoices | None = None
        self._seen: Mapping[str, Fingerprints] | None = None
        self._cut: dict[str, Any] = {"test_share": test_share, "random_state": random_state}
        if cases is not None:
            self.cases, self.parts = cut_cases(cases, {"groups": groups, "time": time, "split": split}, **self._cut)

    def __repr__(self) -> str:
        cases = "no cases"
        if self.cases is not None:
            sizes = ", ".join(f"{len(part)} {name}" for name, part in zip(PART_NAMES, self.parts, strict=True))
            cases = f"{len(self.cases)} cases of {self.cases.source} ({sizes})"
        who = "no team yet"
        if self.team is not None:
            who = f"a team with {join_names(self.team.expert_names) or 'no experts'}"
        return f"Study: {cases}, {who}."

    def fit(
        self,
        net: str = "auto",
        *,
        loss: str = "auto",
        answer_weights: str | None = None,
        alpha: float = 0.1,
        target: str = "any-correct",
        terms: Terms | None = None,
        recipe: "Recipe | None" = None,
        checkpoints: str | PathLike[str] | None = None,
        progress: bool = False,
    ) -> Team:
        """Train on the first part, calibrate on the second and find panels on the third.

        Parameters
        ----------
        net : str
            auto: trees and a logistic regression for the classes, and everybody's skill by case and class, without a
            network. linear, mlp: networks with a surrogate loss. For pictures: a deep net, such as wrn-28-4 or
            resnet-18. For texts, or vectors of their words: text-cnn.
        loss : str
            Surrogate loss of linear, mlp and deep nets: softmax, ova, decoupled, asymmetric, moe or auto. It says
            nothing about what an error costs.
        answer_weights : str, optional
            label or label+features: give more weight to answers that were unlikely to be given. Use it if fit reports
            that who answered depends on the label, or on the label and the features.
        alpha : float
            Share of cases on which a panel may break its promise.
        target : str
            What a panel promises: any-correct, all-correct or missed-share.
        terms : Terms, optional
            What questions to the experts and errors cost: the panels' promise is for these fees and costs.
        recipe : Recipe, optional
            Settings of the training of a network, as in `DeferralClassifier`.
        checkpoints : path, optional
            Folder for the checkpoint of a deep net. The same call continues from it.
        progress : bool
            Show a progress bar.

        Returns
        -------
        Team
            The team, fitted, calibrated and with panels.
        """
        words: dict[str, Any] = {"net": net, "loss": loss, "answer_weights": answer_weights, "alpha": alpha}
        words |= {"target": target, "recipe": recipe, "checkpoints": checkpoints}
        cases, choices = self._own_cases("fit"), FitChoices(**words)
        expert_names, classes = cases.table.expert_names, cases.table.classes
        if cases.table.scores is not None:
            default = vars(FitChoices())
            need_labels({name: value for name, value in words.items() if value != default[name]})
            paid = terms_of_fit(terms, expert_names)
            if columns := fee_columns(paid.fees):
                apart = cases.without([(name, "the price") for name in columns])
                self.cases, self.parts = cut_cases(apart, apart.spec.cuts, **self._cut)
            self.team, self.notes = fit_scored(
                self._own_cases("fit"), self.parts[0], paid, random_state=self.random_state
            )
        else:
            said = with_files(check_terms(terms, unused=("absent", "available", "prices", *LIMITS)), classes)
            how: dict[str, Any] = {"random_state": self.random_state, "progress": progress}
            self.team, self.notes = fit_team(cases, self.parts, choices, terms=said.of(expert_names, classes), **how)
        self._choices, self._seen = choices, self.team.seen
        return self.team

    def read(self, table: Table, *, newcomer: str | None = None, **said: Unpack[ReadAgain]) -> TeamCases:
        """Read other cases for this team: whatever is not said here is as in the table of `fit`.

        Parameters
        ----------
        table : path or DataFrame
        newcomer : str, optional
            Read the answers of this person alone, for `add_expert`; `answer` is then their column in a wide table.
        **said
            label, answers, item, annotator, answer, key, majority_label, format, control, images, rename, blank : as in
            `read_cases`. bad_rows, most_cases, engine, workers, address : as in `Reading`.
        """
        return read_for_team(self.ready(), Reading.of(table, **said), model=self.name, newcomer=newcomer)

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
            Another model folder to compare with, case by case, on the rows that neither team saw. Repeat for several.
        all_rows_new : bool
            Confirm that no row of the table was used to fit the model. Needed if the model was fitted with
            `forget_rows` or with another key, so that rows cannot be checked.
        ask : str
            How a case is settled: one (one expert, whose answer is final), sequential (one after the other, as long as
            a question is worth its fee) or panel. The figures of all ways are shown, whatever is chosen.
        terms : Terms, optional
            What questions and errors cost, by default as in `fit`; who is absent; and limits for all judged cases
            together: `limited` has the team under them. Only experts who answered a case can be asked about it, so
            that fewest questions may be out of reach. Fees may be "@column" for a price for each case.
        by : columns
            Up to five columns. Load, accuracy and recall are shown for each of their values.
        random_state : int
            Random seed of the bootstrap intervals.
        **said
            How the table is read, as in `read`.
        """
        team = self.ready()
        check_terms(terms, unused=("available", "prices", *(LIMITS if team.scored_only else ())))
        if team.scored_only:
            need_labels({"against": against, "ask": "" if ask == "one" else ask, "by": by})
        how: dict[str, Any] = {"ask": ask, "by": by, "random_state": random_state}
        if table is not None:
            read = table
            if not isinstance(read, TeamCases):
                read = read_for_team(team, Reading.of(read, **said), model=self.name, terms=terms)
            folders = [str(other) for other in against]
            how |= {"model": self.name, "against": folders, "all_rows_new": all_rows_new}
            return evaluate_table(read, terms, **how)
        if against:
            raise InputError(": other teams may have seen the test part; pass a table.", argument="against")
        if self.cases is None:
            raise InputError(": this team has no cases kept for the test; pass a table.", argument="table")
        own, notes = terms_of_study(terms, team, list(map(str, self.cases.frame.columns)))
        # Every stage replaces `seen`: a team that fit did not leave so may have used rows of the test part.
        disjoint = team.seen is self._seen
        how |= {"model": self.name, "disjoint": disjoint, "notes": (*self.cases.notes, *notes) if notes else ()}
        return evaluate_test(team, self.cases, self.parts[3], own, **how)

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
            HTML file to write.
        table, all_rows_new, ask, terms, by, random_state, **said
            As in `evaluate`, without limits; the page shows the groups of `by`.
        """
        check_terms(terms, unused=LIMITS)
        page, saved = Path(out), Path(self.name).is_dir()
        given = table.reading.given if isinstance(table, TeamCases) else (table,)
        check_page(page, model=Path(self.name) if saved else None, tables=given)
        how: dict[str, Any] = {"all_rows_new": all_rows_new, "ask": ask, "random_state": random_state}
        judged = self.evaluate(table, terms=terms, by=by, **how, **said)
        study = f"Study.load({self.name!r})" if saved and isinstance(table, str | PathLike) else "study"
        write_page(judged, page, command=report_call(study, out, table, terms, by=tuple(by), **said))
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
            File of decisions to write: .csv, .tsv, .jsonl (each also .gz) or .parquet. For a Label Studio export also
            .json: its tasks with the model's label as a prediction, and the route.
        terms : Terms, optional
            What questions and errors cost, by default as in `fit`; who is absent; and limits on the questions in the
            whole file. Fees may be "@column" for a price for each case.
        ask : str, optional
            How a case is settled: one (one expert, whose answer is final; the default), sequential (one after the
            other, as long as a question is worth its fee: the decisions have the first question, and with `answers`
            the next one) or panel.
        uncertainty : bool
            Add columns sd_<expert>: the standard deviation of p_<expert>. It covers chance in this expert's answers
            only; the real error can be several times as large.
        unusual : str
            flag: mark cases unlike those that were learned from in the column unusual. ask: also give them to the best
            expert, even where the model would decide.
        answers : path or DataFrame, optional
            Log of the answers so far, one per row: columns for the case, the expert and the answer. Each case gets its
            next question or its final label. A later answer of the same person wins. The answers so far count toward
            `capacity`, `at_most_asked` and `budget`.
        images, bad_rows
            As in `Reading`.
        progress : callable, optional
            Called with the number of rows decided so far.
        **said
            key, item, annotator, answer, format, control, rename, blank : as in `read_cases`; by default as in `fit`.

        Returns
        -------
        Routing
            Who got how many cases, with notes; `to_frame()` has the decisions.
        """
        return route_cases(
            self.ready(),
            Reading.of(table, answers=answers, images=images, **said),
            None if out is None else Path(out),
            model=self.name,
            terms=terms,
            ask=ask,
            uncertainty=uncertainty,
            unusual=unusual,
            progress=progress,
            bad_rows=bad_rows,
        )

    def route_folder(
        self,
        folder: str | PathLike[str],
        out: str | PathLike[str],
        *,
        engine: str = "local",
        workers: int | None = None,
        address: str | None = None,
        **options: Any,
    ) -> Routing:
        """Route each Parquet file of a folder to a file of the same name in another folder.

        Files that are done are not routed again, so that a call that was stopped goes on where it was. The decisions
        are the same bytes, whatever the engine and the number of workers.

        Parameters
        ----------
        folder, out : paths
            Of the cases, and of the decisions. Columns that stand in the names of folders (year=2024) are not read.
        engine, workers, address
            As in `Reading`.
        **options
            key, terms, ask, uncertainty, unusual, bad_rows and blank, as in `route`. Limits and answers so far are
            about all cases together: call `route` with them.
        """
        where = engine_by_name(engine, workers=workers, address=address)
        return route_folder(self.ready(), folder, out, name=self.name, engine=where, options=options)

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
            The new expert's name.
        table : path, DataFrame or what `read(..., newcomer=name)` returned
            Cases with labels, some of which the new expert answered, in a column of that name.
        panels : path or DataFrame, optional
            Table of other cases, with labels and the answers of all experts, for new panels. Default: no panels; the
            promise of the old ones was for the experts before.
        all_rows_new : bool
            Confirm that no row of `panels` was used before. Needed if the model keeps no fingerprints of rows, or
            those of another key.
        """
        if self.ready().scored_only:
            need_labels({"panels": panels is not None})
        read = table if isinstance(table, TeamCases) else self.read(table, newcomer=name)
        how: dict[str, Any] = {"panels": panels, "model": self.name, "all_rows_new": all_rows_new}
        self.team, newcomer = add_newcomer(self.ready(), read, name, **how)
        return newcomer

    def save(self, folder: str | PathLike[str], *, onnx: bool = False, forget_rows: bool = False) -> None:
        """Write the model folder: model.json and weights.safetensors, no pickle.

        Parameters
        ----------
        folder : path
        onnx : bool
            Save a deep net as ONNX, so that route runs it without torch.
        forget_rows : bool
            Keep no fingerprints of the rows in the model folder. evaluate and report then cannot tell which rows are
            new, and need `all_rows_new`. The study keeps its own.
        """
        team = self.ready().copy().forget_rows() if forget_rows else self.ready()
        if onnx:
            from defero.estimators.recipe import as_onnx

            team = replace(team, scorer=as_onnx(team.scorer))
        team.save(Path(folder))
        self.name = str(folder)

    @classmethod
    def load(cls, folder: str | PathLike[str], *, text_encoder: Encoder = None) -> "Study":
        """Read the team in a model folder; `text_encoder` is that of `Team.load`."""
        if Path(folder).is_file():
            raise InputError(f"{folder}: is a file and not a model folder; name the folder that save or fit wrote.")
        return cls(team=Team.load(Path(folder), text_encoder=text_encoder), name=str(folder))

    def describe(self, *, most_features: int = 12) -> list[str]:
        """Return what `fit` did: the parts, the classes, the features, the network, the calibration."""
        cases, team, choices = self._own_cases("describe"), self.ready(), self._own_choices("describe")
        features = [] if team.recipe is None else team.recipe.describe()
        more = len(features) - most_features
        shown = [f"  {sentence}" for sentence in features[:most_features]]
        shown += [f"  ... and {more} more columns; to_dict (--json) has all."] if more > 0 else []
        if team.scored_only:
            sizes = f"{len(self.parts[0]):,} items to learn from, {len(self.parts[3]):,} for the test."
            held_out = None if team.score_facts is None else team.score_facts.held_out
            known = [] if held_out is None else [f"Mean held-out score of those chosen: {held_out:.4f}."]
            return [sizes, *shown, *known]
        classes = join_names(f"{name} ({count})" for name, count in class_counts(cases.table).items())
        return [
            sizes_sentence(cases, self.parts, calibrates_itself=choices.calibrates_itself),
            f"Classes: {classes}.",
            "Features:",
            *shown,
            choices.sentence(team),
            *([] if team.calibrator is None else team.calibrator.describe()),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: what `defero fit --json` prints."""
        choices, team = self._own_choices("to_dict"), self.ready()
        facts, rows = team.facts, dict(zip(PART_NAMES, map(len, self.parts), strict=True))
        features = [] if team.recipe is None else team.recipe.describe()
        if team.scored_only:
            return {
                "model": self.name,
                "rows": {name: rows[name] for name in ("train", "test")},
                "features": features,
                "held_out": None if team.score_facts is None else team.score_facts.held_out,
                "notes": list(self.notes),
                "test": self.evaluate().record_dict(),
            }
        return {
            "model": self.name,
            "rows": rows,
            "features": features,
            "net": choices.outcome(team),
            "calibration": [] if team.calibrator is None else team.calibrator.describe(),
            "answering": None if facts.answering is None else asdict(facts.answering),
            "shared_errors": None if facts.shared_errors is None else asdict(facts.shared_errors),
            "notes": list(self.notes),
            "test": self.evaluate().record_dict(),
        }

    def ready(self) -> Team:
        """Return the team; raises where there is none yet."""
        if self.team is None:
            raise InputError("no team yet: call fit first, or Study.load.")
        return self.team

    def _own_cases(self, method: str) -> Cases:
        if self.cases is None:
            raise InputError(f"{method}: this study has a team but no cases; make one with Study(read_cases(...)).")
        return self.cases

    def _own_choices(self, method: str) -> FitChoices:
        if self._choices is None:
            raise InputError(f"{method}: tells what fit did, but this study has not fitted its team; call fit first.")
        return self._choices
