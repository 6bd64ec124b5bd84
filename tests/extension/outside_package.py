"""A package that is installed beside defero: a module, and the entry points that make its objects known."""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "extend.md"


def example(heading: str) -> str:
    """Return the Python code below a heading of docs/howto/extend.md."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]


def install(folder: Path, module: str, code: str, *, group: str, name: str, attribute: str) -> dict[str, str]:
    """Lay a package into a folder as an installer does, and return the environment in which Python finds it."""
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    facts = folder / f"{module}-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", encoding="utf-8")
    (facts / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}:{attribute}\n", encoding="utf-8")
    return os.environ | {"PYTHONPATH": str(folder)}


def run(environment: dict[str, str], *arguments: object, code: int = 0) -> str:
    """Run `defero` with the package beside it and return what it printed."""
    command = [sys.executable, "-m", "defero", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr
