"""WEDGE, where the best possible decision is known: how much each loss leaves on the table."""

from functools import lru_cache

import numpy as np
import torch

import defero.losses as losses
from defero import DeferralClassifier
from defero.datasets import digits_team, wedge
from defero.decide.terms import Terms, checked
from defero.losses import DeferralLoss
from defero.losses.batch import check_batch
from defero.team.deciding import decide_scored

CONSISTENT = ("softmax", "ova", "decoupled", "asymmetric")
DEFAULT = {"n_classes": 4, "high": (0.95, 0.9, 0.85, 0.8), "low": (0.25, 0.3, 0.2, 0.35)}
ONE_EXPERT = {"n_classes": 4, "high": (0.6,), "low": (0.25,)}
FEES = np.array([0.1, 0.05, 0.0, 0.2])
N = 40_000


class NumeratorOnly(DeferralLoss):
    """Negative control: the softmax loss with missing answers left out of the sum but not of the normaliser."""

    def forward(self, class_logits, expert_logits, labels, correct, *, observed=None, model_logit=None):
        mask = check_batch(class_logits, expert_logits, labels, correct, observed)
        q = torch.cat([class_logits, expert_logits], dim=1).log_softmax(dim=1)
        on_experts = (q[:, class_logits.shape[1] :] * (correct & mask)).sum(dim=1)
        return -q.gather(1, labels[:, None])[:, 0] - on_experts


@lru_cache(maxsize=1)
def _trained(loss, seed, setting, share_missing, _loss_class):
    """Fit a team; fees enter after that, so that the next study may need the same one."""
    train = wedge(N, **dict(setting), random_state=seed)
    answers = train.answers
    if share_missing:
        gone = np.random.default_rng(20_000 + seed).random(answers.shape) < share_missing
        answers = np.where(gone, -1, answers)
    team = DeferralClassifier("mlp", loss=loss, random_state=seed)
    return team.fit(train.features, train.labels, experts=answers).team_


def study(loss, seed, *, setting=DEFAULT, share_missing=0.0, fees=None):
    """Train on 40,000 coded items and judge on 40,000 fresh ones, without label noise."""
    fresh = wedge(N, **setting, random_state=10_000 + seed)
    router = _trained(loss, seed, tuple(setting.items()), share_missing, losses.DeferralLoss)
    scores = router.scores(fresh.features)
    decision = _plain(router, scores, fees)
    value = fresh.value(decision.expert, scores.class_idx)
    paid = 0.0 if fees is None else np.where(decision.deferred, np.asarray(fees)[decision.expert], 0.0)
    return {
        "excess": 100 * fresh.excess(decision.expert, scores.class_idx),
        "p_error": float(np.abs(scores.expert_proba - fresh.expert_proba).mean()),
        "utility": float(np.mean(value - paid)),
        "load": (decision.load / N).tolist(),
    }


def study_numerator_only(seed, monkeypatch):
    monkeypatch.setattr(losses, "DeferralLoss", NumeratorOnly)
    return study("softmax", seed, share_missing=0.5)


def clones_of(labels, n_clones, *, n_classes, skill, rng):
    """Return the answers of experts who are each right with probability `skill` everywhere, independently."""
    right = rng.random((len(labels), n_clones)) < skill
    wrong = (labels[:, None] + rng.integers(1, n_classes, right.shape)) % n_classes
    return np.where(right, labels[:, None], wrong)


def wedge_clones(net, loss, n_clones, seed, *, n=8_000, skill=0.7):
    """Train on 8,000 WEDGE items of ten classes; the classifier's own accuracy and the excess, without label noise."""
    one = {"n_classes": 10, "high": (skill,), "low": (skill,)}
    train, fresh = wedge(n, **one, random_state=seed), wedge(N, **one, random_state=10_000 + seed)
    answers = clones_of(train.labels, n_clones, n_classes=10, skill=skill, rng=np.random.default_rng(30_000 + seed))
    team = DeferralClassifier(net, loss=loss, random_state=seed).fit(train.features, train.labels, experts=answers)
    scores = team.team_.scores(fresh.features)
    own = fresh.class_proba[np.arange(N), scores.class_idx]
    value = np.where(
        _plain(team.team_, scores).deferred,
        skill,
        own,
    )
    best = np.maximum(fresh.class_proba.max(axis=1), skill)
    return {"classifier": 100 * float(own.mean()), "excess": 100 * float(np.mean(best - value))}


def digits_clones(net, loss, n_clones, seed, *, skill=0.7):
    """Train on half of the digits; the classifier's own accuracy on the other half."""
    train, test = digits_team(random_state=seed).split(0.5, 0.5, random_state=seed)
    answers = clones_of(train.labels, n_clones, n_classes=10, skill=skill, rng=np.random.default_rng(30_000 + seed))
    team = DeferralClassifier(net, loss=loss, random_state=seed).fit(train.features, train.labels, experts=answers)
    return {"classifier": 100 * float((team.predict(test.features) == test.labels).mean())}


def _plain(team, scores, fees=None):
    return decide_scored(team, None, scores, checked(Terms(fees=fees), team.expert_names, team.classes))
