"""How long it takes to start: imports and `defero --help`, beside a bare interpreter, and a small `fit`; CPU seconds.

`fit` of 600 rows and 6 experts is measured in full: what importing does not take of it is learning. Bytecode is
compiled by `make setup`; without it each process compiles scikit-learn, pandas and defero again.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.table_speed import cases

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "python -c 'import numpy'": ["-c", "import numpy"],
    "python -c 'import defero'": ["-c", "import defero"],
    "defero --help": ["-m", "defero", "--help"],
    "python -c 'import pandas'": ["-c", "import pandas"],
    "python -c 'import sklearn.ensemble'": ["-c", "import sklearn.ensemble"],
    "python -c 'import defero.study'": ["-c", "import defero.study"],
    "all that fit imports": ["-c", "import defero.study, defero.estimators.choose_team"],
}
EXPERTS = ",".join(f"expert_{j}" for j in range(6))
FIT = ["-m", "defero", "fit", "cases.csv", "--label", "label", "--experts", EXPERTS, "--out", "model"]


def cpu_seconds(arguments: list[str], folder: str | None = None) -> float:
    """Return the user and system time of one run of Python in a folder."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, *arguments], check=True, cwd=folder, env=one_thread, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run() -> dict[str, float]:
    """Return the best of five for each command."""
    figures = {name: round(min(cpu_seconds(command) for _ in range(5)), 3) for name, command in COMMANDS.items()}
    with tempfile.TemporaryDirectory() as folder:
        cases(600, 10, 6).to_csv(Path(folder) / "cases.csv", index=False)
        figures["defero fit, 600 rows, 6 experts"] = round(min(cpu_seconds(FIT, folder) for _ in range(5)), 3)
    return figures
