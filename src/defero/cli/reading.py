"""The options by which a command is told which file holds the cases, and which of its columns is what."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from defero.data.case_file import Format

Label = Annotated[str | None, typer.Option(help="The column with the truth.")]
Answers = Annotated[
    Path | None, typer.Option(help="Long answers, one per row, to the cases of the table: item, expert, answer.")
]
Item = Annotated[str | None, typer.Option(help="Their column of the item. Default: found by name.")]
Expert = Annotated[str | None, typer.Option(help="Their column of the expert. Default: found by name.")]
Answer = Annotated[str | None, typer.Option(help="Their column of the answer. Default: found by name.")]
Key = Annotated[str | None, typer.Option(help="A column that names the cases; never a feature.")]
Majority = Annotated[
    bool, typer.Option("--majority-label", help="Take the most frequent answer where no label is recorded.")
]
FileFormat = Annotated[
    str | None,
    typer.Option("--format", help="table, label-studio or prodigy. Default: label-studio for .json, else table."),
]
ControlName = Annotated[
    str | None, typer.Option("--control", help="The question of a Label Studio export, where it has several.")
]

MOST_SEED = 2**32 - 1
"""What NumPy's older generators take, which scikit-learn draws from."""

_OPTION = {"annotator": "expert"}
_ARGUMENT = re.compile(r"\bwith (item|annotator|answer|key|control)=")
_SEVERAL = re.compile(r"; pass several='join'.*?several='leave out'")


@dataclass(frozen=True)
class Given:
    """What a command was told of its table; None where it was told nothing."""

    label: str | None = None
    answers: Path | None = None
    item: str | None = None
    expert: str | None = None
    answer: str | None = None
    key: str | None = None
    majority: bool = False
    format: str | None = None
    control: str | None = None
    images: Path | None = None

    def options(self) -> list[str]:
        """Return the words that say the same on a command line."""
        words = {
            "--label": self.label,
            "--answers": None if self.answers is None else str(self.answers),
            "--item": self.item,
            "--expert": self.expert,
            "--answer": self.answer,
            "--key": self.key,
            "--format": self.format,
            "--control": self.control,
            "--images": None if self.images is None else str(self.images),
        }
        given = [word for option, value in words.items() if value is not None for word in (option, value)]
        return [*given, *(["--majority-label"] if self.majority else [])]


def format_of(path: Path, given: str | None, *, remembered: str | None = None) -> "Format":
    """Return the kind of a file: as given, else by its ending, else, for lines of JSON, as the model was fitted."""
    from defero.core.errors import InputError
    from defero.data.exports import export

    try:
        return export.format_of(path, given, remembered=remembered)
    except InputError as error:
        raise InputError(error.message(lambda argument: f"--{argument.name}")) from error


@contextmanager
def in_options() -> Iterator[None]:
    """Let a message name the option where the library names its argument."""
    from defero.core.errors import InputError

    try:
        yield
    except InputError as error:
        told = _ARGUMENT.sub(lambda found: f"with --{_OPTION.get(found[1], found[1])}", str(error))
        told = _SEVERAL.sub("; keep one", told)
        if told == str(error):
            raise
        raise type(error)(told) from error


def listed(names: str | None) -> tuple[str, ...] | None:
    """Return names that stand with commas between; None where nothing is said.

    >>> listed("a, b,"), listed(""), listed(None)
    (('a', 'b'), (), None)
    """
    return None if names is None else tuple(name.strip() for name in names.split(",") if name.strip())
