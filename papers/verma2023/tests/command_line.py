"""Run the paper's command in this process: as `python -m defero_verma2023` does, which needs no installed package."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from defero_verma2023.__main__ import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def run(*arguments):
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv, code = ["defero_verma2023", *map(str, arguments)], 0
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        sys.argv = before
    return Outcome(code, out.getvalue(), err.getvalue())
