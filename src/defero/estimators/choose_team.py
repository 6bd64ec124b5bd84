"""Choose the model of the classes by the team that it makes on held-out items."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.scores import Scores
from defero.core.splits import sample_rows
from defero.core.wording import join_names
from defero.estimators.boosting import Grove
from defero.estimators.class_models import (
    ClassModel,
    class_blend,
    class_linear,
    class_mlp,
    class_trees,
    sure_of_label,
)
from defero.estimators.deep_nets import has_torch
from defero.estimators.expert_heads import HeadsOption, fold_of_items
from defero.estimators.expert_stack import grow_own_trees, plain_heads, stack_experts
from defero.estimators.training_data import TrainingData
from defero.scorers import Scorer

MOST_ITEMS = 100_000
"""Trees learn from at most so many items, drawn at random."""
FEWEST_FOR_MLP, MOST_FOR_MLP = 1_000, 20_000
"""Items for which a small network is tried: with fewer it does not pay, with more it takes too long."""
_ENOUGH_HELD_OUT = 50_000


@dataclass(frozen=True)
class Candidate:
    """A model of the classes that was tried.

    Attributes
    ----------
    net : str
    label_log_loss : float
        Its held-out log loss on the labels.
    team_log_loss : float
        That of its team on "the label is right".
    team_cost : float, optional
        Errors and fees of its team, a held-out item, if fees were given.
    """

    net: str
    label_log_loss: float
    team_log_loss: float
    team_cost: float | None = None

    @property
    def value(self) -> float:
        """What is compared, smaller is better: the cost where there are fees, else the log loss of the team."""
        return self.team_log_loss if self.team_cost is None else self.team_cost


@dataclass(frozen=True, eq=False)
class LearnedTeam:
    """A team for a table, and how it was chosen.

    Attributes
    ----------
    scorer : Scorer
    net : "trees", "linear", "mlp" or a blend
        The model of the classes.
    candidates : tuple of Candidate
        Those that were tried, the best team first.
    not_tried : str, optional
        Why the small network was not tried.
    n_items, n_all : int
        How many items were learned from, and how many there are.
    rows, scores, fold : (n,), Scores, (n,)
        Held-out scores of these training items, and their folds.
    """

    scorer: Scorer
    net: str
    candidates: tuple[Candidate, ...]
    not_tried: str | None
    n_items: int
    n_all: int
    rows: IntArray
    scores: Scores
    fold: IntArray

    def sentence(self) -> str:
        """Say which model of the classes was chosen, and by how much."""
        sampled = ""
        if self.n_items < self.n_all:
            sampled = f" Learned from {self.n_items:,} of {self.n_all:,} cases, drawn at random."
        if len(self.candidates) == 1:
            return f"Model of the classes: {self.net}.{sampled}"
        best, second = self.candidates[0], min(self.candidates[1:], key=lambda one: one.value)
        what = "a log loss" if best.team_cost is None else "a cost (errors and fees, a case)"
        values = join_names([f"{one.net} {one.value:.4f}" for one in self.candidates])
        not_tried = "" if self.not_tried is None else f" The mlp was not tried: {self.not_tried}."
        gap = second.value - best.value
        if gap >= 0:
            why = f"its team had {what} lower by {gap:.4f} than that of {second.net} ({values})"
        else:
            why = (
                f"its team had {what} within one standard error of the lowest ({values}), and its labels had the "
                "lowest log loss"
            )
        return f"Model of the classes: {best.net}. On held-out cases {why}.{not_tried}{sampled}"


def learn_team(data: TrainingData, *, net: str, heads: HeadsOption, options: Any, seed: int) -> LearnedTeam:
    """Learn the classes and the experts of a table.

    Parameters
    ----------
    data : TrainingData
    net : "trees" or "auto"
        "auto" tries trees, a linear model and, if torch is installed, a small network.
    heads : "auto", "shrunk" or "separate"
        "auto" combines a shrunk head and trees for each expert.
    options : NetworkOptions-like
        Options of the small network.
    seed : int
    """
    n_all = len(data.label_idx)
    rows = sample_rows(n_all, MOST_ITEMS)
    part = data if len(rows) == n_all else data.take(rows)
    fold = fold_of_items(part, rng=np.random.default_rng(0), n_folds=n_folds(len(rows), len(part.item_idx)))
    grove = Grove.of(part)
    own = None
    if part.n_experts and heads != "shrunk":
        own = grow_own_trees(part, grove, fold)
    models, not_tried = _class_models(part, grove, fold, net=net, options=options, seed=seed)
    models = [sure_of_label(model, part, fold) for model in models]
    plain = plain_heads(models[0], part, fold) if part.n_experts else None
    teams: list[_Learned] = []
    for model in models:
        learn: Callable[[], Scorer]
        if plain is not None:
            learn, scores = stack_experts(model, part, grove, own, fold, plain=plain, separate=heads == "separate")
        else:
            learn = partial(_itself, model.scorer)
            scores = Scores.from_probabilities(model.class_proba, np.empty((len(rows), 0)))
        losses, costs = held_out_values(scores, part)
        cost = None if costs is None else float(np.average(costs, weights=part.weight))
        candidate = Candidate(model.net, model.log_loss, float(np.average(losses, weights=part.weight)), cost)
        teams.append(_Learned(candidate, learn, scores, losses if costs is None else costs))
    teams = in_order(teams, part.weight)
    best, learn, scores, _ = teams[0]
    few = sample_rows(len(rows), _ENOUGH_HELD_OUT)
    return LearnedTeam(
        learn(),
        best.net,
        tuple(team.candidate for team in teams),
        not_tried,
        len(rows),
        n_all,
        rows[few],
        scores if len(few) == len(rows) else scores.take(few),
        fold[few],
    )


class _Learned(NamedTuple):
    """A candidate, what learns its team, the team's held-out scores, and what is compared by item, (n,)."""

    candidate: Candidate
    learn: Callable[[], Scorer]
    scores: Scores
    values: FloatArray


def _itself(scorer: Scorer) -> Scorer:
    return scorer


def in_order(teams: list[_Learned], weight: FloatArray) -> list[_Learned]:
    """Sort teams, the best first: of those within one standard error of the lowest value, the better model.

    The value of a team is noisy where two of its members are almost equal; the log loss of the labels is much less so.
    """
    lowest = min(teams, key=lambda team: team.candidate.value)

    def rank(team: _Learned) -> tuple[bool, float]:
        difference = team.values - lowest.values
        mean = float(np.average(difference, weights=weight))
        error = float(np.sqrt(np.average((difference - mean) ** 2, weights=weight) / len(difference)))
        close = mean <= error
        return not close, team.candidate.label_log_loss if close else team.candidate.value

    return sorted(teams, key=rank)


def _class_models(
    data: TrainingData, grove: Grove, fold: IntArray, *, net: str, options: Any, seed: int
) -> tuple[list[ClassModel], str | None]:
    if data.n_classes == 1:
        return [class_linear(data, fold)], None
    models = [class_trees(data, grove, fold)]
    if net != "auto":
        return models, None
    models.append(class_linear(data, fold))
    n, not_tried = len(data.label_idx), None
    if not has_torch():
        not_tried = "PyTorch is not installed"
    elif not FEWEST_FOR_MLP <= n <= MOST_FOR_MLP:
        not_tried = f"it is tried with {FEWEST_FOR_MLP:,} to {MOST_FOR_MLP:,} cases, and there are {n:,}"
    else:
        models.append(class_mlp(data, options, seed=seed))
    blend = class_blend(models, data)
    return models if blend is None else [*models, blend], not_tried


def held_out_values(scores: Scores, data: TrainingData) -> tuple[FloatArray, FloatArray | None]:
    """Return the log loss of "the team's label is right" by item, (n,), and where there are fees its cost.

    The cost is that of an error, 1, and the fee. The team's label is that of the model or of the expert with the
    largest P(right) less their fee. The model competes
    with the experts who answered the item; of experts who did not, nothing can be judged.
    """
    item_idx, expert_idx = data.item_idx, data.expert_idx
    chance, right = scores.model_proba.copy(), scores.class_idx == data.label_idx
    fee = np.zeros(len(item_idx)) if data.fees is None else data.fees[item_idx, expert_idx]
    paid = np.zeros(len(chance))
    value = scores.expert_proba[item_idx, expert_idx] - fee
    order = np.lexsort((value, item_idx))
    last = order[np.flatnonzero(np.diff(item_idx[order], append=-1))]  # the best answer of each item
    better = last[value[last] >= chance[item_idx[last]]]
    asked = item_idx[better]
    chance[asked] = scores.expert_proba[asked, expert_idx[better]]
    right[asked], paid[asked] = data.right[better], fee[better]
    tiny = 1e-6
    loss = np.asarray(-np.log(np.clip(np.where(right, chance, 1 - chance), tiny, 1.0)))
    return loss, None if data.fees is None else ~right + paid


def n_folds(n_items: int, n_answers: int) -> int:
    """Return how many folds are used: fewer where there is so much that a part tells as much as the whole."""
    size = max(n_items, n_answers / 4)
    if n_items <= 3_000:
        return 5
    return 8 if size <= 20_000 else 3 if size <= 60_000 else 2
