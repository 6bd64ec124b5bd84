"""Trial: a team learned from one half of a set and judged on the other, as a line of JSON."""

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.law.answered import MISSING, Answered
from benchmarks.law.sets import LawSet
from defero import DeferralClassifier, Team
from defero.core.belief import Belief
from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.results import MODEL, Answer
from defero.core.scores import Scores
from defero.decide.asking import label_of, next_step
from defero.decide.costs import ErrorCosts, after_one_answer
from defero.decide.terms import Terms
from defero.learn.scorer import SkillScorer

N_HEARD = (1, 2, 3, 5, 0)
"""After how many answers the label is judged; 0: after all."""
FEES = (0.005, 0.02, 0.05)
"""Of a question, in errors."""
WAYS = ("model", "one", "in turn", "panel", "everybody")
LEARN, ALPHA = 0.8, 0.1
"""A panel learns from so much of its half; the rest says how large it must be, to hold somebody right in 90 %."""
FEWEST = 50
"""Items below which nothing is said."""


def run_trial(one: LawSet, seed: int) -> dict[str, Any]:
    """Return the figures of one split."""
    learn, judged = one.halves(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of silent members, on every split
        began = time.process_time()
        team = fit(learn, seed)
        fitted = time.process_time()
        figures = {
            "honesty": {str(n): honesty(team, judged.heard(n, seed=seed)) for n in N_HEARD},
            "cost": costs(team, panels(learn, seed), judged),
            "questions": questions(team, judged),
        }
    assert team.law is not None
    numbers = {
        name: getattr(team.law, name) for name in ("difficulty", "decoy", "lean", "trust", "temper", "model_counts")
    }
    return {
        "set": one.name,
        "system": "law",
        "split": seed,
        "n_learn": len(learn),
        "n_judge": len(judged),
        "n_members": learn.answer_idx.shape[1],
        "learned": {name: round(float(value), 3) for name, value in numbers.items()},
        **figures,
        "fit_s": round(fitted - began, 2),
    }


def fit(learn: Answered, seed: int) -> Team:
    """Return the default's team."""
    classifier = DeferralClassifier(random_state=seed)
    team: Team = classifier.fit(learn.features, learn.label_idx, experts=learn.answer_idx, groups=learn.groups).team_
    return team


def panels(learn: Answered, seed: int) -> Team:
    """Return a team with panels, whose size is settled on items that it has not learned from."""
    first, second = learn.parts((LEARN, 1 - LEARN), seed=seed)
    return fit(first, seed).conformalize(
        second.features, second.label_idx, second.answer_idx, alpha=ALPHA, disjoint=True
    )


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What a team believes of some items before anybody has answered.

    Attributes
    ----------
    team : Team
    scores : Scores
    right : (n, J, K)
        P(expert is right | x, y).
    """

    team: Team
    scores: Scores
    right: FloatArray

    @classmethod
    def of(cls, team: Team, items: Answered) -> "Beliefs":
        """Return what it believes of these items."""
        assert isinstance(team.scorer, SkillScorer)
        features = team.features(items.features)
        return cls(team, team.score_features(features), team.scorer.right_by_class(features))

    def heard(self, answer_idx: IntArray, rows: IntArray | slice = slice(None)) -> Belief:
        """Return the evidence of some of the items, with these answers of whoever gave them."""
        assert self.team.law is not None
        return Belief(self.team.law, self.scores.class_proba[rows], self.right[rows], answer_idx)

    def asked(self, answer_idx: IntArray, rows: IntArray) -> Belief:
        """Return the same, where the team chose whom to ask."""
        assert self.team.law is not None
        right = self.team.law.when_asked(self.right[rows])
        return Belief(self.team.law, self.scores.class_proba[rows], right, answer_idx)


def honesty(team: Team, judged: Answered) -> dict[str, float] | None:
    """Return log loss, accuracy and promise of what is reported after these answers."""
    if len(judged) < FEWEST:
        return None
    told = Beliefs.of(team, judged).heard(judged.answer_idx)
    return said(told.reported, label_of(told, errors(told.n_classes)), judged.label_idx)


def errors(n_classes: int) -> ErrorCosts:
    """Return the costs where any error costs 1."""
    return ErrorCosts.of(None, n_classes=n_classes, error_cost=1.0)


def said(reported: FloatArray, label_idx: IntArray, truth: IntArray) -> dict[str, float]:
    """Return the figures of what is said of the classes, (n, K), and of the labels that are given."""
    rows = np.arange(len(truth))
    return {
        "n": len(truth),
        "log_loss": mean(-np.log(np.maximum(reported[rows, truth], 1e-6))),
        "accuracy": mean(label_idx == truth),
        "promised": mean(reported[rows, label_idx]),
    }


def costs(team: Team, with_panels: Team, judged: Answered) -> dict[str, dict[str, dict[str, float]]]:
    """Return for each fee and each way of asking: errors and fees, questions, and the errors that were promised."""
    believed = Beliefs.of(team, judged)
    told = believed.heard(judged.answer_idx)
    label_idx = label_of(told, errors(told.n_classes))
    given, nobody = judged.answer_idx != MISSING, np.zeros(judged.answer_idx.shape, dtype=np.bool_)
    everybody = Answer(label_idx, told.reported[np.arange(len(judged)), label_idx], given)
    model = Answer(believed.scores.class_idx, believed.scores.model_proba, nobody)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for fee in FEES:
        terms = Terms(fees=np.full(len(team.expert_names), fee))
        ways = {
            "model": model,
            "one": team.answer(judged.features, judged.answer_idx, vote="expert", terms=terms),
            "in turn": team.answer(judged.features, judged.answer_idx, vote="sequential", terms=terms),
            "panel": with_panels.answer(judged.features, judged.answer_idx, vote="bayes", terms=terms),
            "everybody": everybody,
        }
        found[str(fee)] = {name: settled(answer, judged.label_idx, fee) for name, answer in ways.items()}
    return found


def settled(answer: Answer, truth: IntArray, fee: float) -> dict[str, float]:
    """Return what these labels cost, and what was promised of them."""
    wrong, questions = answer.label.astype(np.int64) != truth, answer.heard.sum(axis=1)
    return {
        "cost": mean(wrong + fee * questions),
        "errors": mean(wrong),
        "questions": mean(questions),
        "promised": mean(1 - answer.confidence),
    }


def questions(team: Team, judged: Answered) -> dict[str, float]:
    """Ask in turn at the lowest fee, and return what each question was to take from the errors, and what it took."""
    believed, fees = Beliefs.of(team, judged), np.full(len(team.expert_names), FEES[0])
    heard = np.full(judged.answer_idx.shape, MISSING)
    wrong_before = (believed.scores.class_idx != judged.label_idx).astype(np.float64)
    rows: IntArray = np.arange(len(judged))
    promised, kept = [np.zeros(0)], [np.zeros(0)]
    while len(rows):
        recorded = (judged.answer_idx[rows] != MISSING) & (heard[rows] == MISSING)
        step = next_step(
            believed.scores.class_proba[rows],
            believed.scores.expert_proba[rows],
            answers=heard[rows],
            terms=Terms(fees=fees, available=recorded),
            law=team.law,
            right=believed.right[rows],
        )
        wrong = (step.label.astype(np.int64) != judged.label_idx[rows]).astype(np.float64)
        if (heard[rows] != MISSING).any():
            kept.append(wrong_before[rows] - wrong)
        wrong_before[rows] = wrong
        rows, expert = rows[step.ask != MODEL], step.ask[step.ask != MODEL]
        promised.append(gain_of_one(believed.asked(heard[rows], rows), expert))
        heard[rows, expert] = judged.answer_idx[rows, expert]
    gains = np.concatenate(promised)
    return {"n": len(gains), "promised": mean(gains), "kept": mean(np.concatenate(kept))}


def gain_of_one(told: Belief, expert: IntArray) -> FloatArray:
    """Return by how much the answer of one expert for each item is expected to lower its error, (n,)."""
    can = expert[:, None] == np.arange(told.answer_idx.shape[1])
    costs, rows = errors(told.n_classes), np.arange(len(expert))
    after, _ = after_one_answer(told, rows, can, costs)
    now: FloatArray = costs.least(told.posterior)
    return now - after[rows, expert]


def mean(values: Any) -> float:
    """Return a rounded mean."""
    return round(float(np.mean(values)), 5)
