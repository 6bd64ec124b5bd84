"""`make slowest`: where the CPU time of the tests goes, by test, by file and by what is not a test.

A plug-in of pytest: each worker writes one line per test into a folder, and the run's first process adds them up. CPU
seconds of the process and of the processes that it waited for, so that a busy machine changes little.
"""

import json
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

FOLDER = "DEFERO_CPU_OF_TESTS"
"""Environment variable: the folder of the lines."""
N_SHOWN = 30


def cpu_seconds() -> float:
    """Return the user CPU seconds of this process and of its ended children."""
    times = os.times()
    return times.user + times.children_user


class CpuOfTests:
    """Writes what each test, and the start of the process before the first one, has used."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / f"{os.getpid()}.jsonl").open("a")

    def pytest_collection_finish(self) -> None:
        """Write what imports and collection have used."""
        self._write("(imports and collection)", cpu_seconds())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Write what a test and its fixtures have used."""
        start = cpu_seconds()
        outcome = yield
        self._write(item.nodeid, cpu_seconds() - start)
        return outcome

    def _write(self, name: str, seconds: float) -> None:
        self._file.write(json.dumps([name, round(seconds, 3)]) + "\n")
        self._file.flush()


def pytest_configure(config: pytest.Config) -> None:
    """Measure where the folder is named."""
    if FOLDER in os.environ:
        config.pluginmanager.register(CpuOfTests(Path(os.environ[FOLDER])))


def summary(lines: list[tuple[str, float]]) -> str:
    """Return the total, the dearest files and the dearest tests.

    >>> print(summary([("a.py::one", 2.0), ("a.py::two", 1.0), ("b.py::one", 0.5)]))
        3.5 s  all 3 lines; 0 tests of at most 0.05 s use 0.0 s
    files
        3.0 s  a.py (2)
        0.5 s  b.py (1)
    tests
        2.0 s  a.py::one
        1.0 s  a.py::two
        0.5 s  b.py::one
    """
    by_file: defaultdict[str, float] = defaultdict(float)
    n_of: Counter[str] = Counter()
    for name, seconds in lines:
        file = name.partition("::")[0]
        by_file[file] += seconds
        n_of[file] += 1
    small = [seconds for _, seconds in lines if seconds <= 0.05]
    total = sum(seconds for _, seconds in lines)
    shown = [
        f"{total:7.1f} s  all {len(lines)} lines; {len(small)} tests of at most 0.05 s use {sum(small):.1f} s",
        "files",
        *(f"{seconds:7.1f} s  {file} ({n_of[file]})" for file, seconds in most(by_file.items(), 2 * N_SHOWN)),
        "tests",
        *(f"{seconds:7.1f} s  {name}" for name, seconds in most(lines, N_SHOWN)),
    ]
    return "\n".join(shown)


def most(lines: Iterable[tuple[str, float]], n_lines: int) -> list[tuple[str, float]]:
    """Return the lines with the most seconds, those first."""
    return sorted(lines, key=lambda one: -one[1])[:n_lines]


def main() -> int:
    """Run pytest with the arguments given and print where the time went."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        started = time.perf_counter()
        status = pytest.main(["-p", "benchmarks.cpu_of_tests", *sys.argv[1:]])
        pieces = [path.read_text().splitlines() for path in sorted(Path(folder).glob("*.jsonl"))]
        lines = [(name, seconds) for piece in pieces for name, seconds in map(json.loads, piece)]
        print(summary(lines))
        print(f"{cpu_seconds():7.1f} s  user CPU of this process and its children")
        print(f"{time.perf_counter() - started:7.1f} s  on the clock")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
