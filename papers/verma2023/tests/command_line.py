"""Run `defero` in this process, with the paper's command plugged in."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from defero.cli.main import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def run(*arguments):
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv, code = ["defero", *map(str, arguments)], 0
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        sys.argv = before
    return Outcome(code, out.getvalue(), err.getvalue())
