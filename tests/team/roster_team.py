"""A small team with heads: 400 cases, three features, four experts; and one whose experts the base scores itself."""

import numpy as np
from defero.heads import Heads, Lens, fit_heads, fit_prior
from defero.scorers.team import TeamScorer

from defero import Team
from defero.core.scores import sigmoid
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


def shrunk_scorer():
    X, y, said = cases(0)
    lens = Lens.fit(X, reads_classes=True)
    base = network(0)
    phi = lens.transform(X, base.score(X).class_proba)
    item, expert = np.divmod(np.arange(4 * N), 4)
    heads = fit_heads(phi, item, expert, (said == y[:, None])[item, expert], n_experts=4)
    return TeamScorer(base, lens, heads, n_own=0, order=np.arange(4))


def own_scorer(loss="decoupled"):
    X, y, said = cases(0)
    item, expert = np.divmod(np.arange(4 * N), 4)
    prior = fit_prior(X, item, expert, (said == y[:, None])[item, expert], n_experts=4)
    return TeamScorer(network(4, loss), Lens.fit(X, reads_classes=False), Heads.none(prior), 4, np.arange(4))


def team_of(scorer):
    """Return a team that has seen the cases of seed 0."""
    X, y, said = cases(0)
    plain = Team(scorer, CLASSES, NAMES, np.full(4, N), n_features=D)
    answer_idx = plain.answer_numbers(said[:, :4], n_items=N)
    return plain.mark_seen("fit", X, np.searchsorted(CLASSES.astype(str), y.astype(str)), answer_idx)
