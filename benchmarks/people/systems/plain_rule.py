"""The mark to beat: how often each annotator was right, shrunk; the best one is asked if better than the model."""

import numpy as np

from benchmarks.people.fold import Fold
from benchmarks.people.shares import model_proba, shrunk_shares
from benchmarks.people.system import System
from defero import Answer, Team


def run(fold: Fold) -> Answer:
    everywhere = np.tile(shrunk_shares(fold.train), (len(fold), 1))
    team = Team.from_probabilities(
        model_proba(fold), everywhere, classes=fold.train.classes, expert_names=fold.train.expert_names
    )
    return team.answer(None, fold.answers, vote="expert")


SYSTEMS = (System("plain rule", run, kind="references", place=4),)
