"""What a team remembers of its making: how its table was read, cut and learned from. Kept in model.json."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, the sentences in Python's spelling."""
        return {
            "depends_on_label": self.depends_on_label,
            "depends_on_features": self.depends_on_features,
            "sentences": list(self.sentences),
        }


@dataclass(frozen=True)
class SharedErrorFacts:
    """Experts who make the same mistakes, in all answers of the table of `fit`: sentences, and groups of names."""

    sentences: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"sentences": list(self.sentences), "groups": [list(group) for group in self.groups]}


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
        Which model of the classes was chosen, by how much, and what was not tried.
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; `from_dict` gives back the same facts."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        answering, shared = self.answering, self.shared_errors
        return {
            **values,
            "parameters": dict(self.parameters),
            "columns": None if self.columns is None else list(self.columns),
            "spec": asdict(self.spec),
            "control": None if self.control is None else asdict(self.control),
            "answering": None
            if answering is None
            else {**answering.to_dict(), "sentences": [one.to_list() for one in answering.sentences]},
            "shared_errors": None if shared is None else shared.to_dict(),
            "joined": list(self.joined),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild what `to_dict` gave; `schema.facts` checks it before."""
        columns, control, answering, shared = (
            values[name] for name in ("columns", "control", "answering", "shared_errors")
        )
        rebuilt = {
            "columns": None if columns is None else tuple(columns),
            "spec": TableSpec(**{name: _frozen(value) for name, value in values["spec"].items()}),
            "control": None if control is None else Control(**control),
            "answering": None
            if answering is None
            else AnsweringFacts(
                answering["depends_on_label"],
                answering["depends_on_features"],
                tuple(map(Message.from_list, answering["sentences"])),
            ),
            "shared_errors": None
            if shared is None
            else SharedErrorFacts(tuple(shared["sentences"]), tuple(map(tuple, shared["groups"]))),
            "joined": tuple(values["joined"]),
        }
        return cls(**{**values, **rebuilt})


def _frozen(value: Any) -> Any:
    """Return a list as the tuple that it was."""
    return tuple(value) if isinstance(value, list) else value
