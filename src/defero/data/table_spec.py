"""How a table of cases is read: said in Python or on the command line, kept in the model folder, applied by `route`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, Literal, Self, TypedDict

Rename = Mapping[str, str] | str | PathLike[str]
"""From a spelling to the class that is meant, "" for none; or a file with the columns from and to."""
Kind = Literal["text", "flag", "list", "names", "file"]
STEP = " / "


def _option(words: str, default: Any = None, *, kind: Kind = "text", again: bool = False, called: str = "") -> Any:
    """Describe a field of `TableSpec`: what the command line says of its option, and how the option is called.

    `again`: other tables of the same team may be said to differ in it.
    """
    about = {"words": words, "kind": kind, "again": again, "called": called}
    if callable(default):
        return field(default_factory=default, metadata=about)
    return field(default=default, metadata=about)


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """How a table of cases is read; `read_cases` says what the fields mean. None and the like: nothing is said.

    Each field is an option of `defero fit`, in the words that stand here; `log` says that there is a log of answers.
    """

    label: str | None = _option("Column of the true labels.", again=True)
    expert_names: tuple[str, ...] | None = _option(
        "Columns of the experts' answers, separated by commas; put quotes around a name that has a comma. "
        "A blank cell means that the expert was not asked. With --answers: the experts to use. Default: all.",
        kind="names",
        called="experts",
    )
    item: str | None = _option("Column of the item in --answers. Default: found by name.", again=True)
    annotator: str | None = _option(
        "Column of the expert in --answers. Default: found by name.", again=True, called="expert"
    )
    answer: str | None = _option("Column of the answer in --answers. Default: found by name.", again=True)
    text: tuple[str, ...] = _option("Feature column of text. Repeat for several columns.", (), kind="list")
    features: tuple[str, ...] | None = _option(
        "Feature columns, separated by commas. Default: all other columns.", kind="names"
    )
    key: str | None = _option("Column of case ids. It is not used as a feature.", again=True)
    majority_label: bool = _option(
        "Use the most frequent answer as the label of cases without a label.", False, kind="flag", again=True
    )
    groups: str | None = _option(
        "Column of group ids, such as patient ids. All rows of a group go to the same part.", called="group"
    )
    time: str | None = _option(
        "Column of dates or numbers. The earliest cases are learned from, the latest are the test part."
    )
    split: str | None = _option("Column that names the part of each case, such as train, val or test.")
    format: str | None = _option(
        "table, label-studio, prodigy or a format of another package. Default: by the ending of the name.", again=True
    )
    control: str | None = _option("Name of the question to use, if a Label Studio export has several.", again=True)
    rename: Mapping[str, str] = _option(
        "File with the columns from (a spelling of an answer or a label) and to (the class that it means). An empty "
        "cell in to means no answer. If answers are no class, such a file is written for you to complete. fit "
        "remembers it for the other commands.",
        dict,
        kind="file",
        again=True,
    )
    blank: tuple[str, ...] = _option(
        "Value to read as a blank cell, such as n/a or -9, in features, labels and answers, but not in the key. fit "
        "remembers it for the other commands. Repeat for several values. For answers and labels alone use --rename.",
        (),
        kind="list",
        again=True,
    )
    image_column: str | None = _option("Column of the pictures' paths, relative to the folder.")
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
    rename: Rename | None
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
