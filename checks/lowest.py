"""`make lowest`: the lowest supported versions, in an environment of their own: fit, route, and the tests of arrays.

python -m checks.lowest [--folder .venv-lowest]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ("tests/decide/votes", "tests/decide/panels", "tests/core", "tests/decide", "tests/judge")
CASES = """
import numpy as np, pandas as pd
rng = np.random.default_rng(0)
x = rng.normal(size=(400, 3)); y = (x[:, 0] > 0).astype(int)
frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(truth=y)
for name, skill in {"ann": 0.9, "bob": 0.8}.items():
    frame[name] = np.where(rng.random(400) < skill, y, 1 - y)
frame.to_csv("cases.csv", index=False)
frame[["a", "b", "c"]].to_parquet("new.parquet")
"""


def install(python: Path) -> None:
    """Install defero with the lowest versions that pyproject.toml allows, and what the tests need."""
    links = {"UV_FIND_LINKS": os.environ.get("UV_FIND_LINKS", os.environ.get("PIP_FIND_LINKS", ""))}
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(python)]
    environment = {**os.environ, **links}
    subprocess.run([*uv, "--resolution", "lowest-direct", "--editable", str(ROOT)], check=True, env=environment)
    subprocess.run([*uv, "pytest>=8", "hypothesis", "beartype"], check=True, env=environment)
    subprocess.run([sys.executable, "-m", "uv", "pip", "list", "--python", str(python)], check=True)


def use(python: Path) -> None:
    """Fit a team on a table, route a Parquet file, and run the tests that need no other package."""
    with tempfile.TemporaryDirectory() as folder:
        fit = ["fit", "cases.csv", "--label", "truth", "--experts", "ann,bob", "--out", "model"]
        route = ["route", "model", "new.parquet", "--out", "decisions.csv"]
        for arguments in (["-c", CASES], ["-m", "defero", *fit], ["-m", "defero", *route]):
            subprocess.run([str(python), *arguments], check=True, cwd=folder)
    options = ["-q", "-p", "no:cacheprovider", "-m", "not slow and not browser"]
    subprocess.run([str(python), "-m", "pytest", *options, *TESTS], check=True, cwd=ROOT)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="checks.lowest")
    parser.add_argument("--folder", type=Path, default=ROOT / ".venv-lowest")
    given = parser.parse_args()
    python = given.folder / "bin" / "python"
    if not python.is_file():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(given.folder)], check=True)
    install(python)
    use(python)
    return 0


if __name__ == "__main__":
    sys.exit(main())
