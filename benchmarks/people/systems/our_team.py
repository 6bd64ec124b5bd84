"""Ours, the one that the docs advise: the model or one expert."""

from benchmarks.people.advised import advised, cut, reading
from benchmarks.people.fold import Fold
from benchmarks.people.system import System
from defero import Answer


def run(fold: Fold) -> Answer:
    """Learn from the whole training part."""
    fold = reading(fold)
    return advised(fold).answer(fold.features, fold.answers, vote="expert")


def run_recalibrated(fold: Fold) -> Answer:
    """Learn from 80 % of the training part and recalibrate on the rest."""
    fold = reading(fold)
    team, held = cut(fold)
    honest = team.copy().calibrate(held.features, held.labels, held.answers, disjoint=True)
    return honest.answer(fold.features, fold.answers, vote="expert")


def run_without_words(fold: Fold) -> Answer:
    """Learn from the numbers alone, as the plain rule does."""
    return advised(fold).answer(fold.features, fold.answers, vote="expert")


SYSTEMS = (
    System("our team", run, kind="ours", place=1),
    System("our team, recalibrated", run_recalibrated, kind="ours", place=2),
    System("our team, not reading the text", run_without_words, kind="ours", place=3, needs_words=True),
)
