"""The team that the docs advise."""

from functools import lru_cache

from benchmarks.people.fold import Fold
from benchmarks.people.system import fitted
from defero import DeferralClassifier, ExpertTable, Team


def team(fold: Fold) -> DeferralClassifier:
    """Return it, not fitted."""
    return DeferralClassifier("auto", loss="auto", text=fold.texts, random_state=fold.seed)


# Several systems of one fold share a fit, and the first of them to ask is charged with its seconds.
@lru_cache(maxsize=2)
def advised(fold: Fold) -> Team:
    """Return the team, fitted on a fold's training part."""
    return fitted(team, fold)


@lru_cache(maxsize=1)
def cut(fold: Fold) -> tuple[Team, ExpertTable]:
    """Return the team, fitted on 80 % of a fold's training part, and the other rows."""
    part, held = fold.cut()
    return fitted(team, part), held


@lru_cache(maxsize=1)
def reading(fold: Fold) -> Fold:
    """Return the fold with whatever text it has among its features."""
    return fold.with_words()
