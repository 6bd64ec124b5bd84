"""Ledger: finished trials in a file of JSON lines, so that a cut run is taken up where it was."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path

import defero
from benchmarks.people.trial import Trial

_NOT_SCORED = ("cli", "report", "plotting", "papers")
"""Packages of defero in which no system's figures are made."""


def cache_folder() -> Path:
    """Return where ledgers lie by default, outside of the repository."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "defero-benchmarks" / "people"


def code_version() -> str:
    """Return a hash of the code that a trial depends on: defero's own and this benchmark's folds, sets and systems."""
    home, here = Path(str(defero.__file__)).parent, Path(__file__).parent
    files = [path for path in home.rglob("*.py") if path.relative_to(home).parts[0] not in _NOT_SCORED]
    files += [here / f"{name}.py" for name in ("advised", "crowd", "fold", "shares", "system", "trial")]
    files += [*(here / "sets").glob("*.py"), *(here / "systems").glob("*.py")]
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


@dataclass(frozen=True)
class Ledger:
    """A file of finished trials, each with the version of the code that made it.

    Attributes
    ----------
    path : Path
    version : str
        What new trials are marked with.
    any_version : bool
        Take up trials of other code, too. The latest of each wins.
    """

    path: Path
    version: str
    any_version: bool = False

    def read(self) -> dict[tuple[str, str, int], Trial]:
        """Return the finished trials by (data set, system, split)."""
        return {key: trial for key, (trial, _) in self._entries().items()}

    def versions(self, trials: Iterable[Trial]) -> list[str]:
        """Return which versions of the code made these trials."""
        made = self._entries()
        return sorted({made[_key(trial)][1] for trial in trials})

    def append(self, trial: Trial) -> None:
        """Write a trial down at once."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # A cut run may have left half a line: the newline first keeps it from spoiling this one.
        with self.path.open("a") as file:
            file.write("\n" + json.dumps({**asdict(trial), "version": self.version}) + "\n")
            file.flush()

    def _entries(self) -> dict[tuple[str, str, int], tuple[Trial, str]]:
        found: dict[tuple[str, str, int], tuple[Trial, str]] = {}
        for line in self.path.read_text().splitlines() if self.path.is_file() else ():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:  # cut in the writing
                continue
            version = entry.pop("version", None)
            if _is_trial(entry) and (self.any_version or version == self.version):
                trial = Trial(**entry)
                found[_key(trial)] = trial, str(version)
        return found


def _is_trial(entry: Mapping[str, object]) -> bool:
    """Return whether a line has the fields of a trial; an older one may lack those that have a default."""
    known = {field.name for field in fields(Trial)}
    needed = {field.name for field in fields(Trial) if field.default is MISSING and field.default_factory is MISSING}
    return needed <= entry.keys() <= known


def _key(trial: Trial) -> tuple[str, str, int]:
    return trial.crowd, trial.system, trial.split
