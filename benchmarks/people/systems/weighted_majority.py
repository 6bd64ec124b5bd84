"""The majority of all who answered the item, each vote weighted by the log-odds of being right."""

from benchmarks.people.fold import Fold
from benchmarks.people.shares import shrunk_shares
from benchmarks.people.system import System
from defero import Answer
from defero.decide.votes import weighted_vote


def run(fold: Fold) -> Answer:
    return weighted_vote(
        fold.answer_idx,
        fold.observed,
        shrunk_shares(fold.train),
        n_classes=fold.train.n_classes,
        class_proba=fold.class_shares(),
        classes=fold.train.classes,
    )


SYSTEMS = (System("weighted majority of all", run, kind="all answers heard", hears_all=True),)
