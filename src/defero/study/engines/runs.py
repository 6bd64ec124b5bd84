"""Runs whose results stay on disk: what a stopped command has done is not done again."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from defero.core.errors import InputError
from defero.study.engines.engine import Engine

Settings = Mapping[str, Any]


def run_once(
    engine: Engine,
    function: Callable[[Any, Settings], dict[str, Any]],
    runs: Sequence[Settings],
    *,
    shared: Any,
    folder: Path | None = None,
    of: str = "",
) -> list[dict[str, Any]]:
    """Return the results of all runs, in their order; those in the folder are read, the others run and written.

    Parameters
    ----------
    engine : Engine
    function : callable
        function(shared, settings) returns plain values.
    runs : sequence of mappings
        The settings of each run, plain values that differ from run to run.
    shared : object
        What every run needs.
    folder : Path, optional
        One JSON file for each run. None: nothing stays on disk.
    of : str
        What the results depend on besides their settings (a digest of the data and the version): a run of something
        else is not taken for this one.
    """
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    names = [run_name(settings, of=of) for settings in runs]
    results = {name: known for name in names if (known := _read(folder, name)) is not None}
    missing = [(name, settings) for name, settings in zip(names, runs, strict=True) if name not in results]
    for position, result in engine.run(function, [settings for _, settings in missing], shared=shared):
        name = missing[position][0]
        results[name] = _plain(result)
        if folder is not None:
            _write(folder / name, {"settings": dict(missing[position][1]), "of": of, "result": results[name]})
    return [results[name] for name in names]


def run_name(settings: Settings, *, of: str = "") -> str:
    """Return the name of a run's file: its settings in words, and a digest of them.

    >>> run_name({"net": "trees", "seed": 3})
    'trees-3-fbf4a98245.json'
    """
    digest = hashlib.sha256(json.dumps([of, dict(settings)], sort_keys=True, default=str).encode()).hexdigest()[:10]
    words = "-".join(str(value) for value in settings.values() if value is not None)
    readable = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in words)
    return f"{readable[:80]}-{digest}.json"


def _read(folder: Path | None, name: str) -> dict[str, Any] | None:
    if folder is None or not (folder / name).is_file():
        return None
    try:
        result = json.loads((folder / name).read_text())["result"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / name}: is no result of a run; remove the file and start again.") from error
    return dict(result)


def _write(path: Path, value: dict[str, Any]) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")
    os.replace(part, path)


def _plain(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result as it reads from disk, so that a run gives the same whether it ran now or before."""
    return dict(json.loads(json.dumps(result)))
