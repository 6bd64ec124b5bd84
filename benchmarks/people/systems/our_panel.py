"""Ours: panels that hold somebody right in 90 % of the deferred items, and a Bayes vote."""

from benchmarks.people.advised import cut, reading
from benchmarks.people.fold import Fold
from benchmarks.people.system import System
from defero import Answer
from defero.decide.terms import Terms

ALPHA = 0.1


def run(fold: Fold) -> Answer:
    """Fit on 80 % of the training part and calibrate the panels on the rest."""
    fold = reading(fold)
    team, held = cut(fold)
    panels = team.copy().conformalize(
        held.features, held.labels, held.answers, alpha=ALPHA, target="any-correct", disjoint=True
    )
    return panels.answer(fold.features, fold.answers, vote="bayes", terms=Terms(available=fold.observed))


SYSTEMS = (System("our panel", run, kind="ours", place=4),)
