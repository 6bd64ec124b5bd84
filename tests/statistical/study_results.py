"""Where a study's numbers are committed: one JSON with the command, the seed, the versions and the machine beside."""

import json
import platform
from pathlib import Path

from defero.data.model_folder import library_versions

FOLDER = Path(__file__).parent / "results"


def write_study(name, *, cpu_seconds, **facts):
    """Write `results/<name>.json`."""
    content = {
        "command": "make slow",
        "versions": library_versions(),
        "machine": f"{platform.machine()}, one thread",
        "cpu_seconds": round(cpu_seconds, 1),
        **facts,
    }
    (FOLDER / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
