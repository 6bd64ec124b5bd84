"""A package that is installed beside defero: a module, and the entry points that make its objects known."""

import re
import sys
from pathlib import Path

from clinic import run as run_command

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "extend.md"


def example(heading: str) -> str:
    """Return the Python code below a heading of docs/howto/extend.md."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]


def install(folder: Path, module: str, code: str, *, group: str, name: str, attribute: str) -> None:
    """Lay a package into a folder as an installer does."""
    folder.mkdir()
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    facts = folder / f"{module}-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", encoding="utf-8")
    (facts / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}:{attribute}\n", encoding="utf-8")
    sys.modules.pop(module, None)


def run(*arguments: object, code: int = 0) -> str:
    """Run `defero` in this process and return what it printed."""
    done = run_command(*arguments)
    assert done.code == code, done.err
    return done.out + done.err
