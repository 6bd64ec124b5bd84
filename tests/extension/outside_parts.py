"""A loss, a vote, a target and a metric as another package would write them: one file each, public names alone."""

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from defero import Answer
from defero.decide.panels import Target, conformal_quantile
from defero.decide.votes import Ballot, Vote
from defero.judge import Figure, Metric, brier_score
from defero.losses import Loss


def squared_loss(class_logits, expert_logits, labels, correct, *, observed=None):
    """Cross entropy for the classes, Brier's score for the experts."""
    error = (torch.sigmoid(expert_logits) - correct.to(expert_logits)) ** 2
    seen = torch.ones_like(error) if observed is None else observed.to(error)
    return cross_entropy(class_logits, labels, reduction="none") + (error * seen).sum(dim=1)


def joined_loss(class_logits, expert_logits, labels, correct, *, observed=None):
    """The decoupled loss written anew, to be compared with it."""
    each = binary_cross_entropy_with_logits(expert_logits, correct.to(expert_logits), reduction="none")
    seen = torch.ones_like(each) if observed is None else observed.to(each)
    return cross_entropy(class_logits, labels, reduction="none") + (each * seen).sum(dim=1)


SQUARED = Loss(squared_loss, link="decoupled")
JOINED = Loss(joined_loss, link="decoupled", separable=True)


def loudest(ballot: Ballot) -> Answer:
    """Hear the one expert of the panel with the largest P(right), and the model where nobody answered."""
    heard = ballot.mask & (ballot.answers >= 0)
    proba = np.where(heard, ballot.expert_proba, -1.0)
    best, rows = proba.argmax(axis=1), np.arange(len(proba))
    said = np.where(heard.any(axis=1), ballot.answers[rows, best], ballot.class_proba.argmax(axis=1))
    sure = np.where(heard.any(axis=1), proba[rows, best], ballot.class_proba.max(axis=1))
    only = np.zeros_like(heard)
    only[rows, best] = heard.any(axis=1)
    return Answer(ballot.classes[said], sure, only)


LOUDEST = Vote(loudest)


def two_or_all_threshold(expert_proba, right, *, alpha):
    """The second highest score of a right expert, or the only one's, is at least tau."""
    scores = np.sort(np.where(right, expert_proba, -np.inf), axis=1)[:, ::-1]
    second = np.where(right.sum(axis=1) > 1, scores[:, 1], scores[:, 0])
    return -conformal_quantile(-second, alpha=alpha)


TWO_OR_ALL = Target(
    threshold=two_or_all_threshold,
    judge=lambda inside, right: ((inside & right).sum(axis=1) >= np.minimum(right.sum(axis=1), 2)).astype(np.float64),
    promise="with probability at least {level:g} two right {expert}s, or the only one, are in the set",
    broken="hold two right experts less often",
)


def brier(confidence, right, rng, draws):
    """Return the mean squared residual."""
    return Figure(brier_score(confidence, right))


BRIER = Metric(brier, "Brier score", ("mean squared difference of P(right) and what came of it",))
