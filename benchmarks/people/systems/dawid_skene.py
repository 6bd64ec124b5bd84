"""All who answered the item, each by a confusion matrix counted on the training labels; the model is not heard."""

from benchmarks.people.fold import Fold
from benchmarks.people.shares import shrunk_shares
from benchmarks.people.system import System
from defero import Answer
from defero.decide.votes import ConfusionMatrices, bayes_vote


def run(fold: Fold) -> Answer:
    train = fold.train
    matrices = ConfusionMatrices.fit(train.answer_idx, train.label_idx, train.n_classes, min_per_class=0)
    return bayes_vote(
        fold.answer_idx,
        fold.observed,
        shrunk_shares(train),
        fold.class_shares(),
        confusion=matrices,
        classes=train.classes,
    )


SYSTEMS = (System("Dawid-Skene of all", run, kind="all answers heard", hears_all=True),)
