"""`make audit`: known flaws of the pinned versions, by pip-audit and the advisory database of PyPI.

Exit status: 0 none is known, or the database cannot be reached (a sentence says so); 1 some are known.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PINS = Path(__file__).parents[1] / "constraints.txt"
KNOWN = "jinja2==2.4.1"
"""Its flaws have been known for ten years: a database that does not know them, such as that of a mirror, is none."""
NOT_REACHED = "The advisory database cannot be reached from here: nothing was audited. Run this where PyPI answers."


def flaws(report: dict[str, Any]) -> list[str]:
    """Return a line for each known flaw in a report of pip-audit.

    >>> flaws({"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2"]}]}]})
    ['a 1: PYSEC-1, mended in 2']
    """
    return [
        f"{one['name']} {one['version']}: {flaw['id']}, mended in {', '.join(flaw['fix_versions']) or 'no version yet'}"
        for one in report["dependencies"]
        for flaw in one.get("vulns", [])
    ]


def audit(pins: Path) -> tuple[dict[str, Any] | None, str]:
    """Return the report on pinned versions, None where there is none, and what pip-audit said."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(pins), "--no-deps", "--disable-pip"]
        options = ["--format", "json", "--output", str(out), "--progress-spinner", "off", "--timeout", "10"]
        done = subprocess.run([*command, *options], check=False, capture_output=True, text=True)
        report = json.loads(out.read_text()) if out.is_file() and out.stat().st_size else None
    return report, done.stderr


def knows_flaws() -> bool:
    """Return whether the database that answers here knows flaws at all."""
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "known.txt"
        pins.write_text(f"{KNOWN}\n")
        report, _ = audit(pins)
    return report is not None and bool(flaws(report))


def main(pins: Path = PINS) -> int:
    """Print what is known."""
    if not knows_flaws():
        print(NOT_REACHED)
        return 0
    report, output = audit(pins)
    if report is None:
        print(output)
        return 1
    lines = flaws(report)
    print("\n".join(lines) or f"{len(report['dependencies'])} versions: no flaw is known.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
