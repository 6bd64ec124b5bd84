"""The targets of panels by name: what a set of experts promises, and how it is judged.

The registry is here because `decide.panels` makes the promises and `judge` judges them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.registry import Registry


@dataclass(frozen=True)
class Target:
    """A promise about sets {j: P(expert j is right) >= tau}, for items that some expert gets right.

    Attributes
    ----------
    threshold : callable
        (expert_proba (n, J), right (n, J), *, alpha) -> tau, the largest that keeps the promise; `right` says who is
        known to have been right, and each row has somebody.
    judge : callable
        (inside (m, J), right (m, J)) -> (m,): what each set achieves, in [0, 1]. The promise is about its mean.
    promise : str
        The promise in words, with the fields {level}, the share promised, and {expert}, "expert" or
        "observed expert".
    of_panel : str
        What the panel of a deferred case does, with the field {level}, where at least one expert is right; "" for the
        words of `promise`.
    broken : str
        What panels do that break it, after the word "Panels" and before "than promised".
    at_most : bool
        Is the mean of `judge` promised to be at most alpha? Else it is at least 1 - alpha.
    """

    threshold: Callable[..., float]
    judge: Callable[[BoolArray, BoolArray], FloatArray]
    promise: str
    broken: str
    at_most: bool = False
    of_panel: str = ""

    def level(self, alpha: float) -> float:
        """Return the mean that is promised: alpha, or 1 - alpha."""
        return alpha if self.at_most else 1 - alpha

    @property
    def bound(self) -> str:
        """Return "at most" or "at least"."""
        return "at most" if self.at_most else "at least"


TARGETS: Registry[Target] = Registry("target", group="defero.targets", kind=Target)
TARGETS.register_lazily("any-correct", "defero.decide.panels.thresholds:ANY_CORRECT")
TARGETS.register_lazily("all-correct", "defero.decide.panels.thresholds:ALL_CORRECT")
TARGETS.register_lazily("missed-share", "defero.decide.panels.thresholds:MISSED_SHARE")
