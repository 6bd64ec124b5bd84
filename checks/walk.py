"""Count the files in which a small `fit`, `route` and `report` run a function; `checks.house --walk` runs this file.

python checks/walk.py OUT PACKAGE_FOLDER...
"""

import json
import sys
import threading
from collections.abc import Callable
from functools import partial
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType

import numpy as np
import pandas as pd

from defero.cli.main import main

ROWS = 400


class Walk:
    """Counts the files of some folders in which a function runs; the bodies of classes and modules do not count."""

    def __init__(self, folders: list[str]) -> None:
        self.folders = tuple(folders)
        self.files: set[str] = set()

    def _on_event(self, frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and frame.f_code.co_flags & CO_OPTIMIZED:
            self.files.add(frame.f_code.co_filename)

    def during(self, run: Callable[[], object]) -> int:
        """Return in how many files."""
        self.files.clear()
        threading.setprofile(self._on_event)
        sys.setprofile(self._on_event)
        try:
            run()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        return sum(name.startswith(self.folders) for name in self.files)


def small_cases() -> pd.DataFrame:
    """Return cases of three doctors."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 3)).round(3)
    truth = np.where(x[:, 0] + rng.normal(size=ROWS) > 0, "yes", "no")
    other = np.where(truth == "yes", "no", "yes")
    doctors = {f"dr_{j}": np.where(rng.random(ROWS) < 0.6 + 0.1 * j, truth, other) for j in range(3)}
    return pd.DataFrame(x, columns=list("abc")).assign(truth=truth, **doctors)


def command(*words: str) -> None:
    """Run one command of the command line."""
    sys.argv = ["defero", *words]
    try:
        main()
    except SystemExit as stop:
        if stop.code:
            raise


def walks(folder: Path, packages: list[str]) -> dict[str, int]:
    """Return the number of files of each command."""
    cases, new, model, page = (str(folder / name) for name in ("cases.csv", "new.csv", "model", "report.html"))
    frame, walk = small_cases(), Walk(packages)
    frame.to_csv(cases, index=False)
    frame[list("abc")].to_csv(new, index=False)
    named = ("--label", "truth", "--experts", "dr_0,dr_1,dr_2")
    lines = {
        "fit": ("fit", cases, *named, "--out", model),
        "route": ("route", model, new, "--out", str(folder / "decisions.csv")),
        "report": ("report", model, cases, "--out", page, "--all-rows-new"),
    }
    return {name: walk.during(partial(command, *words)) for name, words in lines.items()}


if __name__ == "__main__":
    target = Path(sys.argv[1])
    (target / "walk.json").write_text(json.dumps(walks(target, sys.argv[2:])))
