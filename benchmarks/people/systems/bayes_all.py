"""The Bayes vote of the model and of all who answered the item."""

from benchmarks.people.fold import Fold
from benchmarks.people.shares import model_proba, shrunk_shares
from benchmarks.people.system import System
from defero import Answer
from defero.decide.votes import bayes_vote


def run(fold: Fold) -> Answer:
    return bayes_vote(
        fold.answer_idx,
        fold.observed,
        shrunk_shares(fold.train),
        model_proba(fold),
        classes=fold.train.classes,
    )


SYSTEMS = (System("Bayes vote of all and the model", run, kind="all answers heard", hears_all=True),)
