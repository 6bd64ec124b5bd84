"""A team on cases that it has not seen."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from defero.core import Answers, ExpertTable
from defero.core.checks.arrays import BoolArray
from defero.core.errors import Argument, InputError, Message, TableError
from defero.core.trial import Trial
from defero.core.wording import count_of, join_names, plain
from defero.data.cases import Cases
from defero.data.copies import equal_rows
from defero.data.fingerprint import combined, row_fingerprints
from defero.data.recipes.columns import remark_sentences
from defero.data.tables.cells import is_blank
from defero.data.tables.wide import plain_name
from defero.decide.terms import TeamTerms, Terms
from defero.judge.answering import check_answering
from defero.judge.record import cautions as doubts
from defero.judge.record.scores import ScoreRecord
from defero.judge.shared_errors import SharedErrors
from defero.study.money import on_cases, terms_of_study
from defero.study.page import record_text, score_text
from defero.study.reading import TeamCases
from defero.study.seen import fresh_cases, no_groups_sentence, rows_are_checked
from defero.team import Team, record_of, try_out
from defero.team.judge import present_terms, terms_of
from defero.team.judge_scores import judge_scores
from defero.team.roster import STAGE
from defero.team.rows import Fresh

if TYPE_CHECKING:
    import pandas as pd

    from defero.study.compare import LimitedTeam, Rival
    from defero.study.groups import GroupTable


SMALL_SHIFT = 0.1
"""Cases whose class shares differ from all cases' by less than this (half the sum of the gaps) are much the same."""
UNCHECKED = (
    "It was not checked that these cases are new to the team: whoever evaluated it vouched for that. On cases that it "
    "was fitted on, the figures are too good."
)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How good a team is on cases that it has not seen.

    Attributes
    ----------
    model, table : str
        What messages call the team and the table.
    team : Team
    cases : ExpertTable
        The cases that were judged.
    rows, seen_by_fit : int
        Of the whole table, and how many of them training had seen.
    of_seen_groups : int
        How many more were left out: new, but of a group, such as a patient, that training had seen.
    trial : Trial, optional
        What the team did there; None where experts have only scores.
    terms : TeamTerms
        What questions and errors cost, and who is there.
    columns : DataFrame
        All columns of the cases that were judged.
    random_state : int
        Of the intervals that are drawn.
    majority : sentence, optional
        What a majority for a truth does to every figure.
    notes : sentences
        What was left out or filled in while reading.
    other_terms : sentences
        Why the panels' promise does not hold here.
    rows_checked : bool
        Whether it was checked that the cases are new to the team.
    against : tuple of Rival
        Comparisons with other teams.
    groups : tuple of GroupTable
        Load, accuracy and recall by the values of the columns that were named.
    limited : LimitedTeam, optional
        The team under limits, where there are any.
    """

    model: str
    table: str
    team: Team
    cases: ExpertTable
    trial: Trial | None
    terms: TeamTerms
    columns: "pd.DataFrame"
    rows: int
    seen_by_fit: int = 0
    of_seen_groups: int = 0
    random_state: int = 0
    majority: str | None = None
    notes: tuple[str, ...] = ()
    other_terms: tuple[str, ...] = ()
    rows_checked: bool = True
    against: "tuple[Rival, ...]" = ()
    groups: "tuple[GroupTable, ...]" = ()
    limited: "LimitedTeam | None" = None

    @property
    def present_terms(self) -> TeamTerms:
        """The terms among those who could be asked: neither absent in `fit` nor here."""
        return present_terms(self.team, self.terms)

    @property
    def own_trial(self) -> Trial:
        """What a team with classes did there."""
        assert self.trial is not None
        return self.trial

    @cached_property
    def record(self) -> Any:
        """The figures, with everything a reader should know; made when they are asked for, as a rival's never are."""
        if self.trial is None:
            return self._score_record()
        record = record_of(self.team, self.trial, random_state=self.random_state)
        answering, n_items = self.team.facts.answering, count_of(record.team.total, "case")
        # What `fit` said of the labels and the answers is not said again of the cases at hand, in worse words.
        unlike = f"Unlike those that were learned from: {self.unusual} of {n_items}; the certainty is bounded there."
        cautions = (
            self.majority,
            None if self.rows_checked else UNCHECKED,
            unlike if self.unusual else None,
            *self.terms.unpayable(),
            *doubts.alike_in_groups(*self._groups()),
            *(one for one in record.cautions if self.majority is None or not one.startswith(doubts.FROM_ANSWERS)),
            None if answering is not None and answering.sentences else chosen_cases(self.trial),
            shared_caution(self.team, known=record.shared_errors),
        )
        return replace(record, cautions=tuple(one for one in cautions if one))

    def _score_record(self) -> ScoreRecord:
        column, terms, features = self.team.facts.spec.groups, self.terms, self.cases.features
        assert self.cases.scores is not None
        return judge_scores(
            self.team,
            features,
            self.cases.scores,
            terms=terms,
            groups=(
                self.columns[column].astype(str).to_numpy()
                if column in self.columns
                else equal_rows(features, text=() if self.team.recipe is None else self.team.recipe.text)
            ),
        )

    def _groups(self) -> tuple[list[str], str]:
        """Return the group of each case, (n,), and the column of `fit`; none where the table does not have it."""
        groups = self.team.facts.spec.groups
        cells = enumerate(self.columns[groups].tolist() if groups in self.columns else [])
        # A blank cell is a group of its own.
        return [f" {i}" if is_blank(cell) else plain_name(cell) for i, cell in cells], groups or ""

    @cached_property
    def unusual(self) -> int:
        """How many of these cases are unlike those that were learned from."""
        if self.team.scored_only:
            return 0
        names = self.team.unusual(self.team.features(self.cases.features))
        return 0 if names is None else int((names != "").sum())

    @property
    def cautions(self) -> tuple[str, ...]:
        """What a reader of the figures should know."""
        return self.record.cautions

    @cached_property
    def expert_sd(self) -> tuple[float, ...]:
        """How unsure each expert's probability is, (J,): the mean standard deviation over these cases, or nan."""
        means: list[float] = self.team.expert_sd(self.cases.features).mean(axis=0).tolist()
        return tuple(means)

    def left_out_sentence(self) -> str:
        """Say how many rows were left out, and why; nothing where all are judged."""
        who, of = learners(self.team), self.team.facts.spec.groups
        seen = f"{self.seen_by_fit} of {self.rows} rows were seen by {who} and are left out."
        groups = f"{self.of_seen_groups} of {self.rows} rows are of a {of} that {who} saw and are left out."
        return " ".join([seen] * bool(self.seen_by_fit) + [groups] * bool(self.of_seen_groups))

    def figures(self) -> str:
        """Return the figures as text, with intervals and cautions."""
        return record_text(self.record) if self.trial is not None else score_text(self.record)

    def summary(self) -> str:
        """Return which rows were left out, the figures, a line for each note, and the tables beside the figures."""
        parts = [self.left_out_sentence(), self.figures(), *(f"note: {note}" for note in self.notes)]
        return "\n".join([*(part for part in parts if part), *(f"\n{text}" for text in self.tables())])

    def tables(self) -> list[str]:
        """Return the team under limits, by the values of the columns in `by`, and beside other teams, as text."""
        from defero.study.compare import rivals_text

        limited = [] if self.limited is None else [self.limited.text()]
        groups = ["\n\n".join(one.accuracy().text() for one in self.groups)] if self.groups else []
        return [*limited, *groups, *([rivals_text(self.against)] if self.against else [])]

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for the team, the model and each expert: shares of right answers, with intervals."""
        import pandas as pd

        return pd.DataFrame(self.record.rows()).set_index("name")

    def record_dict(self) -> dict[str, Any]:
        """Return the record's plain values, and of each expert how unsure the model is of them and who is asked."""
        if self.trial is None:
            own: dict[str, Any] = self.record.to_dict()
            return own
        values = {**self.record.to_dict(), "unusual": self.unusual}
        values["experts"] = [
            {**expert, "probability_sd": plain(sd)}
            for expert, sd in zip(values["experts"], self.expert_sd, strict=True)
        ]
        return values

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: what `defero evaluate --json` prints."""
        facts, rows = self.team.facts, {"rows": self.rows, "seen_by_fit": self.seen_by_fit}
        if self.trial is None:
            own = {"test": self.record_dict(), "notes": list(self.notes)}
            return {"model": self.model, "table": self.table, **rows, **own}
        return {
            "model": self.model,
            **rows,
            "of_seen_groups": self.of_seen_groups,
            "rows_checked": self.rows_checked,
            "notes": list(self.notes),
            "answering": None if facts.answering is None else asdict(facts.answering),
            "shared_errors": None if facts.shared_errors is None else asdict(facts.shared_errors),
            "test": self.record_dict(),
            "against": plain(self.against),
            "absent": list(self.terms.absent),
            "limits": None if self.limited is None else self.limited.to_dict(),
            "groups": plain(self.groups),
        }

    def fingerprint(self) -> str:
        """Return one text for the rows that were judged, whatever their order."""
        return combined(row_fingerprints(self.cases.features))

    def _repr_html_(self) -> str:
        # pandas writes and escapes the table.
        return f"<p>{escape(repr(self))}</p>{self.to_frame().round(3).reset_index().to_html(index=False, na_rep='')}"

    def __repr__(self) -> str:
        where = f"Evaluation of {self.model} on {len(self.cases)} cases of {self.table}"
        if self.trial is None:
            kept = f"score {self.record.pool.quality:.4f}"
        else:
            kept = f"team {100 * self.record.team.value:.1f} %, model alone {100 * self.record.model.value:.1f} % right"
        return f"{where}: {kept}; summary() has the figures."


def chosen_cases(trial: Trial) -> str | None:
    """Say that recorded answers are no random choice of the cases: whether a case was answered depends on its label.

    Only where the classes of the answered cases are shifted by more than `SMALL_SHIFT`.
    """
    if not len(trial):
        return None
    answers = Answers.from_cells(trial.answer_idx, classes=trial.classes, expert_names=trial.expert_names)
    check = check_answering(answers, trial.label_idx)
    if not check.depends_on_label or check.shift <= SMALL_SHIFT:
        return None
    p = f"p = {check.p_label:.2g}"
    return f"Recorded answers were not random ({p}): {check.example}; accuracies are about those cases."


def shared_caution(team: Team, *, known: SharedErrors) -> str | None:
    """Repeat what `fit` said of near-copies; None where the record at hand names the same groups itself."""
    facts = team.facts.shared_errors
    if facts is None or not facts.sentences:
        return None
    new = set(map(frozenset, facts.groups)) - set(map(frozenset, known.group_names))
    return f"In all answers of the table of fit: {' '.join(facts.sentences)}" if new else None


def evaluate_table(
    read: TeamCases,
    terms: Terms | None,
    *,
    model: str,
    against: Sequence[str],
    all_rows_new: bool,
    by: Sequence[str],
    **how: Any,
) -> Evaluation:
    """Judge a team on the cases of a table, alone and beside other teams; the arguments are those of `Study.evaluate`.

    `model` is what a message calls the team.
    """
    judged = evaluate_cases(read, model=model, terms=terms, all_rows_new=all_rows_new, **how)
    notes = (*judged.notes, *rows_are_checked(read.team, all_rows_new=all_rows_new))
    judged = _with_tables(replace(judged, notes=notes), by)
    if not against:
        return judged
    from defero.study.compare import compare_teams

    return replace(judged, against=compare_teams(judged, read, against, all_rows_new=all_rows_new, terms=terms))


def evaluate_test(
    team: Team, cases: Cases, test: ExpertTable, terms: TeamTerms, *, by: Sequence[str], **how: Any
) -> Evaluation:
    """Judge a team on the cases that were kept for the test."""
    if set(team.expert_names) != set(test.expert_names):
        raise InputError(
            f": the team has the experts {join_names(team.expert_names)}, but the test part has answers of "
            f"{join_names(test.expert_names)}; pass a table with the answers of all.",
            argument="table",
        )
    rows = cases.frame.index.isin(test.features.index)
    return _with_tables(judge_rows(team, cases, rows, terms=terms, rows=len(test), **how), by)


def _with_tables(judged: Evaluation, by: Sequence[str]) -> Evaluation:
    """Return an evaluation with its groups by the values of columns, and the team under limits."""
    if by:
        from defero.study.groups import group_tables

        judged = replace(judged, groups=group_tables(judged, by))
    if judged.terms.limited:
        from defero.study.compare import within_limits

        judged = replace(judged, limited=within_limits(judged))
    return judged


def evaluate_cases(
    read: TeamCases, *, model: str, all_rows_new: bool, ask: str, terms: Terms | None, random_state: int
) -> Evaluation:
    """Judge a team on the cases that it has not seen; refuse a table of nothing else."""
    team, cases = read.team, read.cases
    whole, expected = terms_of_study(terms, team, list(map(str, cases.frame.columns)))
    fresh, judged = fresh_cases(team, cases, key=read.key_column, all_rows_new=all_rows_new)
    if not judged.any():
        of_group = f", or are of a {team.facts.spec.groups} that it saw" if fresh.rows.any() else ""
        raise TableError(
            f"{cases.source}: all {len(cases)} rows were seen by {learners(team)}{of_group}, and a team cannot be "
            "judged on what it learned from; pass other cases."
        )
    return judge_rows(
        team,
        cases,
        judged,
        terms=whole,
        notes=(*_notes_on(cases, judged, team, fresh), *expected),
        model=model,
        ask=ask,
        random_state=random_state,
        rows=len(cases.table),
        seen_by_fit=int((~fresh.rows).sum()),
        of_seen_groups=int((fresh.rows & ~judged).sum()),
        rows_checked=team.rows_key is None,
    )


def judge_rows(
    team: Team,
    cases: Cases,
    judged: BoolArray,
    *,
    terms: TeamTerms,
    ask: str,
    disjoint: bool = True,
    notes: tuple[str, ...] = (),
    **facts: Any,
) -> Evaluation:
    """Judge a team on some of the cases (n,); without `disjoint` rows that a stage has used are refused."""
    where: dict[str, Any] = {"source": cases.source, "first_row": cases.first_row}
    whole = on_cases(terms, cases.frame, **where)
    if team.scored_only:  # somebody who can be asked has a score
        judged = judged & ((cases.table.coded.observed()) & whole.can_ask(len(cases))).any(axis=1)
    test, own = cases.table.take(judged), whole.take(judged)
    void, trial = other_terms(team, own), None
    if not team.scored_only:
        past = (test.features, test.labels, test.answers)
        trial = try_out(team, *past, **where, disjoint=disjoint, ask=ask, terms=own)
    elif own.fees is not None and not own.costs_given:
        price = Argument("error_cost")
        notes = (*notes, Message(f"no net value: pass {price}, the money that a point of quality is worth."))
    return Evaluation(
        table=cases.source,
        team=team,
        cases=test,
        trial=trial,
        terms=own,
        columns=cases.frame.loc[judged],
        majority=cases.majority_sentence(),
        notes=(*notes, *void, *([] if team.scored_only else terms.notes())),
        other_terms=void,
        **facts,
    )


def _notes_on(cases: Cases, judged: BoolArray, team: Team, fresh: Fresh) -> tuple[str, ...]:
    """Say what was left out of a table, which rows look alike, and which cells are blank or new to the team."""
    alike = (
        f"{count_of(fresh.alike, 'case')} {'has' if fresh.alike == 1 else 'have'} the features of rows that "
        f"{learners(team)} used, but another key, and count as new: if they are the same cases, the figures are too "
        "good.",
    )
    remarks = {} if team.recipe is None else team.recipe.remarks(cases.table.features[judged])
    return (
        *(*cases.notes, *no_groups_sentence(team, cases)),
        *(alike if fresh.alike else ()),
        *remark_sentences(remarks),
    )


def other_terms(team: Team, terms: TeamTerms) -> tuple[str, ...]:
    """Say that the panels were found under other fees or costs of errors, or with experts who are absent now."""
    if team.panel is None:
        return ()
    why = [] if terms.same_as(terms_of(team)) else ["under other fees or costs of errors"]
    why += ["with experts who are absent here"] if terms.absent else []
    return (f"the panels were found {' and '.join(why)} in fit: their promise does not hold here.",) if why else ()


def learners(team: Team) -> str:
    """Name what has used rows."""
    return "fit or add-expert" if STAGE in team.seen else "fit"
