"""A new expert from a few dozen answers, and panels of the larger team."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from defero.core import ExpertTable
from defero.core.errors import Argument, Message, TableError
from defero.core.wording import count_of, join_names, percent, plain
from defero.data.answers.spellings import alike_expert_notes, alike_experts
from defero.data.cases import Cases
from defero.data.recipes.pictures import PictureRecipe
from defero.data.tables.read import Table
from defero.decide.terms import Terms
from defero.study.fit import ALPHA, TARGET
from defero.study.reading import Reading, TeamCases, read_for_team
from defero.study.seen import fresh_cases, rows_are_checked, with_groups_of
from defero.team import Team

MANY_RIGHT = 5
"""So many answers without an error are told of."""


@dataclass(frozen=True)
class Newcomer:
    """What is known of a new expert; means are over the cases of their table.

    Attributes
    ----------
    name : str
    others : names
        Who was in the team before.
    table : str
    rows, answers, right : int
        Cases of the table, how many of them the newcomer answered, and how many of those right.
    believed, population : (mean, sd)
        P(right) of the newcomer, and of somebody of whom nothing is known.
    panels : "none", "dropped" or "new"
    rows_kept : bool
        Whether the team remembers which cases the newcomer answered, so that `evaluate` can leave them out.
    notes : sentences
    """

    name: str
    others: tuple[str, ...]
    table: str
    rows: int
    answers: int
    right: int
    believed: tuple[float, float]
    population: tuple[float, float]
    panels: str
    rows_kept: bool = True
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: what `defero add-expert --json` prints."""
        return {
            "expert": self.name,
            "rows": self.rows,
            "answers": self.answers,
            "right": self.right,
            "believed": plain(dict(zip(("mean", "sd"), self.believed, strict=True))),
            "population": plain(dict(zip(("mean", "sd"), self.population, strict=True))),
            "panel_dropped": self.panels == "dropped",
            "new_panels": self.panels == "new",
            "used": self.answers,
            "rows_kept": self.rows_kept,
            "notes": list(self.notes),
        }

    def summary(self) -> Message:
        """Return the same for a person."""
        others = join_names(self.others, most=6) or "the model"
        share = f", {self.right} of them right ({percent(self.right / self.answers)})" if self.answers else ""
        sds = (
            f" (standard deviation {sd:.2f})" if np.isfinite(sd) else "" for _, sd in (self.believed, self.population)
        )
        here, anybody = (f"{one[0]:.2f}{sd}" for one, sd in zip((self.believed, self.population), sds, strict=True))
        lines = [
            f"{self.name} joins {others}: {count_of(self.answers, 'answer')} to the {self.rows} cases of {self.table}"
            f"{share}.",
            f"Their mean P(right) on these cases: {here}. Without any answers it would be {anybody}.",
            "They can be asked from now on.",
        ]
        if self.answers and self.rows_kept:
            lines.append(
                f"The cases that they answered ({self.answers}) count as used now: evaluate and report leave them out. "
                f"Keep other answers of {self.name} for the test."
            )
        elif self.answers:
            lines.append(
                f"Do not judge {self.name} by the cases that they answered ({self.answers}): this model keeps no "
                "fingerprints of rows, so evaluate and report cannot leave them out."
            )
        if self.right == self.answers >= MANY_RIGHT:
            lines.append(
                f"All their answers were right, so {self.name} may get most of the work: judge them on others first."
            )
        if self.panels == "new":
            lines.append("The panels are new: their promise is for the team with the new expert.")
        elif self.panels == "dropped":
            lines.append(
                "The panels are dropped: their promise was for the team without the new expert. For new panels pass "
                f"{Argument('panels')} with other cases."
            )
        return Message("\n".join(lines))


def add_newcomer(
    before: Team, read: TeamCases, name: str, *, panels: Table | None, model: str, all_rows_new: bool
) -> tuple[Team, Newcomer]:
    """Return the team with a new expert, who answered the cases that were read, and what is known of them.

    `panels` is a table of other cases for new panels, `model` is what a message calls the team.
    """
    joined, notes = join_team(read.team, name, read.cases)
    state = "none" if before.panel is None else "dropped"
    if panels is not None:
        how: dict[str, Any] = {"model": model, "all_rows_new": all_rows_new}
        joined, more = with_new_panels(before, joined, panels, read.reading, **how)
        state, notes = "new", [*notes, *more]
    if before.rows_key is not None:  # a team that forgot its rows, or has another key, remembers no later ones
        joined = joined.forget_rows()
    return joined, describe_newcomer(read.team, joined, name, read.cases, panels=state, notes=notes)


def join_team(team: Team, name: str, cases: Cases) -> tuple[Team, list[str]]:
    """Return the team with the new expert, who answered these cases, and what there is to say of the answers."""
    table = cases.table
    answered_rows = table.take(table.answered > 0)
    # A bad cell is told with its row in the file, and so is a picture that cannot be read.
    features = team.features(answered_rows.features, source=cases.source, first_row=cases.first_row)
    if isinstance(team.recipe, PictureRecipe):
        features.check()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = answered_rows.labels if table.scores is None else answered_rows.scores
        codes = None if table.scores is not None or not len(answered_rows) else answered_rows.answer_idx[:, 0]
        answers = None if codes is None else answered_rows.classes[codes]
        joined = team.copy().add_expert(name, answered_rows.features, y, answers)
    notes = [str(one.message) for one in caught if "drops the panel" not in str(one.message)]
    return replace(joined, seen=with_groups_of(joined, cases)), notes


def with_new_panels(
    before: Team, joined: Team, table: Table, reading: Reading, *, model: str, all_rows_new: bool
) -> tuple[Team, list[str]]:
    """Find panels on the cases of a table that the larger team has not seen, with the promise of the old panels.

    Parameters
    ----------
    before, joined : Team
        The team without and with the newcomer.
    table : path or DataFrame
        Cases with labels and everybody's answers.
    reading : Reading
        Of the newcomer's own table: its label and its key are looked for here too.
    model : str
        What a message calls the team.
    all_rows_new : bool
        The caller vouches for that of the table's rows.
    """
    as_before = Reading.of(table, label=reading.said.label, key=reading.said.key, images=reading.images)
    read = read_for_team(joined, as_before, model=model)
    _, unseen = fresh_cases(read.team, read.cases, key=read.key_column, all_rows_new=all_rows_new)
    if not unseen.any():
        raise TableError(
            f"{read.cases.source}: the team has seen all {len(read.cases)} rows, and nothing can be promised on those; "
            "pass other cases."
        )
    rows, panel = read.cases.table.take(unseen), before.panel
    words: dict[str, Any] = {"alpha": ALPHA, "target": TARGET}
    if panel is not None:
        words = {"alpha": panel.predictor.alpha, "target": panel.predictor.target}
        words["terms"] = Terms(
            fees=None if panel.fees is None else [*panel.fees, 0.0],
            cost_matrix=panel.cost_matrix,
            available=None if panel.available is None else [*panel.available, True],
        )
    team = read.team.copy().conformalize(rows.features, rows.labels, rows.answers, **words, disjoint=True)
    n_seen = int((~unseen).sum())
    notes = [f"{read.cases.source}: {n_seen} rows were seen and are left out of the panels."] if n_seen else []
    checked = rows_are_checked(joined, all_rows_new=all_rows_new)
    return replace(team, recipe=joined.recipe), [*read.cases.notes, *notes, *checked]


def describe_newcomer(before: Team, after: Team, name: str, cases: Cases, *, panels: str, notes: list[str]) -> Newcomer:
    """Return what is known of the new expert now."""
    table = cases.table
    n_answers = int(table.answer_counts[0])
    share = float(np.nanmean(table.scores)) if table.scores is not None else float(table.expert_accuracy[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anybody = before.copy().add_expert(name, None, None, None)
    majority = cases.majority_sentence()
    same_person = [one for names in alike_experts(after.expert_names) if name in names for one in names]
    alike = alike_expert_notes(same_person, source=cases.source, merge="fit the team again with one name for both")
    return Newcomer(
        name=name,
        others=before.expert_names,
        table=cases.source,
        rows=len(table),
        answers=n_answers,
        right=round(n_answers * share) if n_answers else 0,
        believed=_last(after, table),
        population=_last(anybody, table),
        panels=panels,
        rows_kept=after.rows_key is None,
        notes=(*cases.notes, *alike, *notes, *([] if majority is None else [majority])),
    )


def _last(team: Team, table: ExpertTable) -> tuple[float, float]:
    """Return the mean probability of the last expert's being right, and its mean standard deviation."""
    proba, sd = team.scores(table.features).expert_proba[:, -1], team.expert_sd(table.features)[:, -1]
    return float(proba.mean()), float(sd.mean())
