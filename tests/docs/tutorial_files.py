"""The tables of the tutorial in a folder, and commands of a page run there."""

import io
import shlex
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib.resources import files

import pytest

from defero.cli.main import main


def in_clinic_folder(folder, monkeypatch):
    """Copy both tables to a folder, and go there."""
    for name in ("clinic.csv", "clinic_new.csv"):
        shutil.copy(str(files("defero.datasets") / name), folder / name)
    monkeypatch.chdir(folder)


def run(command):
    """Run a command as a page shows it; return what it prints."""
    before, sys.argv = sys.argv, shlex.split(command)
    printed = io.StringIO()
    try:
        with redirect_stdout(printed), redirect_stderr(io.StringIO()) as errors, pytest.raises(SystemExit) as stop:
            main()
    finally:
        sys.argv = before
    assert not stop.value.code, errors.getvalue()
    return printed.getvalue()
