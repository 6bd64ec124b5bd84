"""Somebody else's probabilities: two functions of the features, or two arrays for a fixed list of items."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from defero.core.checks import FloatArray
from defero.core.errors import InputError
from defero.core.scores import Scores

_NOT_OURS = (
    "save: this router was built from your own probabilities, so there is no model of ours to save; "
    "keep your model, and build the router again from it."
)


@dataclass(frozen=True, eq=False)
class FunctionScorer:
    """Call two functions: features -> (n, K) class probabilities, features -> (n, J) P(expert is right)."""

    kind: ClassVar[str] = "functions"
    class_proba: Callable[[Any], ArrayLike]
    expert_proba: Callable[[Any], ArrayLike]

    def score(self, features: Any) -> Scores:
        """Return the scores of whatever the functions take."""
        return Scores.from_probabilities(self.class_proba(features), self.expert_proba(features))

    def pack(self, folder: Path) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        """Refuse: a function cannot be written."""
        raise InputError(_NOT_OURS)


@dataclass(frozen=True, eq=False)
class ArrayScorer:
    """Hold the scores of a fixed list of items."""

    kind: ClassVar[str] = "arrays"
    scores: Scores

    def score(self, features: Any) -> Scores:
        """Return the scores held; there are no features to pass."""
        if features is not None:
            raise InputError(
                f"X: this router was built from arrays for {len(self.scores)} items, so leave X out (None); "
                "to route other items, build it from two functions of X."
            )
        return self.scores

    def pack(self, folder: Path) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        """Refuse: there is no model."""
        raise InputError(_NOT_OURS)
