"""How large the package is, and how many files a small `defero fit` passes through.

Run `python -m benchmarks.size [PACKAGE_FOLDER ...]`; the default is the installed package.
"""

import ast
import io
import json
import subprocess
import sys
import tempfile
import tokenize
from collections import defaultdict
from pathlib import Path

import numpy as np

ROWS = 80
SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(source: str) -> int:
    """Count the lines that hold code: no blank line, no comment, no docstring.

    >>> code_lines("# why" + chr(10) + "def f():" + chr(10) + "    'doc'" + chr(10) + "    return 1")
    2
    """
    lines = {
        row
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in SKIPPED
        for row in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - _docstring_lines(ast.parse(source)))


def _docstring_lines(tree: ast.Module) -> set[int]:
    rows: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for one in node.body:  # a string that stands alone documents what is before it
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
                rows.update(range(one.lineno, (one.end_lineno or one.lineno) + 1))
    return rows


def sizes(package: Path) -> dict[str, tuple[int, int, int]]:
    """Return files, lines and code lines of each room, and of all under "all"."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for path in sorted(package.rglob("*.py")):
        source = path.read_text()
        inside = path.relative_to(package)
        for room in (inside.parts[0] if len(inside.parts) > 1 else "top level", "all"):
            for place, amount in enumerate((1, source.count("\n"), code_lines(source))):
                found[room][place] += amount
    return {room: (files, lines, code) for room, (files, lines, code) in sorted(found.items())}


_TRACER = """
import json, sys
files = set()
def watch(frame, event, argument):
    name = frame.f_code.co_filename
    if frame.f_code.co_name != "<module>" and "/defero/" in name:
        files.add(name)
sys.setprofile(watch)
from defero.cli.main import main
sys.argv = ["defero", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit as stop:
    assert not stop.code
sys.setprofile(None)
loaded = [name for name in sys.modules if name == "defero" or name.startswith("defero.")]
print(json.dumps({"ran": len(files), "loaded": len(loaded)}), file=sys.stderr)
"""


def files_of_fit() -> dict[str, int]:
    """Return in how many files a small `fit` runs a function, and how many modules it loads."""
    rng = np.random.default_rng(0)
    age, truth = rng.normal(50, 10, ROWS).round(1), rng.integers(0, 2, ROWS)
    doctor = np.where(rng.random(ROWS) < 0.8, truth, 1 - truth)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "cases.csv"
        rows = [f"{a},{t},{d}" for a, t, d in zip(age, truth, doctor, strict=True)]
        table.write_text("\n".join(["age,truth,dr_a", *rows]) + "\n")
        words = ["fit", str(table), "--label", "truth", "--experts", "dr_a", "--out", str(Path(folder) / "model")]
        done = subprocess.run(
            [sys.executable, "-c", _TRACER, json.dumps(words)], capture_output=True, text=True, check=True
        )
    counts: dict[str, int] = json.loads(done.stderr.splitlines()[-1])
    return counts


def main(folders: list[str]) -> None:
    import defero

    for folder in map(Path, folders or [str(Path(defero.__file__).parent)]):
        print(f"{folder}\n{'room':16}{'files':>8}{'lines':>8}{'code':>8}")
        for room, (files, lines, code) in sizes(folder).items():
            print(f"{room:16}{files:8}{lines:8}{code:8}")
    print(f"a small fit: {files_of_fit()}")


if __name__ == "__main__":
    main(sys.argv[1:])
