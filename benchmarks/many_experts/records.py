"""The runs on disk: one line of JSON each."""

import json
from pathlib import Path
from typing import Any

Record = dict[str, Any]
RunKey = tuple[str, int, int, str, int]


def run_key(record: Record) -> RunKey:
    """Return what makes a run another one: method, number of experts, seed, net and epochs."""
    return (record["method"], record["n_experts"], record["seed"], record["net"], record["settings"]["epochs"])


def read_runs(path: Path) -> list[Record]:
    """Return the runs of a file, none where there is no file; a last line that was cut off is left out."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def append_run(path: Path, record: Record) -> None:
    """Write a run at the end of a file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
