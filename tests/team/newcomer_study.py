"""Somebody new on WEDGE: how well a few answers tell them, and what that is worth beside a new training."""

import warnings

import numpy as np

from defero import DeferralClassifier, TwoStageDeferral
from defero.datasets import wedge
from defero.decide.terms import checked
from defero.simulate.experts import right_with
from defero.team.deciding import decide_scored

TEAMS = {
    "a table": lambda: DeferralClassifier(random_state=0),
    "linear, own experts": lambda: DeferralClassifier("linear", loss="ova", random_state=0),
    "linear, softmax": lambda: DeferralClassifier("linear", loss="softmax", random_state=0),
    "mlp": lambda: DeferralClassifier("mlp", loss="ova", random_state=0),
    "two-stage": lambda: TwoStageDeferral(),
}
GIVEN = (0, 50, 200)
N, FRESH = 4_000, 8_000


def many_specialists(seed, *, n_known=20, n_each=500):
    """Twenty known specialists of 500 answers each, each strong in one of four regions, and a twenty-first."""
    rng = np.random.default_rng(seed)
    old, fresh = wedge(N, random_state=seed), wedge(FRESH, random_state=10_000 + seed)
    home = rng.permutation(np.arange(n_known + 1) % 4)
    high, low = rng.uniform(0.75, 0.97, n_known + 1), rng.uniform(0.15, 0.4, n_known + 1)
    law = np.where(np.arange(4)[:, None] == home, high, low)  # (4, J + 1)
    here, there = (law[(4 * cases.raw[:, 2]).astype(int)] for cases in (old, fresh))
    said = np.column_stack([right_with(old.labels, one, n_classes=4, rng=rng) for one in here.T])
    for j in range(n_known):
        said[rng.permutation(N)[n_each:], j] = -1
    return old, fresh, there, said, rng.permutation(N)


def left_out(seed):
    """WEDGE's own four, the one of a region new to the other three of 4,000 answers each: nobody is like them."""
    old, fresh = wedge(N, random_state=seed), wedge(FRESH, random_state=10_000 + seed)
    order = np.roll(np.arange(4), seed)
    rows = np.random.default_rng(seed).permutation(N)
    return old, fresh, fresh.expert_proba[:, order], np.array(old.answers[:, order]), rows


PROBLEMS = {"twenty known specialists": many_specialists, "the other three of WEDGE's four": left_out}


def value(router, fresh, truth):
    """Return the true accuracy of the team's decisions, without noise of labels or answers."""
    scores = router.scores(fresh.features)
    expert, rows = (
        decide_scored(router, None, scores, checked(None, router.expert_names, router.classes)).expert,
        np.arange(len(fresh)),
    )
    own = fresh.class_proba[rows, scores.class_idx]
    return float(np.where(expert < 0, own, truth[rows, expert]).mean())


def study(make, problem, seed, *, retrain=True):
    """Return mean |p_hat - p| of the newcomer, and the team's accuracy, by the number of their answers."""
    old, fresh, truth, said, order = problem(seed)
    team = make().fit(old.features, old.labels, experts=said[:, :-1]).team_
    found = {"accuracy, ignoring them": value(team, fresh, truth)}
    for m in GIVEN:
        rows = order[:m]
        with warnings.catch_warnings():  # the team's own rows, so that it can be trained anew with the same answers
            warnings.filterwarnings("ignore", ".* are among those that fit learned from")
            joined = team.copy().add_expert("new", old.features[rows], old.labels[rows], said[rows, -1])
        proba = joined.scores(fresh.features).expert_proba[:, -1]
        found[f"error, {m}"] = float(np.abs(proba - truth[:, -1]).mean())
        found[f"accuracy, {m}"] = value(joined, fresh, truth)
        if m:
            labels, right = old.labels[rows], said[rows, -1] == old.labels[rows]
            by_class = (np.bincount(labels, right, 4) + 2) / (np.bincount(labels, minlength=4) + 4)
            found[f"error by class, {m}"] = float(np.abs(fresh.class_proba @ by_class - truth[:, -1]).mean())
        if m and retrain:
            whole = said.copy()
            whole[order[m:], -1] = -1
            anew = make().fit(old.features, old.labels, experts=whole).team_
            found[f"accuracy retrained, {m}"] = value(anew, fresh, truth)
    return found
