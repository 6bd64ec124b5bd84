"""A part of the tests against the installed wheel: away from the sources, with all that needs no PyTorch."""

import re
import shutil
from pathlib import Path

from release.checklist import No
from release.environment import Environment, run

CHOSEN = (
    "tests/core",
    "tests/decide/votes",
    "tests/decide/panels",
    "tests/public/test_public_names.py",
    "tests/cli/test_cli_main.py",
    "tests/study/test_html_views.py",
    "tests/service/test_client.py",
)
LEAST = 200
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "beartype", "httpx2")


def run_tests(there: Environment, clone: Path) -> str:
    """Copy tests and their settings beside no sources, and run them on the installed package."""
    there.install(*TOOLS)
    home = there.work / "tests_of_wheel"
    home.mkdir()
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(clone / name, home / name)
    for name in ("tests", "docs"):  # examples of the pages run in the tests
        shutil.copytree(clone / name, home / name)
    given = [name for name in CHOSEN if (home / name).exists()]
    if len(given) < len(CHOSEN):
        raise No(f"these tests are gone: {', '.join(sorted(set(CHOSEN) - set(given)))}")
    pytest: list[str | Path] = [there.program("python"), "-m", "pytest", "-n", "2", "--dist", "loadfile", "-q", "-m"]
    printed = run([*pytest, "not slow and not browser", *given], cwd=home, seconds=900)
    last = re.search(r"(\d+) passed.*", printed)
    count = int(last[1]) if last else printed.count(".")
    if count < LEAST:
        raise No(f"only {count} tests ran")
    return f"{count} tests passed"
