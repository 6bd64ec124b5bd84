"""The operations: routing, evaluation, fit, decisions, calibration, conformal sets, votes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.calibration import draw as draw_confidence
from benchmarks.calibration import masked_error
from benchmarks.ratios.timing import Pair
from defero import DeferralClassifier
from defero.decide import Terms, assign
from defero.decide.panels import ExpertSetPredictor
from defero.decide.votes import majority_vote
from defero.judge.calibration import expected_calibration_error
from defero.team.judge import try_out

N_FEATURES, N_CLASSES = 32, 3


def cases(n: int, n_experts: int, *, seed: int = 0) -> tuple[Any, Any, Any]:
    """Draw features, labels and everybody's answers."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, N_FEATURES))
    labels = (features[:, :3] + rng.gumbel(size=(n, N_CLASSES)) / 2).argmax(axis=1)
    skill = np.where(features[:, np.arange(n_experts) % N_FEATURES] > 0, 0.9, 0.6)
    answers = np.where(rng.random(skill.shape) < skill, labels[:, None], (labels[:, None] + 1) % N_CLASSES)
    return features, labels, answers


def routing() -> Pair:
    """Return decisions of 200,000 cases and 20 experts beside the matrix product that they need."""
    team = DeferralClassifier("linear", loss="ova", random_state=0).fit(*cases(2_000, 20))
    features, *_ = cases(200_000, 0, seed=1)
    weights = np.random.default_rng(0).standard_normal((N_FEATURES, N_CLASSES + 20))
    return Pair(partial(team.decide, features), lambda: features @ weights, 30.0, "one product of the same arrays")


def evaluation() -> Pair:
    """Return the whole record of 10,000 cases and 20 experts beside deciding them and counting who was right."""
    team = DeferralClassifier("linear", loss="ova", random_state=0).fit(*cases(2_000, 20))
    features, labels, answers = cases(10_000, 20, seed=1)

    def plain() -> float:
        expert = team.decide(features).expert
        answer = np.where(expert < 0, team.predict(features), answers[np.arange(len(labels)), expert])
        return float((answer == labels).mean())

    judge = partial(try_out, team.team_, features, labels, answers, disjoint=True)
    return Pair(judge, plain, 150.0, "decide, and count who was right; without intervals, ways of asking and groups")


def fit_trees() -> Pair:
    """Return a fit of trees beside one boosted model of the classes and one of each expert."""
    features, labels, answers = cases(2_000, 10)

    def plain() -> None:
        HistGradientBoostingClassifier(max_iter=100, random_state=0).fit(features, labels)
        for column in answers.T:
            HistGradientBoostingClassifier(max_iter=100, random_state=0).fit(features, column == labels)

    ours = DeferralClassifier(random_state=0)
    return Pair(
        lambda: ours.fit(features, labels, answers), plain, 5.0, "11 boosted models of 100 trees, no cross-validation"
    )


def fit_linear() -> Pair:
    """Return a linear fit beside one logistic regression of the classes and one of each expert."""
    features, labels, answers = cases(10_000, 20)

    def plain() -> None:
        LogisticRegression(max_iter=1000).fit(features, labels)
        for column in answers.T:
            LogisticRegression(max_iter=1000).fit(features, column == labels)

    ours = DeferralClassifier("linear", loss="decoupled", random_state=0)
    return Pair(
        lambda: ours.fit(features, labels, answers), plain, 8.0, "21 logistic regressions, no choice of a penalty"
    )


def assigning() -> Pair:
    """Return 100,000 cases among 20 experts with capacities beside taking each case's best."""
    gain = np.random.default_rng(0).normal(0.05, 0.15, (100_000, 20))
    capacity = np.column_stack([np.zeros(20, dtype=int), np.full(20, 2_000)])
    ours = partial(assign, gain, terms=Terms(capacity=capacity), method="prices")
    return Pair(ours, lambda: gain.argmax(axis=1), 300.0, "each case's best expert, without capacities")


def calibration() -> Pair:
    """Return the calibration error of 200,000 cases and 20 experts beside one mask a bin."""
    case = draw_confidence(200_000, 20)
    return Pair(partial(expected_calibration_error, *case), partial(masked_error, *case), 0.5, "one mask for each bin")


def conformal() -> Pair:
    """Return the calibration of panels beside one sort of the scores."""
    rng = np.random.default_rng(0)
    scores = rng.random((200_000, 20))
    right = rng.random(scores.shape) < scores
    panel = ExpertSetPredictor(target="missed-share", alpha=0.1)
    return Pair(lambda: panel.fit(scores, right), lambda: np.sort(scores, axis=None), 5.0, "one sort of all scores")


def votes() -> Pair:
    """Return majorities of 100,000 cases and 20 experts beside a count for each class."""
    *_, answers = cases(100_000, 20)

    def plain() -> Any:
        return np.stack([(answers == k).sum(axis=1) for k in range(N_CLASSES)], axis=1).argmax(axis=1)

    everybody = np.ones(answers.shape, dtype=bool)
    return Pair(partial(majority_vote, answers, everybody, n_classes=N_CLASSES), plain, 12.0, "a count for each class")


OPERATIONS: dict[str, Callable[[], Pair]] = {
    "routing": routing,
    "evaluation": evaluation,
    "fit, trees": fit_trees,
    "fit, linear": fit_linear,
    "decisions": assigning,
    "calibration": calibration,
    "conformal": conformal,
    "votes": votes,
}
