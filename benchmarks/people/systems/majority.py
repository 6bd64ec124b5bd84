"""The majority of all who answered the item; an even vote goes to the side with the more reliable annotator."""

from benchmarks.people.fold import Fold
from benchmarks.people.shares import shrunk_shares
from benchmarks.people.system import System
from defero import Answer
from defero.decide.votes import majority_vote


def run(fold: Fold) -> Answer:
    return majority_vote(
        fold.answer_idx,
        fold.observed,
        n_classes=fold.train.n_classes,
        expert_proba=shrunk_shares(fold.train),
        class_proba=fold.class_shares(),
        classes=fold.train.classes,
    )


SYSTEMS = (System("majority of all", run, kind="all answers heard", promises=False, hears_all=True),)
