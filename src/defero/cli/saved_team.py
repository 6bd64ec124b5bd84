"""A saved team as a command names it: its folder, not a file."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from defero.router import Router


def saved_team(model: Path) -> "Router":
    """Load the team that a command names before its table; where that is a file, the two were swapped."""
    from defero.router import Router

    refuse_file(model, "the model comes first, then the table of cases.")
    return Router.load(model)


def refuse_file(model: Path, hint: str) -> None:
    """Refuse a file where a model folder is expected, with what to do."""
    from defero.core.errors import InputError

    if model.is_file():
        raise InputError(f"{model}: is a file and not a model folder; {hint}")


def replaced_sentence(out: Path) -> list[str]:
    """Say that a model goes where another was; asked before that happens, and after `check_writable`."""
    there = out.is_dir() and any(out.iterdir())
    return [f"{out}: there was a model already; the new one has replaced it."] if there else []
