"""An empty virtual environment, and programs that run in it, away from the sources."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from release.checklist import No

UV = str(Path(sys.executable).parent / "uv")


def run(arguments: Sequence[str | Path], *, cwd: Path, seconds: float = 600, code: int = 0, **extra: str) -> str:
    """Run a program and return what it printed; another exit status than `code` answers no with its last lines."""
    # Nothing of the sources must be importable by accident; one thread, so that times can be compared.
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    links = os.environ.get("UV_FIND_LINKS") or os.environ.get("PIP_FIND_LINKS") or ""
    env |= {"OMP_NUM_THREADS": "1", "UV_FIND_LINKS": links, **extra}
    done = subprocess.run(
        list(map(str, arguments)), cwd=cwd, env=env, capture_output=True, text=True, timeout=seconds, check=False
    )
    if done.returncode != code:
        shown = " ".join(Path(str(word)).name if k == 0 else str(word) for k, word in enumerate(arguments))
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise No(f"{shown[:200]}: exit status {done.returncode}, expected {code}\n{tail}")
    return done.stdout


@dataclass(frozen=True)
class Environment:
    """A virtual environment in a folder, and a folder to work in."""

    venv: Path
    work: Path
    constraints: Path

    @classmethod
    def create(cls, folder: Path, *, constraints: Path) -> "Environment":
        """Make an environment with nothing in it."""
        made = cls(folder / "venv", folder / "work", constraints)
        made.work.mkdir()
        run([UV, "venv", "--quiet", "--python", sys.executable, made.venv], cwd=folder)
        return made

    def install(self, *requirements: str, options: Sequence[str] = ()) -> None:
        """Install with the pinned versions."""
        install: list[str | Path] = [
            UV,
            "pip",
            "install",
            "--quiet",
            "--compile-bytecode",
            "--constraint",
            self.constraints,
        ]
        run([*install, *options, *requirements], cwd=self.work, VIRTUAL_ENV=str(self.venv))

    def inside(self, folder: str) -> "Environment":
        """Return the same environment at work in a folder of its folder."""
        return replace(self, work=self.work / folder)

    def program(self, name: str) -> Path:
        """Return the path of a program of the environment."""
        return self.venv / "bin" / name

    def python(self, code: str) -> str:
        """Run Python code and return what it printed."""
        return run([self.program("python"), "-c", code], cwd=self.work)

    def script(self, name: str, *arguments: str) -> str:
        """Run a script of the folder and return what it printed."""
        return run([self.program("python"), name, *arguments], cwd=self.work)

    def defero(self, *arguments: str, code: int = 0) -> str:
        """Run the command `defero` and return what it printed."""
        return run([self.program("defero"), *arguments], cwd=self.work, code=code)

    def has(self, package: str) -> bool:
        """Is a package installed?"""
        seen = self.python(f"import importlib.util as u; print(u.find_spec({package!r}) is not None)")
        return seen.strip() == "True"
