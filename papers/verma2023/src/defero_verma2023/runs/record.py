"""One run, one line of JSON: what was run, how, on what, and what came out. Runs that are there are not made again."""

import json
import math
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from defero import InputError
from defero_verma2023.methods import root_of

PACKAGES = ("defero", "numpy", "scipy", "scikit-learn", "torch", "lightning-fabric", "lightning")


class RunKey(NamedTuple):
    """What makes two runs the same run."""

    experiment: str
    method: str
    setting: float
    seed: int
    protocol: str
    net: str


@dataclass(frozen=True)
class RunRecord:
    """One run and its figures.

    Attributes
    ----------
    experiment, method : str
        e.g. "sim1"; "ova", "softmax", "moe", "decoupled", "asymmetric", "two-stage", "one classifier".
    setting : float
        Where on the x axis; 0 for one classifier, which has none.
    seed : int
    protocol : "as_written" or "as_published"
        Whose experts.
    net : str
        The network or the model that was trained.
    measures : mapping
        Figure -> value; shares, not percent.
    seconds : float
        Of training.
    recipe, machine, versions : mapping
    command : str
    """

    experiment: str
    method: str
    setting: float
    seed: int
    protocol: str
    net: str
    measures: dict[str, Any]
    seconds: float
    recipe: dict[str, Any] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    command: str = ""

    @property
    def key(self) -> RunKey:
        """What makes it this run and no other."""
        return RunKey(self.experiment, self.method, self.setting, self.seed, self.protocol, self.net)


def read_records(path: Path) -> tuple[RunRecord, ...]:
    """Read a file of runs, or none where there is no file; a later line replaces an earlier one of the same run.

    A last line that was cut off, by a kill or a full disk, is left out: that run is missing and will be made again.
    """
    if not path.is_file():
        return ()
    lines = path.read_text(encoding="utf-8").splitlines()
    records: dict[RunKey, RunRecord] = {}
    for number, line in enumerate(lines, start=1):
        try:
            record = RunRecord(**json.loads(line))
            record = replace(
                record, measures=_each(record.measures, lambda value: math.nan if value is None else value)
            )
        except (json.JSONDecodeError, TypeError) as error:
            if number == len(lines):
                break
            raise InputError(f"{path}, line {number} is no run: {error}.") from error
        records[record.key] = record
    return tuple(records.values())


def append_record(path: Path, record: RunRecord) -> None:
    """Write a run at the end of a file, on the disk before this returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = asdict(record)
    written["measures"] = _each(written["measures"], lambda value: _short(value) if math.isfinite(value) else None)
    broken = path.is_file() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    with path.open("a", encoding="utf-8") as file:
        file.write(("\n" if broken else "") + json.dumps(written, sort_keys=True, allow_nan=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _each(measures: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Change every value, those in lists too. JSON has no nan: it is written as null."""
    return {
        name: [change(one) for one in value] if isinstance(value, list) else change(value)
        for name, value in measures.items()
    }


def _short(value: float) -> float:
    """Return six digits behind the point: a share of 10,000 items has four."""
    return round(float(value), 6)


def missing(keys: Iterable[RunKey], done: Iterable[RunRecord]) -> Iterator[RunKey]:
    """Yield the runs that are not done yet, in order."""
    done_keys = {record.key for record in done}
    return (key for key in keys if key not in done_keys)


def as_published(records: Iterable[RunRecord]) -> tuple[RunRecord, ...]:
    """Return the runs with the authors' experts, the only ones that published numbers may stand beside."""
    return tuple(record for record in records if record.protocol == "as_published")


def by_net(records: Iterable[RunRecord]) -> dict[str, tuple[RunRecord, ...]]:
    """Return the records that belong together: a group for each net with which OvA was trained.

    A method that was not trained with that net is there with one that rests on it, frozen or tuned.
    """
    every = tuple(records)
    nets = list(dict.fromkeys(record.net for record in every if record.method == "ova"))
    if not nets:
        return {"": every} if every else {}
    return {net: tuple(_of_net(every, net)) for net in nets}


def _of_net(every: Sequence[RunRecord], net: str) -> Iterator[RunRecord]:
    with_it = {record.method for record in every if record.net == net}
    for record in every:
        rests = root_of(record.net) == root_of(net) and record.method not in with_it
        if record.net == net or rests:
            yield record


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that make the numbers."""
    by_package = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            by_package[package] = version(package)
        except PackageNotFoundError:
            continue
    return by_package
