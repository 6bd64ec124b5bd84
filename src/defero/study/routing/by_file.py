"""The files of a folder, each routed on its own: in this process, in a pool of processes or on a Ray cluster."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from defero.core.display import Preformatted
from defero.core.errors import Argument, InputError
from defero.core.wording import count_of, percent
from defero.data.tables.parquet import parquet_files
from defero.study.engines import Engine, run_once
from defero.study.engines.runs import run_name
from defero.study.routing.identity import run_identity
from defero.study.routing.route import route_cases
from defero.study.team_cases import Reading
from defero.team import Team
from defero.team.storage import router_files

FILE_OPTIONS = (
    "key",
    "terms",
    "fees",
    "error_cost",
    "cost_matrix",
    "absent",
    "ask",
    "uncertainty",
    "unusual",
    "bad_rows",
    "blank",
)
"""Options of `route` that are about single cases."""
RUNS = "_runs"
"""Folder of the results of single files; readers of Parquet folders skip names with an underscore."""


@dataclass(frozen=True, eq=False)
class FolderTask:
    """What the routing of every file needs."""

    team: Team
    name: str
    folder: str
    out: str
    options: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class FolderRouting(Preformatted):
    """What was decided for the files of a folder.

    Attributes
    ----------
    out : Path
        Folder of the decisions, with a file for each file of cases.
    files : int
        How many files there are.
    cases : int
        How many cases were decided.
    load : Counter
        How many cases the model and each expert get.
    unusual : int
        How many cases are unlike those that were learned from.
    cautions : sentences
    """

    out: Path
    files: int
    cases: int
    load: Counter[str] = field(default_factory=Counter)
    unusual: int = 0
    cautions: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "out": str(self.out),
            "files": self.files,
            "cases": self.cases,
            "load": dict(self.load),
            "unusual": self.unusual,
            "cautions": list(self.cautions),
        }

    def text(self) -> str:
        """Return how many cases were decided and who gets them."""
        head = f"{count_of(self.cases, 'decision')} in {count_of(self.files, 'file')} of {self.out}:"
        lines = [f"  {name}: {count} ({percent(count / self.cases)})" for name, count in self.load.most_common()]
        return "\n".join([head, *lines])

    def __repr__(self) -> str:
        return (
            f"FolderRouting: {count_of(self.cases, 'case')} in {count_of(self.files, 'file')}, decided in {self.out}."
        )


def route_folder(
    team: Team,
    folder: str | PathLike[str],
    out: str | PathLike[str],
    *,
    name: str,
    engine: Engine,
    options: Mapping[str, Any],
) -> FolderRouting:
    """Route each Parquet file of a folder; files that are done already are not routed again."""
    source, target = Path(folder), Path(out)
    parts = _parts(source, target)
    known = {key: value for key, value in options.items() if value is not None}
    identity = run_identity(router_files(team), {}, known)
    of = "-".join(str(identity[what]) for what in ("defero", "model", "options"))
    runs = [_settings(source, part) for part in parts]
    for part, settings in zip(parts, runs, strict=True):
        if not (target / part).is_file():  # the decisions were removed: the file is routed again
            (target / RUNS / run_name(settings, of=of)).unlink(missing_ok=True)
    task = FolderTask(team, name, str(source), str(target), known)
    results = run_once(engine, route_file, runs, shared=task, folder=target / RUNS, of=of)
    cautions = dict.fromkeys(sentence for result in results for sentence in result["cautions"])
    return FolderRouting(
        out=target,
        files=len(parts),
        cases=sum(sum(result["load"].values()) for result in results),
        load=sum((Counter(result["load"]) for result in results), Counter()),
        unusual=sum(result["unusual"] for result in results),
        cautions=tuple(cautions),
    )


def route_file(task: FolderTask, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Route one file of a folder; the file of decisions has the same name."""
    folder, target = Path(task.folder), Path(task.out) / settings["file"]
    target.parent.mkdir(parents=True, exist_ok=True)
    options = {**_USUAL, **task.options}
    routing = route_cases(
        task.team,
        Reading.of(folder / settings["file"], key=options.pop("key"), blank=options.pop("blank"), inside=folder),
        target,
        model=task.name,
        progress=None,
        **options,
    )
    load = {name: int(count) for name, count in sorted(routing.load.items())}
    return {"load": load, "unusual": int(routing.unusual), "cautions": list(routing.cautions)}


_USUAL: dict[str, Any] = {
    **dict.fromkeys(("key", "terms", "ask")),
    "uncertainty": False,
    "unusual": "flag",
    "bad_rows": "stop",
    "blank": (),
}


def _parts(source: Path, target: Path) -> list[str]:
    """Return the Parquet files of a folder, relative to it, in the order of their names."""
    if not source.is_dir():
        raise InputError(
            f"{source}: several workers share the files of a folder, and this is none; leave out ",
            Argument("engine"),
            " and ",
            Argument("workers"),
            ", or split the table into Parquet files.",
        )
    if target.is_file():
        raise InputError(f"{target}: is a file; a folder of cases is routed to a folder.", argument="out")
    if source.resolve() == target.resolve() or source.resolve() in target.resolve().parents:
        raise InputError(f"{target}: is the folder of the cases, or inside it; choose another.", argument="out")
    return [path.relative_to(source).as_posix() for path in parquet_files(source)]


def _settings(source: Path, part: str) -> dict[str, Any]:
    """Return what tells a file: its name, its size and the time of its last change."""
    facts = (source / part).stat()
    return {"file": part, "size": facts.st_size, "changed": facts.st_mtime_ns}
