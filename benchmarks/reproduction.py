"""How long the reproduction takes whoever has no GPU: the stored outputs, and a quick training. Needs DEFERO_DATA."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from defero import InputError
from defero_verma2023.figures.catalogue import FIGURES
from defero_verma2023.reproduction import reproduce_stored
from defero_verma2023.stored.outputs import outputs_folder
from defero_verma2023.training_runs import run_figure


def run() -> dict[str, object]:
    """Return the seconds of `defero reproduce all --stored`, and of one figure from scratch with --train --quick."""
    return {
        "all figures from the stored outputs, best of five": _seconds(_stored, times=5),
        "fig2a --train --quick, once; measuring beside it is not counted": _seconds(_quick, times=1),
    }


def _stored(folder: Path) -> None:
    list(reproduce_stored(tuple(FIGURES.values()), folder=outputs_folder(), out=folder))


def _quick(folder: Path) -> None:
    run_figure("fig2a", quick=True, out=folder, say=print)


def _seconds(made: Callable[[Path], None], *, times: int) -> float | str:
    found = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            started = time.process_time()
            try:
                made(Path(folder))
            except InputError as error:
                return f"not measured: {error}"
            found.append(time.process_time() - started)
    return round(min(found), 1)
