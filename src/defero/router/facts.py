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
    alarm : bool
        It depends on the label, beyond what the features foretell.
    depends_on_features : bool
    sentences : messages
        What that means and what to do; none where nothing was seen.
    """

    alarm: bool
    depends_on_features: bool
    sentences: tuple[Message, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, the sentences in Python's spelling."""
        return {
            "alarm": self.alarm,
            "depends_on_features": self.depends_on_features,
            "said": list(self.sentences),
        }


@dataclass(frozen=True)
class SharedErrorFacts:
    """Experts who make the same mistakes, in all answers of the table of `fit`: sentences, and groups of names."""

    sentences: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"said": list(self.sentences), "groups": [list(group) for group in self.groups]}


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
        return {name: value for name, value in plain.items() if isinstance(value, str | int | float)}

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
            else {**answering.to_dict(), "said": [one.to_list() for one in answering.sentences]},
            "shared_errors": None if shared is None else shared.to_dict(),
            "joined": list(self.joined),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild what `to_dict` gave; raises a ValueError that names the entry where a value is of another type.

        >>> FitFacts.from_dict({**FitFacts(label="truth").to_dict(), "label": 3})
        Traceback (most recent call last):
        ...
        ValueError: facts.label must be a text or null, got int.
        """
        known = _Entries("facts", values, {one.name for one in fields(cls)})
        answering, shared, control = (known.entries(name) for name in ("answering", "shared_errors", "control"))
        return cls(
            estimator=known.text("estimator"),
            parameters=dict(known.mapping("parameters") or {}),
            columns=known.texts("columns"),
            label=known.text("label"),
            key=known.text("key"),
            random_state=known.number("random_state"),
            format=known.text("format"),
            log_columns=known.named_texts("log_columns", ("item", "annotator", "answer")),
            majority_label=known.flag("majority_label"),
            control=None
            if control is None
            else ControlFacts(*(control.required(name) for name in ("from_name", "to_name", "kind"))),
            answering=None
            if answering is None
            else AnsweringFacts(
                answering.flag("alarm"), answering.flag("depends_on_features"), answering.messages("said")
            ),
            shared_errors=None
            if shared is None
            else SharedErrorFacts(shared.texts("said") or (), shared.lists_of_texts("groups")),
            groups=known.text("groups"),
            time=known.text("time"),
            split=known.text("split"),
            joined=known.texts("joined") or (),
        )


class _Entries:
    """Typed reading of a mapping from JSON; a message names the entry."""

    def __init__(self, where: str, values: object, known: set[str] | None = None) -> None:
        if not isinstance(values, Mapping):
            raise ValueError(f"{where} must be an object, got {type(values).__name__}.")
        strange = [name for name in values if known is not None and name not in known]
        if strange:
            raise ValueError(f"{where} has the unknown entry {strange[0]!r}.")
        self.where, self.values = where, values

    def _typed(self, name: str, kinds: tuple[type, ...], what: str) -> Any:
        value = self.values.get(name)
        if value is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
            raise ValueError(f"{self.where}.{name} must be {what} or null, got {type(value).__name__}.")
        return value

    def text(self, name: str) -> str | None:
        value: str | None = self._typed(name, (str,), "a text")
        return value

    def required(self, name: str) -> str:
        value = self.text(name)
        if value is None:
            raise ValueError(f"{self.where}.{name} must be a text, got nothing.")
        return value

    def number(self, name: str) -> int | None:
        value: int | None = self._typed(name, (int,), "a whole number")
        return value

    def flag(self, name: str) -> bool:
        return bool(self._typed(name, (bool,), "true, false"))

    def mapping(self, name: str) -> Mapping[str, Any] | None:
        value: Mapping[str, Any] | None = self._typed(name, (dict,), "an object")
        return value

    def entries(self, name: str) -> "_Entries | None":
        value = self.mapping(name)
        return None if value is None else _Entries(f"{self.where}.{name}", value)

    def named_texts(self, name: str, known: tuple[str, ...]) -> dict[str, str] | None:
        value = self.mapping(name)
        if value is None:
            return None
        entries = _Entries(f"{self.where}.{name}", value, set(known))
        return {key: entries.required(key) for key in value}

    def texts(self, name: str) -> tuple[str, ...] | None:
        value = self._typed(name, (list,), "a list of texts")
        return None if value is None else self._all_texts(name, value)

    def lists_of_texts(self, name: str) -> tuple[tuple[str, ...], ...]:
        value = self._typed(name, (list,), "a list of lists") or []
        return tuple(self._all_texts(name, one) for one in value)

    def messages(self, name: str) -> tuple[Message, ...]:
        value = self._typed(name, (list,), "a list of messages") or []
        try:
            return tuple(Message.from_list(list(one)) for one in value)
        except (LookupError, TypeError) as error:
            raise ValueError(f"{self.where}.{name} must be a list of messages: {error}.") from error

    def _all_texts(self, name: str, values: object) -> tuple[str, ...]:
        if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
            raise ValueError(f"{self.where}.{name} must be a list of texts, got something else.")
        return tuple(values)
