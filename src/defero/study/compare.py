"""A judged team beside other teams on rows that neither has seen, and under limits on its questions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import Argument, InputError, TableError
from defero.core.results import Assignment
from defero.core.wording import join_names
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.tables.cells import text_of
from defero.decide.terms import Terms
from defero.judge.intervals import Comparison, Share, compare, holm
from defero.judge.record.figures import Cell, Figure, FigureTable
from defero.study.evaluate import Evaluation, evaluate_cases
from defero.study.money import with_fees
from defero.study.reading import Reading, TeamCases, read_for_team
from defero.team import Team
from defero.team.asking import assign_gains, gains_of
from defero.team.judge import Held
from defero.team.storage import with_encoder


@dataclass(frozen=True)
class Rival:
    """Another team, and the comparison with it: ours is the first.

    Attributes
    ----------
    model : str
        Its folder.
    comparison : Comparison
        On the rows that neither team saw.
    adjusted : float
        Its p value, adjusted for all comparisons of this run (Holm).
    """

    model: str
    comparison: Comparison
    adjusted: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"model": self.model, **self.comparison.to_dict(), "p_value_adjusted": self.adjusted}


def rivals_text(rivals: Sequence[Rival]) -> str:
    """Return a table of the comparisons with other teams."""
    rows: list[list[Cell]] = []
    for rival in rivals:
        one = rival.comparison
        shares = [Figure.number(one.n), Figure(one.first), Figure(one.second), Figure.gain(one)]
        rows.append([rival.model, *shares, f"{one.p_value:.3g}", f"{rival.adjusted:.3g}"])
    head = ["against", "cases", "this team", "the other", "difference, in points", "p", "p, adjusted"]
    level = f"{100 * rivals[0].comparison.level:g} % paired score intervals; McNemar's exact p"
    table = f"On the cases that neither team saw ({level}):\n\n"
    if len(rivals) == 1:
        return table + FigureTable(head, rows).only(range(6)).text()
    return table + FigureTable(head, rows).text() + f"\n\nThe p values are adjusted for being {len(rivals)} (Holm)."


def compare_teams(
    ours: Evaluation, read: TeamCases, others: Sequence[str], *, all_rows_new: bool, terms: Terms | None
) -> tuple[Rival, ...]:
    """Compare a team with other saved ones on the same table, `read` for the first."""
    teams, said = {other: load_rival(other, beside=read.team) for other in others}, read.reading.said
    for other, team in teams.items():  # what is wrong with any of them shows before the first is tried
        _check_alike(ours, other, team, label=said.label)
    named = replace(read.reading, said=said.but(label=said.label or ours.team.facts.spec.label))
    how: dict[str, Any] = {"all_rows_new": all_rows_new, "terms": with_fees(terms)}
    comparisons = [_comparison(ours, other, team, named, **how) for other, team in teams.items()]
    adjusted = holm([comparison.p_value for comparison in comparisons]).tolist()
    return tuple(map(Rival, others, comparisons, adjusted))


def _check_alike(ours: Evaluation, other: str, team: Team, *, label: str | None) -> None:
    """Refuse a team that decides something else."""
    mine, theirs = ours.team.facts.spec.label, team.facts.spec.label
    if label is None and theirs is not None and theirs != mine:
        raise InputError(
            f"{Argument('against', other)}: was fitted on the label column {theirs!r}, {ours.model} on {mine!r}; "
            f"if one column holds the truth for both, name it with {Argument('label')}."
        )
    classes = [[text_of(one) for one in team.classes.tolist()] for team in (ours.team, team)]
    if set(classes[0]) != set(classes[1]):
        raise InputError(
            f"{Argument('against', other)}: has the classes {join_names(classes[1])}, {ours.model} has "
            f"{join_names(classes[0])}; only teams with the same classes can be compared, so fit one of them anew."
        )


def _comparison(
    ours: Evaluation, other: str, team: Team, reading: Reading, *, all_rows_new: bool, terms: Terms
) -> Comparison:
    """Compare two teams on the rows that are fresh to both; the frames' index is the rows' place in the table."""
    try:
        read = read_for_team(team, reading, model=other)
        theirs = evaluate_cases(
            read,
            model=other,
            all_rows_new=all_rows_new,
            ask=ours.own_trial.ask,
            terms=terms.known_to(team.expert_names),
            random_state=ours.random_state,
        )
    except InputError as error:
        raise error.within(Argument("against", other), ": ") from error
    mine, others = (np.asarray(side.cases.features.index) for side in (ours, theirs))
    common, first, second = np.intersect1d(mine, others, assume_unique=True, return_indices=True)
    if not len(common):
        raise TableError(
            f"{Argument('against', other)}: no row of {ours.table} is new to both {ours.model} and {other}; pass "
            "other cases."
        )
    return compare(ours.own_trial.team_correct[first], theirs.own_trial.team_correct[second])


def load_rival(folder: str, *, beside: Team) -> Team:
    """Load another team; where the two read texts by one encoder, it gets that of the first."""
    if Path(folder).is_file():
        raise InputError(
            f"{folder}: is a file and not a model folder; {Argument('against')} takes a folder that fit wrote."
        )
    rival = Team.load(folder)
    ours, theirs = (one.embedded if isinstance(one, FeatureRecipe) else () for one in (beside.recipe, rival.recipe))
    same = ours and theirs and ours[0].encoder == theirs[0].encoder
    return with_encoder(rival, ours[0].source) if same else rival


@dataclass(frozen=True, eq=False)
class LimitedTeam:
    """What the team does and costs if the judged cases are one batch under limits.

    Attributes
    ----------
    assignment : Assignment
        Who decides each case.
    label_idx : (n,)
        The labels that come of it.
    right : (n,) bool
    cost : (n,)
        What each case cost: the fee and the error.
    """

    assignment: Assignment
    label_idx: IntArray
    right: Any
    cost: FloatArray

    @property
    def share(self) -> Share:
        """The share of right labels, with its interval."""
        return Share(int(self.right.sum()), len(self.right))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        batch = self.assignment
        return {
            "team": self.share.to_dict(),
            "questions": float(batch.deferred.mean()),
            "cost": float(self.cost.mean()),
            "expected_cost": float(batch.expected_cost.mean()),
            "load": dict(zip(batch.expert_names, batch.load.tolist(), strict=True)),
            "prices": dict(zip(batch.expert_names, batch.prices.tolist(), strict=True)),
            "deferral_price": float(batch.deferral_price),
            "money_price": float(batch.money_price),
        }

    def text(self) -> str:
        """Return a table of the load, and what the limits cost."""
        batch = self.assignment
        rows = [["the model", str(int((~batch.deferred).sum()))]]
        rows += [[name, str(load)] for name, load in zip(batch.expert_names, batch.load.tolist(), strict=True)]
        head = (
            f"Under the limits the team is right on {Figure.share(self.share)}, asks {batch.deferred.mean():.2f} "
            f"questions per case and costs {self.cost.mean():.4g} per case (expected: "
            f"{batch.expected_cost.mean():.4g}).\n"
        )
        return "\n".join([head, FigureTable(["who", "cases"], rows).text(), *batch.sentences()])


def within_limits(judged: Evaluation) -> LimitedTeam:
    """Assign the judged cases under limits, among experts who answered them."""
    team, trial, terms = judged.team, judged.own_trial, judged.terms
    features = team.features(judged.cases.features)
    held = Held(features, trial.scores, trial.label_idx, trial.answer_idx, judged.present_terms)
    gains = gains_of(team, features, trial.scores, held.terms_present)
    batch = assign_gains(team, gains, terms)
    rows, asked = np.arange(len(batch.expert)), np.maximum(batch.expert, 0)
    label_idx = np.where(batch.deferred, trial.answer_idx[rows, asked], gains.label_idx)
    fees = np.where(batch.deferred, held.fee[rows, asked], 0.0)
    cost = fees + terms.costs.of_answers(label_idx, trial.label_idx)
    return LimitedTeam(batch, label_idx, label_idx == trial.label_idx, cost)
