"""The files of a folder, each routed on its own: in this process, in a pool of processes or on a Ray cluster.

Every file of decisions is written whole, and beside it stands what it was made of: a run that was stopped goes on with
the files that are not there yet.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import save

import defero
from defero.core.errors import InputError
from defero.data.model_folder import files_of, library_versions
from defero.data.tables.parquet import parquet_files
from defero.data.tables.read import ROWS_AT_ONCE
from defero.data.whole_files import write_whole
from defero.decide.terms import LIMITS, Terms, check_terms
from defero.study.engines import Engine
from defero.study.reading import Reading, check_shared
from defero.study.routing.decisions import Routing
from defero.study.routing.route import route_cases
from defero.team import Team

FILE_OPTIONS = ("key", "terms", "ask", "uncertainty", "unusual", "bad_rows", "blank")
"""Options of `route` that are about single cases."""
RUNS = "_runs"
"""Folder of what was decided for single files; readers of Parquet folders skip names with an underscore."""


@dataclass(frozen=True, eq=False)
class FolderTask:
    """What the routing of every file needs; `of` is the same for equal models, options and versions."""

    team: Team
    name: str
    folder: Path
    out: Path
    options: Mapping[str, Any]
    of: str

    def done(self, part: str) -> dict[str, Any] | None:
        """Return what was decided for a file, if its decisions are there and were made of the same."""
        try:
            run = json.loads(self._record(part).read_text())
        except (OSError, ValueError):
            return None
        same = isinstance(run, dict) and run.get("of") == self._made_of(part) and (self.out / part).is_file()
        return run["result"] if same else None

    def keep(self, part: str, result: Mapping[str, Any]) -> None:
        """Note what was decided for a file, once its decisions are written."""
        path = self._record(part)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps({"of": self._made_of(part), "result": result}, sort_keys=True).encode())

    def _record(self, part: str) -> Path:
        return self.out / RUNS / f"{part}.json"

    def _made_of(self, part: str) -> list[Any]:
        facts = (self.folder / part).stat()
        return [self.of, facts.st_size, facts.st_mtime_ns]


def route_folder(
    team: Team,
    folder: str | PathLike[str],
    out: str | PathLike[str],
    *,
    name: str,
    engine: Engine,
    options: Mapping[str, Any],
) -> Routing:
    """Route each Parquet file of a folder; files that are done already are not routed again."""
    limits = [name for name in check_terms(options.get("terms")).given() if name in LIMITS]
    for option in (*options, *limits):
        if option not in FILE_OPTIONS:
            raise InputError(
                ": several workers decide each file on its own; leave it out, or route the folder to one file.",
                argument=option,
            )
    parts = _parts(Path(folder), Path(out))
    known = {key: value for key, value in options.items() if value is not None}
    task = FolderTask(team, name, Path(folder), Path(out), known, _digest(team, known))
    results = {part: done for part in parts if (done := task.done(part)) is not None}
    missing = [part for part in parts if part not in results]
    for place, result in engine.run(route_file, missing, shared=task):
        results[missing[place]] = result
        task.keep(missing[place], result)
    whole = Routing(task.out, team.expert_names, otherwise=team.otherwise, files=len(parts))
    for result in (results[part] for part in parts):
        whole.load.update(result["load"])
        whole.unusual, whole.right, whole.spent = (
            getattr(whole, name) + result[name] for name in ("unusual", "right", "spent")
        )
        whole.cautions = tuple(dict.fromkeys((*whole.cautions, *result["cautions"])))
    return whole


def route_file(task: FolderTask, part: str) -> dict[str, Any]:
    """Route one file of a folder; the file of decisions has the same name."""
    target = task.out / part
    target.parent.mkdir(parents=True, exist_ok=True)
    options = dict(task.options)
    said = {"key": options.pop("key", None), "blank": options.pop("blank", ())}
    reading = Reading.of(task.folder / part, **said, inside=task.folder)
    routing = route_cases(task.team, reading, target, model=task.name, **options)
    load = {name: int(count) for name, count in sorted(routing.load.items())}
    sums = {"unusual": int(routing.unusual), "right": routing.right, "spent": routing.spent}
    return {"load": load, **sums, "cautions": list(map(str, routing.cautions))}


def _digest(team: Team, options: Mapping[str, Any]) -> str:
    """Return a hash of all that the decisions depend on besides the cases."""
    model = files_of(team)
    facts = [defero.__version__, library_versions(), ROWS_AT_ONCE, model.manifest, options, sorted(model.files)]
    arrays = {name: np.ascontiguousarray(array) for name, array in model.arrays.items()}
    whole = hashlib.blake2b(json.dumps(facts, sort_keys=True, default=_plain).encode(), digest_size=16)
    for content in (save(arrays), *(model.files[name] for name in sorted(model.files))):
        whole.update(content)
    return whole.hexdigest()


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it: an array or a frame with its numbers, a file with its content."""
    if isinstance(value, Terms):
        return value.given()
    if isinstance(value, PathLike):
        return Path(value).read_bytes().hex() if Path(value).is_file() else str(value)
    if isinstance(value, pd.DataFrame):
        return value.to_json()
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)


def _parts(source: Path, target: Path) -> list[str]:
    """Return the Parquet files of a folder, relative to it, in the order of their names."""
    check_shared(source, is_folder=source.is_dir())
    if target.is_file():
        raise InputError(f"{target}: is a file; a folder of cases is routed to a folder.", argument="out")
    if source.resolve() == target.resolve() or source.resolve() in target.resolve().parents:
        raise InputError(f"{target}: is the folder of the cases, or inside it; choose another.", argument="out")
    return [path.relative_to(source).as_posix() for path in parquet_files(source)]
