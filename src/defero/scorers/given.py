"""Probabilities of another model: two functions of the features, or two arrays for a fixed list of items."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, names
from defero.core.errors import Argument, InputError
from defero.core.labels import Labels, find_classes
from defero.core.scores import Scores
from defero.core.wording import join_names

_NOT_OURS = (
    "save: this team was built from your own probabilities and has no model to save; "
    "save your model, and build the team again from it."
)


@dataclass(frozen=True, eq=False)
class GivenScorer:
    """Scores of a fixed list of items, or a function from features to scores."""

    kind: ClassVar[str] = "given"
    given: Scores | Callable[[Any], Scores]

    def score(self, features: Any) -> Scores:
        """Return the scores of whatever the function takes; a list takes no features."""
        if not isinstance(self.given, Scores):
            return self.given(features)
        if features is not None:
            raise InputError(
                f": this team was built from arrays for {len(self.given)} items, so leave X out (None); "
                "to route other items, build it from two functions of X.",
                argument="X",
            )
        return self.given

    def to_saved(self) -> NoReturn:
        """Refuse: there is no model, and a function cannot be written."""
        raise InputError(_NOT_OURS)


def given_scorer(
    class_proba: Callable[[Any], ArrayLike] | ArrayLike | None,
    expert_proba: Callable[[Any], ArrayLike] | ArrayLike,
    *,
    classes: ArrayLike | None,
    expert_names: ArrayLike | None,
) -> tuple[GivenScorer, Labels, tuple[str, ...]]:
    """Return a scorer on two functions or two arrays, with its classes (K,) and the J experts' names.

    For arrays, classes are 0..K-1 and experts `expert_0`, ... where nothing is said; functions need both. Without
    `class_proba` there are no classes.
    """
    if class_proba is None:
        classes = np.empty(0, dtype=object)
        class_proba = _no_classes if callable(expert_proba) else _no_classes(expert_proba)
    if callable(class_proba) and callable(expert_proba):
        if classes is None or expert_names is None:
            raise InputError(
                f"and {Argument('expert_names')} must be given where {Argument('class_proba')} and "
                f"{Argument('expert_proba')} are functions.",
                argument="classes",
            )
        scorer = GivenScorer(partial(_scores_of, class_proba, expert_proba))
    elif callable(class_proba) or callable(expert_proba):
        raise InputError(
            f"and {Argument('expert_proba')} must both be functions, or both be arrays.", argument="class_proba"
        )
    else:
        scores = Scores.from_probabilities(class_proba, expert_proba)
        scorer = GivenScorer(scores)
        classes = np.arange(scores.n_classes) if classes is None else classes
        expert_names = names("expert_names", expert_names, count=scores.n_experts)
        if len(np.asarray(classes)) != scores.n_classes:
            raise InputError(
                f"must be {scores.n_classes} labels, one per column of class_proba, got {len(np.asarray(classes))}.",
                argument="classes",
            )
    labels = find_classes(classes, name="classes") if np.size(classes) else np.empty(0, dtype=object)
    if not np.array_equal(labels, np.asarray(classes)):
        raise InputError(
            f"must be distinct and sorted like the columns, got {join_names(np.asarray(classes))}.", argument="classes"
        )
    return scorer, labels, tuple(str(name) for name in np.asarray(expert_names))


def _scores_of(
    class_proba: Callable[[Any], ArrayLike], expert_proba: Callable[[Any], ArrayLike], features: Any
) -> Scores:
    return Scores.from_probabilities(class_proba(features), expert_proba(features))


def _no_classes(items: Any) -> FloatArray:
    """Return probabilities (n, 0) of items without classes."""
    return np.empty((len(items), 0))
