"""Heads on real crowds and on WEDGE: what the tests assert on one split and the slow study on ten."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from defero import DeferralClassifier, TwoStageDeferral
from defero.core.scores import sigmoid
from defero.datasets import wedge
from defero.datasets.crowds import keswani_toxicity, sentiment_polarity_crowd
from defero.heads import HeadPrior, Heads, class_features, fit_head, fit_heads, fit_prior
from defero.heads.heads import modes
from defero.heads.log_loss import ExpertLogLoss

CROWDS = {"sentiment_polarity_crowd": sentiment_polarity_crowd, "keswani_toxicity": keswani_toxicity}
CLASS_MODELS = {
    "plain": lambda: LogisticRegression(max_iter=2_000),
    "standardised": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
}
ESTIMATORS = {  # what to fit, and the class model that its rivals read: where it is fixed, the same
    "DeferralClassifier('linear')": (lambda seed: DeferralClassifier("linear", loss="ova", random_state=seed), "plain"),
    "TwoStageDeferral(LogisticRegression())": (lambda seed: TwoStageDeferral(CLASS_MODELS["plain"]()), "plain"),
    "TwoStageDeferral()": (lambda seed: TwoStageDeferral(), "standardised"),
}
RIDGES = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 5.0)
PSEUDO_ANSWERS = 8
FOLDS = 5


def crowd(name):
    """Return embeddings, labels, and the answers as triplets."""
    if not os.environ.get("DEFERO_DATA") or not (Path(os.environ["DEFERO_DATA"]) / name).is_dir():
        pytest.skip(f"needs {name} in the folder that DEFERO_DATA names")
    table = CROWDS[name](features="minilm")
    item, expert = np.nonzero(table.observed)
    return np.asarray(table.features, dtype=float), table.label_idx, item, expert, table.correct[item, expert]


def log_loss(proba, right):
    proba = np.clip(proba, 1e-12, 1 - 1e-12)
    return float(-np.mean(np.log(np.where(right, proba, 1 - proba))))


def crowd_split(data, seed, *, classes="plain"):
    """Return the held-out log loss of P(annotator right) by each rule, 70 % of the items to learn from.

    All rules but the frequency read the same class posterior, of the class model with this name.
    """
    embeddings, labels, item, expert, right = data
    n_experts = int(expert.max()) + 1
    learn = to_learn_from(labels, seed)
    model = CLASS_MODELS[classes]()
    proba = np.empty((len(labels), 2))
    proba[learn] = cross_val_predict(model, embeddings[learn], labels[learn], cv=5, method="predict_proba")
    proba[~learn] = model.fit(embeddings[learn], labels[learn]).predict_proba(embeddings[~learn])
    phi, known = class_features(proba), learn[item]
    past = (item[known], expert[known], right[known])
    heads = fit_heads(phi, *past, n_experts=n_experts)
    rows, columns, truth = item[~known], expert[~known], right[~known]
    losses = {
        "shrunk heads": heads.proba(phi)[rows, columns],
        "common head": Heads.none(heads.prior).with_head(_mean_head(heads.prior)).proba(phi)[rows, 0],
        "frequency, 8 pseudo-answers": frequencies(*past[1:], n_experts)[columns],
        "independent ridge": ridge_proba(phi, *past, n_experts, best_ridge(phi, *past, n_experts, seed))[rows, columns],
    }
    return {name: log_loss(one, truth) for name, one in losses.items()}


def to_learn_from(labels, seed):
    """Return which items are to learn from, (n,): 70 %."""
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    return np.isin(np.arange(len(labels)), shuffled[: int(0.7 * len(labels))])


def estimator_split(data, seed, estimators=ESTIMATORS):
    """Return the same log loss of whole estimators, which find their class model and their heads themselves."""
    embeddings, labels, item, expert, right = data
    learn = to_learn_from(labels, seed)
    answers = np.full((len(labels), int(expert.max()) + 1), -1)
    answers[item, expert] = np.where(right, labels[item], 1 - labels[item])
    unknown = ~learn[item]
    found = {}
    for name in estimators:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "no answer of")
            team = ESTIMATORS[name][0](seed).fit(embeddings[learn], labels[learn], experts=answers[learn])
        proba = np.empty(answers.shape)
        proba[~learn] = team.predict_expert_proba(embeddings[~learn])
        found[name] = log_loss(proba[item[unknown], expert[unknown]], right[unknown])
    return found


def _mean_head(prior):
    return fit_head(np.empty((0, prior.n_features)), [], prior)


def frequencies(expert, right, n_experts):
    """Each annotator's share of right answers, with 8 more at the average."""
    given = np.bincount(expert, minlength=n_experts)
    good = np.bincount(expert, weights=right, minlength=n_experts)
    return (good + PSEUDO_ANSWERS * right.mean()) / (given + PSEUDO_ANSWERS)


def ridge_proba(phi, item, expert, right, n_experts, spread):
    """Each annotator's own logistic regression on their own answers, weights and constant drawn to 0, (n, J)."""
    centre, scale = phi.mean(axis=0), phi.std(axis=0)
    d = phi.shape[1] + 1
    prior = HeadPrior(centre, scale, np.zeros(d), np.full(d, spread), np.zeros((d, d)))
    design = prior.design(phi)
    answers = ExpertLogLoss.of(design, item, expert, right, n_experts=n_experts, weight=np.ones(len(item)))
    return sigmoid(design @ (spread * modes(answers, np.zeros(d), spread * np.eye(d))).T)


def best_ridge(phi, item, expert, right, n_experts, seed):
    """The strength with the smallest log loss in five folds of the items."""
    fold = np.random.default_rng(seed).integers(FOLDS, size=len(phi))[item]
    losses = []
    for spread in RIDGES:
        proba = np.empty(len(item))
        for out in range(FOLDS):
            rest = fold != out
            fitted = ridge_proba(phi, item[rest], expert[rest], right[rest], n_experts, spread)
            proba[~rest] = fitted[item[~rest], expert[~rest]]
        losses.append(log_loss(proba, right))
    return RIDGES[int(np.argmin(losses))]


def specialists(n_experts, rng):
    """P(right) by region, (J, 4): each strong in one region, as WEDGE's experts are."""
    home = rng.permutation(np.arange(n_experts) % 4)
    high, low = rng.uniform(0.75, 0.97, n_experts), rng.uniform(0.15, 0.4, n_experts)
    return np.where(np.arange(4) == home[:, None], high[:, None], low[:, None])


def new_expert_errors(seed, *, n_known=20, n_each=500, given=(0, 50, 200)):
    """Return mean |p_hat - p| of a new specialist by their number of answers, and that of a per-class rule."""
    rng = np.random.default_rng(seed)
    cases = wedge(8_000, random_state=seed)
    region = (4 * cases.raw[:, 2]).astype(int)
    truth = specialists(n_known + 1, rng).T[region]  # (n, J + 1), the last one new
    old, new = np.arange(4_000), np.arange(4_000, 8_000)
    item = np.concatenate([rng.choice(old, n_each, replace=False) for _ in range(n_known)])
    expert = np.repeat(np.arange(n_known), n_each)
    prior = fit_prior(cases.features, item, expert, rng.random(len(item)) < truth[item, expert], n_experts=n_known)
    found = {}
    for m in given:
        seen = rng.choice(old, m, replace=False)
        right = rng.random(m) < truth[seen, -1]
        heads = Heads.none(prior).with_head(fit_head(cases.features[seen], right, prior))
        found[str(m)] = float(np.abs(heads.proba(cases.features[new])[:, 0] - truth[new, -1]).mean())
        by_class = (np.bincount(cases.labels[seen], right, 4) + 2) / (np.bincount(cases.labels[seen], minlength=4) + 4)
        found[f"{m}, by class"] = float(np.abs(cases.class_proba[new] @ by_class - truth[new, -1]).mean())
    return found


def left_out_errors(seed, out, *, given=(0, 50, 200)):
    """Return the same for one of the default four, known are the other three: nobody like the new one."""
    rng = np.random.default_rng(seed)
    cases = wedge(8_000, random_state=seed)
    right = cases.answers == cases.labels[:, None]
    old, new = np.arange(4_000), np.arange(4_000, 8_000)
    item, expert = np.nonzero(np.ones((4_000, 3), dtype=bool))
    known = np.delete(right[old], out, axis=1)
    prior = fit_prior(cases.features, item, expert, known[item, expert], n_experts=3)
    found = {}
    for m in given:
        seen = rng.choice(old, m, replace=False)
        heads = Heads.none(prior).with_head(fit_head(cases.features[seen], right[seen, out], prior))
        found[str(m)] = float(np.abs(heads.proba(cases.features[new])[:, 0] - cases.expert_proba[new, out]).mean())
    return found
