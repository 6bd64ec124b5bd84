"""How a table of cases is read: said in Python or on the command line, kept in the model folder, applied by `route`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypedDict

from defero.core.errors import InputError
from defero.data.tables.cells import BlankCells

if TYPE_CHECKING:
    from defero.data.answers.spellings import Rename

STEP = " / "


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """How a table of cases is read: the arguments of `read_cases`. None and the like: nothing is said.

    `log` says that there is a log of answers.
    """

    label: str | None = None
    expert_names: tuple[str, ...] | None = None
    item: str | None = None
    annotator: str | None = None
    answer: str | None = None
    text: tuple[str, ...] = ()
    features: tuple[str, ...] | None = None
    key: str | None = None
    majority_label: bool = False
    groups: str | None = None
    time: str | None = None
    split: str | None = None
    format: str | None = None
    control: str | None = None
    rename: Mapping[str, str] = field(default_factory=dict)
    blank: tuple[str, ...] = ()
    image_column: str | None = None
    scores: bool = False
    log: bool = False

    def but(self, **changes: Any) -> Self:
        """Return the same but for some fields."""
        return replace(self, **changes)

    @property
    def meant(self) -> dict[str, str]:
        """From an answer or a label as written to the class that is meant, "" for none."""
        return {**self.rename, **{value: "" for value in self.blank if value not in self.rename}}

    @property
    def apart(self) -> tuple[tuple[str, str], ...]:
        """The columns by which the cases are split, each with its role: they are no features."""
        roles = ((self.groups, "the groups"), (self.time, "the time"), (self.split, "the split"))
        return tuple((name, role) for name, role in roles if name is not None)

    @property
    def cuts(self) -> dict[str, str | None]:
        """The same columns by the names of the fields."""
        return {"groups": self.groups, "time": self.time, "split": self.split}

    @property
    def log_columns(self) -> dict[str, str | None]:
        """The columns of the log of answers."""
        return {"item": self.item, "annotator": self.annotator, "answer": self.answer}

    def with_spellings_of(self, other: "TableSpec") -> Self:
        """Return the same with the spellings and blank values of another table too, where nothing else is said here."""
        renamed = {written: text for written, text in other.rename.items() if written not in self.blank}
        return replace(self, rename={**renamed, **self.rename}, blank=tuple(dict.fromkeys((*other.blank, *self.blank))))


class SaidAgain(TypedDict, total=False):
    """What may be said of another table of a team, as in `read_cases`; the rest is as in the table of `fit`."""

    label: str | None
    item: str | None
    annotator: str | None
    answer: str | None
    key: str | None
    majority_label: bool
    format: str | None
    control: str | None
    rename: "Rename | None"
    blank: Sequence[str]


@dataclass(frozen=True)
class Control:
    """A question of the labelling interface: its name, what it asks about, and its kind.

    Attributes
    ----------
    from_name, to_name : str
        The names of the control and of the object it labels, as in the labelling configuration.
    kind : str
        choices, rating or taxonomy.
    """

    from_name: str
    to_name: str
    kind: str

    def result(self, answer: object) -> dict[str, Any]:
        """Write an answer as Label Studio does.

        >>> Control("sentiment", "text", "choices").result("good")["value"]
        {'choices': ['good']}
        """
        value: Any = [str(answer)]
        if self.kind == "rating":
            value = answer
        elif self.kind == "taxonomy":
            value = [str(answer).split(STEP)]
        return {"from_name": self.from_name, "to_name": self.to_name, "type": self.kind, "value": {self.kind: value}}


def checked_spec(
    *,
    expert_names: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    text: str | Sequence[str] = (),
    rename: "Rename | None" = None,
    blank: Sequence[str] = (),
    log: bool = False,
    **words: Any,
) -> TableSpec:
    """Check what somebody says of a table, in the words of `read_cases`; `log` tells whether there is a log of answers.

    >>> checked_spec(label="truth", blank=["n/a ", "-9"]).blank
    ('n/a', '-9')
    """
    from defero.data.answers.spellings import Spellings  # pandas, which a saved team does without

    words |= {name: str(words[name]) for name in ("label", "key") if words.get(name) is not None}
    meant, none = Spellings.of(rename=rename, blank=blank).meant, BlankCells.of(blank).values
    return TableSpec(
        expert_names=_names(expert_names, "expert_names"),
        features=_names(features, "features"),
        text=(text,) if isinstance(text, str) else tuple(text),
        rename={written: text for written, text in meant.items() if written not in none},
        blank=none,
        log=log,
        **words,
    )


def _names(names: Sequence[str] | None, argument: str) -> tuple[str, ...] | None:
    if isinstance(names, str):
        raise InputError(f"must be a list of column names, got the text {names!r}.", argument=argument)
    return None if names is None else tuple(map(str, names))
