"""All who answered the item, each by a confusion matrix counted on the training labels; the model is not heard."""

import numpy as np

from benchmarks.people.fold import Fold
from benchmarks.people.shares import shrunk_shares
from benchmarks.people.system import System
from defero import Answer
from defero.core.labels import named
from defero.core.scores import softmax

PRIOR = 10.0
"""So many answers, right by the expert's shrunk share and else alike over the other classes, beside those counted."""


def run(fold: Fold) -> Answer:
    train = fold.train
    n_classes, shares = train.n_classes, shrunk_shares(train)
    log_posterior = np.log(fold.class_shares())
    for j in range(train.answer_idx.shape[1]):
        other = (1 - shares[j]) / (n_classes - 1)
        counts = PRIOR * np.where(np.eye(n_classes, dtype=np.bool_), shares[j], other)
        given = np.flatnonzero(train.answer_idx[:, j] >= 0)
        np.add.at(counts, (train.label_idx[given], train.answer_idx[given, j]), 1.0)
        rows = np.flatnonzero(fold.observed[:, j])
        log_posterior[rows] += np.log(counts / counts.sum(axis=1, keepdims=True)).T[fold.answer_idx[rows, j]]
    proba = softmax(log_posterior)
    label_idx = proba.argmax(axis=1)
    label = named(label_idx, train.classes, n_classes=n_classes)
    return Answer(label, proba.max(axis=1), fold.observed)


SYSTEMS = (System("Dawid-Skene of all", run, kind="all answers heard", hears_all=True),)
