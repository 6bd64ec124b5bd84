"""The folder that a model is written to."""

from os import PathLike
from pathlib import Path

from defero.data.model_folder import check_writable


def writable(folder: str | PathLike[str]) -> list[str]:
    """Raise unless a model may be written there; return a sentence where one is replaced."""
    path = Path(folder)
    check_writable(path)
    occupied = path.is_dir() and any(path.iterdir())
    return [f"{folder}: there was a model already; the new one has replaced it."] if occupied else []
