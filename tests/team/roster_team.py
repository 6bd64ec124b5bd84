"""A small team with skill: 400 cases, three features, four experts; and one whose experts the base scores itself."""

import numpy as np

from defero import Team
from defero.core.scores import sigmoid
from defero.learn.fit_skill import SkillAnswers
from defero.learn.heads import Heads
from defero.learn.scorer import SkillScorer
from defero.learn.skill import Directions, Skill
from defero.scorers.network import NetworkScorer

N, D = 400, 3
CLASSES = np.array(["benign", "malign"], dtype=object)
NAMES = ("ann", "bob", "cat", "dan")


def cases(seed, n=N):
    """Return features, labels, and answers (n, 5) of the four and of somebody new, who is good where x_2 is large."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    label_idx = (rng.random(n) < sigmoid(2 * X[:, 0])).astype(int)
    slopes = np.array([[0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1], [0, 2, 0]])
    right = rng.random((n, 5)) < sigmoid(1 + X @ slopes.T)
    return X, CLASSES[label_idx], CLASSES[np.where(right, label_idx[:, None], 1 - label_idx[:, None])]


def network(n_experts, loss="decoupled"):
    rng = np.random.default_rng(1)
    heads = {
        "class": (np.array([[-1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]), np.zeros(2)),
        "expert": (rng.normal(0, 0.5, (D, n_experts)), np.full(n_experts, 1.0)),
    }
    if loss == "moe":
        heads["model"] = (rng.normal(size=(D, 1)), np.zeros(1))
    return NetworkScorer(loss, np.zeros(D), np.ones(D), {"class": (), "expert": ()}, heads, reads_classes=False)


def answers_of(class_proba):
    """Return the four experts' answers to the cases of seed 0, beside a model's probabilities."""
    X, y, said = cases(0)
    item, expert = np.divmod(np.arange(4 * N), 4)
    label_idx = (y == CLASSES[1]).astype(np.int64)
    right = (said == y[:, None])[item, expert]
    return SkillAnswers(Directions.fit(X).of(X), class_proba, label_idx, item, expert, right, np.ones(4 * N), 4)


def shrunk_scorer():
    """The skill of all four beside a base that knows nobody."""
    X, base = cases(0)[0], network(0)
    answers = answers_of(base.score(X).class_proba)
    return SkillScorer(base, Skill(Directions.fit(X), answers.heads(np.arange(4 * N)), 2), 0, np.arange(4))


def own_scorer(loss="decoupled"):
    """A base that scores all four itself, and the population of those who may join."""
    X = cases(0)[0]
    nobody = Heads.none(answers_of(np.full((N, 2), 0.5)).population(np.arange(4 * N)))
    skill = Skill(Directions.fit(X), nobody, 2, reads_belief=False)
    return SkillScorer(network(4, loss), skill, 4, np.arange(4))


def team_of(scorer):
    """Return a team that has seen the cases of seed 0."""
    X, y, said = cases(0)
    plain = Team(scorer, CLASSES, NAMES, np.full(4, N), n_features=D)
    answer_idx = plain.answer_numbers(said[:, :4], n_items=N)
    return plain.mark_seen("fit", X, np.searchsorted(CLASSES.astype(str), y.astype(str)), answer_idx)
