"""What commands print: sentences for people, JSON for machines."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from defero.cli.options import spelling

if TYPE_CHECKING:
    from collections.abc import Iterable

    from defero.team.facts import AnsweringFacts

running: dict[str, str | None] = {"command": None}
"""Which command runs: some have options of their own for the same argument."""


WITH_RENAME = ("fit", "evaluate", "report", "route", "add-expert")
"""Commands that take a mapping of spellings."""


def this_command() -> str:
    """Return the line that was typed."""
    return shlex.join(["defero", *sys.argv[1:]])


def spelled(value: Any) -> Any:
    """Return messages with the options of the running command, wherever they stand in a value."""
    if isinstance(value, dict):
        return {name: spelled(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [spelled(one) for one in value]
    return value.message(spelling(running["command"])) if hasattr(value, "message") else value


def echo(text: Any = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text; control characters of names out of files become escapes, which no terminal obeys."""
    from defero.core.wording import printable

    typer.echo(printable(str(text)), err=err, nl=nl)


def emit(value: dict[str, Any]) -> None:
    """Print one JSON object to standard output."""
    typer.echo(json.dumps(spelled(value), indent=1, ensure_ascii=False, allow_nan=False))


def show_notes(notes: "Iterable[str]") -> None:
    """Print notes to standard error."""
    for note in notes:
        echo(f"note: {spelled(note)}", err=True)


def show_rename(error: Exception) -> None:
    """Write a mapping of answers that are no class for the reader to complete, and say where; else do nothing."""
    if not hasattr(error, "renamed") or running["command"] not in WITH_RENAME:
        return
    from defero.core.errors import InputError
    from defero.data.answers.class_codes import BadAnswersError
    from defero.data.answers.spellings import write_rename

    if not isinstance(error, BadAnswersError):
        return
    try:
        mapping = error.mapping()
        path = write_rename(mapping, Path(error.answers[0].source))
    except (InputError, OSError):  # a folder where nothing can be written: the message has it all
        return
    what_to_do = "check" if all(mapping.values()) else "complete"
    echo(f"{path} has these spellings: {what_to_do} its column to and pass --rename {path}.", err=True)
    if error.alike:
        echo(f"It also merges labels that differ in capitals or blanks alone: {error.merged_labels()}.", err=True)


def show_answering(facts: "AnsweringFacts | None", *, when: str) -> None:
    """Print what was seen of who answered what; nothing where that is nothing."""
    if facts is not None and facts.sentences:
        echo("\n".join([f"Who answered what, {when}:", *(f"  {spelled(one)}" for one in facts.sentences)]) + "\n")
