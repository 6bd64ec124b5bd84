"""What a team remembers of its making: how its table was read, cut and learned from. Kept in model.json."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from defero.core.errors import Message


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


@dataclass(frozen=True)
class ControlFacts:
    """The question of a Label Studio export."""

    from_name: str
    to_name: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class FitFacts:
    """What a team remembers of its making; None where that is not known, as for a team made in Python.

    Attributes
    ----------
    estimator : str
        The class that was fitted, and its `parameters`.
    columns : names
        Of the table that it was fitted on; None for a matrix.
    label, key : str
        Columns of the truth and of the cases' names.
    random_state : int
    format : str
        "table", "label-studio" or "prodigy".
    log_columns : mapping
        The columns "item", "annotator" and "answer" of a log of answers, where they were named; None without a log.
    majority_label : bool
        Some labels are the most frequent answer.
    control : ControlFacts
    answering : AnsweringFacts
    shared_errors : SharedErrorFacts
    groups, time, split : str
        The column that the table was split by.
    joined : names
        Experts who were added later.
    blank : values
        Those that mean none in the table of `fit`, in all columns but the key.
    rename : mapping
        From a spelling of an answer or a label to the class that is meant, "" for none.
    choice : str
        Which model of the classes was chosen, by how much, and what was not tried.
    """

    estimator: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    label: str | None = None
    key: str | None = None
    random_state: int | None = None
    format: str | None = None
    log_columns: Mapping[str, str] | None = None
    majority_label: bool = False
    control: ControlFacts | None = None
    answering: AnsweringFacts | None = None
    shared_errors: SharedErrorFacts | None = None
    groups: str | None = None
    time: str | None = None
    split: str | None = None
    joined: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
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
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: value for name, value in plain.items() if isinstance(value, str | int | float) and name != "choice"
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; `from_dict` gives back the same facts."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        answering, shared = self.answering, self.shared_errors
        return {
            **values,
            "parameters": dict(self.parameters),
            "columns": None if self.columns is None else list(self.columns),
            "log_columns": None if self.log_columns is None else dict(self.log_columns),
            "control": None if self.control is None else asdict(self.control),
            "answering": None
            if answering is None
            else {**answering.to_dict(), "sentences": [one.to_list() for one in answering.sentences]},
            "shared_errors": None if shared is None else shared.to_dict(),
            "joined": list(self.joined),
            "blank": list(self.blank),
            "rename": dict(self.rename),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild what `to_dict` gave; `schema.facts` checks it before."""
        columns, control, answering, shared = (
            values[name] for name in ("columns", "control", "answering", "shared_errors")
        )
        rebuilt = {
            "columns": None if columns is None else tuple(columns),
            "control": None if control is None else ControlFacts(**control),
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
            "blank": tuple(values["blank"]),
        }
        return cls(**{**values, **rebuilt})
