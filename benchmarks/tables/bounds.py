"""`python -m benchmarks.tables.bounds`: how far any team can get on the simulated sets, by what it is told.

The answers of the test rows are drawn by known laws. So a team can be told what nobody knows in practice. What it
reaches is a bound for all teams if it is told the classes too; if it learns them, for teams with the same model of the
classes. It writes `tables_bounds.json`, which the page shows.
"""

import json
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy.special import expit, logit

from benchmarks.tables import plain
from benchmarks.tables.outcome import Outcome, choose
from benchmarks.tables.sets import SETTINGS, few_answers, true_gain
from benchmarks.tables.sets.credit import team_of
from benchmarks.tables.split import Split
from defero.core.checks.arrays import FloatArray, IntArray

RESULTS = Path(__file__).parents[1] / "results" / "tables_bounds.json"
SPLITS = 30
TIES = "few-skilled-50"
N_DRAWN, DRAWN_AT_ONCE, FIRST_DRAWN = 3_000, 500, 100_000
"""How many experts stand for the law of few-credit, how many are drawn at once, and the seed of the first."""
ALL_KNOWN, SKILL_KNOWN, LAW_KNOWN, CASES_KNOWN = (
    "knows the classes and the skills",
    "knows the skills, learns the classes",
    "knows the classes and how skill varies, learns who is good",
    "knows the classes and where skill differs, learns how much",
)
RING_KNOWN, SHARES_KNOWN = (
    "knows how skill varies, learns the classes and who is good where",
    "knows how often each expert is right on each class, learns the classes",
)
WHAT = {
    ALL_KNOWN: "it is told P(class) and P(right) of every case and every expert",
    SKILL_KNOWN: "it is told P(right) of every expert given the case and its class, and learns the classes from the "
    "500 rows as *plain boosted, small trees* does",
    LAW_KNOWN: "it is told P(class) and the distribution of the experts' skill, and learns the skill of each from "
    "their 20 answers by Bayes' rule: no rule can learn more from these answers",
    RING_KNOWN: "it is told how experts are drawn, and learns where each of them is good from their 20 answers by "
    "Bayes' rule, by 3,000 experts drawn anew; it learns the classes as *plain boosted, small trees* does",
    SHARES_KNOWN: "it is told each expert's share of right answers on each class, over all cases, and learns the "
    "classes as *plain boosted, small trees* does",
    CASES_KNOWN: "it is told P(class) and which cases are alike, and takes shares of right answers among the 600 rows",
}
"""What each team is told."""
SKILL_MEAN, SKILL_SPREAD = 0.75, float(np.hypot(0.8, 0.3 / 2))
"""Of the experts of few-skilled: the spread between them, and that of the mean of four classes."""


def all_known(split: Split) -> float:
    """Ask the best expert where they are better than the best model."""
    assert split.truth is not None
    return _accuracy(choose(split.truth.class_proba, split.truth.expert_proba, split.test), split)


def law_known(split: Split) -> float:
    """Ask the expert of the highest posterior mean where that is above the best model."""
    assert split.truth is not None
    grid = np.linspace(-6, 6, 1_201) * SKILL_SPREAD + logit(SKILL_MEAN)
    skill = expit(grid)
    right, n_answers = (split.train.correct & split.train.observed).sum(axis=0), split.train.observed.sum(axis=0)
    log_weight = -0.5 * ((grid - logit(SKILL_MEAN)) / SKILL_SPREAD) ** 2 + np.outer(right, np.log(skill))
    log_weight = log_weight + np.outer(n_answers - right, np.log1p(-skill))
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    mean = (weight @ skill) / weight.sum(axis=1)
    expert_proba = np.tile(mean, (len(split.test), 1))
    return _accuracy(choose(split.truth.class_proba, expert_proba, split.test), split)


def skill_known(n_experts: int, split: Split) -> float:
    """Ask by the true skill, given the class, and a model of the classes that was learned."""
    return _by_skill(_skill(n_experts, split), split)


def shares_known(n_experts: int, split: Split) -> float:
    """Ask by each expert's mean skill given the class: nothing of where they are good."""
    right = _skill(n_experts, split)
    return _by_skill(np.broadcast_to(right.mean(axis=0), right.shape), split)


def ring_known(split: Split) -> float:
    """Ask by the posterior mean of the skill, with experts drawn from the law as its prior.

    Each of them counts by how likely they would have given an expert's answers.
    """
    first, second = few_answers.credit_rows(split.seed)
    of_label = drawn_experts()[first, :, split.train.label_idx]  # (n, drawn)
    given, right = split.train.observed, split.train.correct
    log_weight = np.log(of_label).T @ (given & right) + np.log1p(-of_label).T @ (given & ~right)  # (drawn, J)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    weight = (weight / weight.sum(axis=0)).astype(np.float32)
    posterior = np.stack([drawn_experts()[second, :, k] @ weight for k in range(split.n_classes)], axis=2)
    return _by_skill(posterior, split)


@cache
def drawn_experts() -> FloatArray:
    """Return P(right given case and class) of other experts of the law of few-credit for all clients, (n, drawn, K)."""
    teams = (team_of("ring", DRAWN_AT_ONCE, FIRST_DRAWN + place) for place in range(N_DRAWN // DRAWN_AT_ONCE))
    return np.concatenate([team.right_by_class.astype(np.float32) for team in teams], axis=1)


def _skill(n_experts: int, split: Split) -> FloatArray:
    """Return P(expert is right given features and class) of the test rows, (n, J, K)."""
    return team_of("ring", n_experts, split.seed).right_by_class[few_answers.credit_rows(split.seed)[1]]


def _by_skill(right: FloatArray, split: Split) -> float:
    """Return what asking by P(right given case and class), (n, J, K), gives with classes that were learned."""
    features, _ = plain.with_categories(split.train.features, split.train.features)
    model = plain.boosted_classes_small().fit(features, split.train.label_idx)
    class_proba = model.predict_proba(plain.with_categories(split.train.features, split.test.features)[1])
    return _accuracy(choose(class_proba, np.einsum("nk,njk->nj", class_proba, right), split.test), split)


def cases_known(region: Callable[[FloatArray], IntArray], split: Split) -> float:
    """Learn how often each expert is right in each region by shares; the model and its P(right) are known."""
    assert split.truth is not None
    where = [region(rows.features.to_numpy()) for rows in (split.train, split.test)]
    share = np.zeros((int(where[1].max()) + 1, split.train.n_experts))
    for place in range(len(share)):
        rows = where[0] == place
        share[place] = (split.train.correct[rows].sum(axis=0) + 1) / (rows.sum() + 2)
    return _accuracy(choose(split.truth.class_proba, share[where[1]], split.test), split)


def tied_experts(split: Split) -> dict[str, float]:
    """Return how many experts share the highest count of right answers, and what asking each of them alone would give.

    The best model answers where it is surer than the share of right answers of such an expert, with one right and one
    wrong answer added.
    """
    assert split.truth is not None
    right = (split.train.correct & split.train.observed).sum(axis=0)
    tied = np.flatnonzero(right == right.max())
    share = plain.shares(split.train)[tied[0]]
    accuracies = []
    for j in tied:
        alone = np.zeros(split.test.answer_idx.shape)
        alone[:, j] = share
        accuracies.append(_accuracy(choose(split.truth.class_proba, alone, split.test), split))
    summary = {"mean": np.mean(accuracies), "sd": np.std(accuracies), "range": np.ptp(accuracies)}
    return {"n": len(tied)} | {name: round(float(value), 5) for name, value in summary.items()}


def _hard(features: FloatArray) -> IntArray:
    return true_gain.is_hard(features).astype(np.int64)


def _everywhere(features: FloatArray) -> IntArray:
    return np.zeros(len(features), dtype=np.int64)


def _accuracy(outcome: Outcome, split: Split) -> float:
    """Return the accuracy by the true probabilities where the set is judged by them, else by the answers."""
    if split.truth is not None and len(split.test) == true_gain.N_TEST:
        return split.truth.value(outcome.expert, outcome.model_idx)
    return float((outcome.label_idx(split.test) == split.test.label_idx).mean())


BOUNDS: dict[str, dict[str, Callable[[Split], float]]] = {
    **{
        f"few-credit-{n}": {
            SKILL_KNOWN: partial(skill_known, n),
            RING_KNOWN: ring_known,
            SHARES_KNOWN: partial(shares_known, n),
        }
        for n in (10, 50, 200)
    },
    **{f"few-skilled-{n}": {ALL_KNOWN: all_known, LAW_KNOWN: law_known} for n in (10, 50)},
    "gain3-constant": {ALL_KNOWN: all_known, CASES_KNOWN: partial(cases_known, _everywhere)},
    "gain3-hard-region": {ALL_KNOWN: all_known, CASES_KNOWN: partial(cases_known, _hard)},
}


def main() -> int:
    """Run the command."""
    reached: dict[str, dict[str, list[float]]] = {}
    for name, bounds in BOUNDS.items():
        splits = [SETTINGS[name].draw(seed) for seed in range(SPLITS)]
        reached[name] = {told: [round(bound(split), 5) for split in splits] for told, bound in bounds.items()}
        print(name, {told: round(float(np.mean(values)), 4) for told, values in reached[name].items()}, flush=True)
    write(reached)
    return 0


def write(reached: dict[str, dict[str, list[float]]]) -> None:
    """Write the bounds, and the ties of few-skilled-50, whose experts differ in nothing but luck."""
    ties = [tied_experts(SETTINGS[TIES].draw(seed)) for seed in range(SPLITS)]
    RESULTS.write_text(json.dumps({"bounds": reached, "ties": ties}, indent=1) + "\n")


def stored() -> dict[str, dict[str, list[float]]]:
    """Return {set: {what a team is told: its accuracy on each split}}; empty before the command has run."""
    found: dict[str, dict[str, list[float]]] = json.loads(RESULTS.read_text())["bounds"] if RESULTS.is_file() else {}
    return found


def stored_ties() -> list[dict[str, float]]:
    """Return `tied_experts` of each split of few-skilled-50; empty before the command has run."""
    found: list[dict[str, float]] = json.loads(RESULTS.read_text())["ties"] if RESULTS.is_file() else []
    return found


if __name__ == "__main__":
    sys.exit(main())
