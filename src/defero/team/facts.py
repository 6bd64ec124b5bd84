"""What a team remembers of its making: how its table was read, cut and learned from. Kept in model.json."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from defero.core.codec import Share
from defero.core.errors import Message
from defero.data.table_spec import Control, TableSpec


@dataclass(frozen=True)
class AnsweringFacts:
    """What `fit` saw of who answered what.

    Attributes
    ----------
    depends_on_label : bool
        It depends on the label, beyond what the features foretell.
    depends_on_features : bool
    sentences : messages
        What that means and what to do; none where nothing was seen.
    """

    depends_on_label: bool
    depends_on_features: bool
    sentences: tuple[Message, ...] = ()


@dataclass(frozen=True)
class SharedErrorFacts:
    """Experts who make the same mistakes, in all answers of the table of `fit`: sentences, and groups of names."""

    sentences: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class FitFacts:
    """What a team remembers of its making; None where that is not known, as for a team made in Python.

    Attributes
    ----------
    estimator : str
        The class that was fitted, and its `parameters`.
    columns : names
        Of the table that it was fitted on; None for a matrix.
    random_state : int
    spec : TableSpec
        How its table was read; `majority_label` where some labels are the most frequent answer. The features and the
        experts are those of the team.
    control : Control
        The question of a Label Studio export.
    answering : AnsweringFacts
    shared_errors : SharedErrorFacts
    joined : names
        Experts who were added later.
    choice : str
        Which model of the classes, or of the scores, was chosen, by how much, and what was not tried.
    judge : (sensitivity, specificity)
        Of the judge whose marks the scores are.
    fees, error_cost : {name: number or "@column"}, float
        Of `fit`, for a team whose experts have only scores; others keep them with their panels.
    """

    estimator: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    random_state: int | None = None
    spec: TableSpec = field(default_factory=TableSpec)
    control: Control | None = None
    answering: AnsweringFacts | None = None
    shared_errors: SharedErrorFacts | None = None
    joined: tuple[str, ...] = ()
    choice: str | None = None
    judge: tuple[Share, Share] | None = None
    fees: Mapping[str, float | str] = field(default_factory=dict)
    error_cost: float | None = None

    def with_expert(self, name: str) -> Self:
        """Return the facts of a team that somebody joined."""
        return replace(self, joined=(*self.joined, name))

    def without_expert(self, name: str) -> Self:
        """Return the facts of a team that somebody left."""
        return replace(self, joined=tuple(one for one in self.joined if one != name))

    def renamed(self, old: str, new: str) -> Self:
        """Return the facts of a team in which somebody has another name."""
        return replace(self, joined=tuple(new if one == old else one for one in self.joined))

    def settings(self) -> dict[str, str | int | float]:
        """Return what can be shown in a line: the named texts and numbers that are known."""
        spec = self.spec
        plain = {
            "estimator": self.estimator,
            "label": spec.label,
            "key": spec.key,
            "random_state": self.random_state,
            "format": spec.format,
            "majority_label": spec.majority_label,
            **spec.cuts,
        }
        return {name: value for name, value in plain.items() if value is not None}
