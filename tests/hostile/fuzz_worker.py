"""Reads changed tables and folders one after the other, and writes a line about each: python fuzz_worker.py ARGUMENTS.

Arguments: the folder of models, where to write lines, the seed, the first case, and the case after the last one.
The system ends this process where a case takes too many CPU seconds; too much memory makes a `MemoryError`.
"""

import json
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from mutations import EXPERTS, KEY, LABEL, cell_changed, folder_changed, frame, table_changed, tables

from defero import Study, Team, read_cases
from defero.core.errors import InputError

CPU_SECONDS = 20
MORE_BYTES = 1 << 30
"""How much more memory than at the start one process may reserve."""
CORPUS = Path(__file__).parent / "corpus"
FOLDERS_EACH = 3
"""Of so many cases one is a model folder."""
READABLE, ONE_CELL = 0.7, 0.7
"""Share of tables that begin with one that can be read, and of these the share in which a cell or two are changed."""

_BADNESS = {"fine": 0, "error": 1}


def resident_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def reserved_bytes():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


class Cases:
    """Builds each case by its number, and tries it."""

    def __init__(self, models, room, seed):
        self.models, self.room, self.seed = models, room, seed
        self.readable = sorted(tables())
        self.tables = tables() | {path.name: path.read_bytes() for path in sorted(CORPUS.iterdir())}
        self.study = Study.load(models / "table")
        self.frame = frame(5, seed=2)

    def attempt(self, number):
        """Return the kind of a case and what came of it."""
        rng = np.random.default_rng([self.seed, number])
        if number % FOLDERS_EACH == 0:
            names = sorted(path.name for path in self.models.iterdir())
            name = names[rng.integers(len(names))]
            folder_changed(self.models / name, self.room / "model", rng)
            return f"folder {name}", self._outcome(self._use_folder)
        readable = rng.random() < READABLE
        names = self.readable if readable else sorted(self.tables)
        name = names[rng.integers(len(names))]
        path = self.room / name
        content, how = self.tables[name], ""
        if readable and rng.random() < ONE_CELL:
            content, how = cell_changed(name, content, rng), ", a cell"
        elif number >= FOLDERS_EACH * len(self.tables):
            content = table_changed(name, content, rng)
        path.write_bytes(content)
        read = self._outcome(lambda: read_cases(path, label=LABEL, expert_names=EXPERTS, key=KEY))
        routed = self._outcome(lambda: self.study.route(path, out=self.room / "out.csv", key=KEY))
        return f"table {name}{how}", max((read, routed), key=lambda outcome: _BADNESS.get(outcome, 2))

    def _use_folder(self):
        team = Team.load(self.room / "model")
        team.decide(self.frame["age"].to_numpy()[:, None] if team.recipe is None else self.frame)

    def _outcome(self, work):
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                work()
        except InputError as error:
            return "error" if "\n" not in str(error) and len(str(error)) < 1_500 else f"unclear: {error!s:.300}"
        except Exception as error:  # what must not happen: it is written down
            return f"{type(error).__name__}: {error!s:.300}"
        return "fine"


def main(models, lines, seed, start, stop):
    with tempfile.TemporaryDirectory() as scratch, Path(lines).open("a") as file:
        room = Path(scratch)
        cases = Cases(Path(models), room, int(seed))
        limit = reserved_bytes() + MORE_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for number in range(int(start), int(stop)):
            file.write(json.dumps({"begins": number}) + "\n")
            file.flush()
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
            kind, outcome = cases.attempt(number)
            signal.setitimer(signal.ITIMER_PROF, 0)
            line = {"case": number, "kind": kind, "outcome": outcome, "resident": resident_bytes()}
            file.write(json.dumps(line) + "\n")
            for path in room.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
