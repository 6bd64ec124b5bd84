"""Size and shape of the sources: code lines and files of each room, names of two classes, functions that only pass on.

python -m checks.house [--check] [--walk] [--json]

`--check` exits with 1 where a sum of house.toml is exceeded. `--walk` also counts the files in which a small `fit`,
`route` and `report` run a function. Code lines are lines with a token that is no comment and no docstring.
"""

import argparse
import ast
import io
import json
import subprocess
import sys
import tempfile
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BUDGET = Path(__file__).with_suffix(".toml")
WALK = Path(__file__).with_name("walk.py")
NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING),
}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
FEW_LINES = 30


@dataclass
class House:
    """Figures of one folder of packages, such as src/.

    Attributes
    ----------
    rooms, files : Counter
        Code lines and files of each room.
    small : int
        Files of fewer than 30 code lines, without `__init__`.
    import_lines : int
    beside : int
        Lines of templates and stubs that are not blank.
    classes : mapping
        From the name of a class, without leading underscores, to the files that define it.
    passes_on : list of str
        Functions that only hand their own arguments to another one.
    """

    rooms: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    small: int = 0
    import_lines: int = 0
    beside: int = 0
    classes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    passes_on: list[str] = field(default_factory=list)

    @property
    def twice(self) -> dict[str, list[str]]:
        """Return the names of two classes."""
        return {name: where for name, where in sorted(self.classes.items()) if len(where) > 1}

    def sizes(self) -> dict[str, int]:
        """Return the sums that house.toml limits."""
        return {"code_lines": self.rooms.total(), "files": self.files.total()}

    def add(self, inside: Path, source: str) -> None:
        """Count one file; `inside` is its path in its package."""
        tree, n_lines = ast.parse(source), len(code_lines(source))
        room = inside.parts[0] if len(inside.parts) > 1 else "."
        self.rooms[room] += n_lines
        self.files[room] += 1
        self.small += 0 < n_lines < FEW_LINES and inside.name != "__init__.py"
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.import_lines += (node.end_lineno or node.lineno) - node.lineno + 1
            elif isinstance(node, ast.FunctionDef) and only_passes_on(node):
                self.passes_on.append(f"{inside}:{node.lineno} {node.name}")
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                self.classes[node.name.lstrip("_")].append(str(inside))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        sums = {"small": self.small, "import_lines": self.import_lines, "beside": self.beside}
        rooms, files = dict(self.rooms), dict(self.files)
        shapes = {"rooms": rooms, "room_files": files, "twice": self.twice, "passes_on": self.passes_on}
        return {**self.sizes(), **sums, **shapes}

    def text(self, budget: Mapping[str, int]) -> str:
        """Return the figures as lines of text, beside the code lines that each room shall have at most."""
        sums = self.sizes()
        most = {room: f", at most {n} planned" for room, n in budget.items()}
        return "\n".join(
            [
                f"{sums['code_lines']} code lines in {sums['files']} files, {self.small} of them under {FEW_LINES} "
                f"lines; {self.import_lines} lines of imports; {self.beside} of templates and stubs; "
                f"{len(self.passes_on)} functions that only pass on",
                *(
                    f"  {room:<14}{n:>7} in {self.files[room]}{most.get(room, '')}"
                    for room, n in self.rooms.most_common()
                ),
                f"  names of two classes: {', '.join(self.twice) or 'none'}",
            ]
        )


def code_lines(source: str) -> set[int]:
    """Return the numbers of the lines that hold code.

    >>> sorted(code_lines("# why" + chr(10) + "def f():" + chr(10) + "    'doc'" + chr(10) + "    return 1"))
    [2, 4]
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def only_passes_on(node: ast.FunctionDef) -> bool:
    """Return whether a function does nothing but call another one with its own arguments.

    >>> [only_passes_on(ast.parse(f"def f(a, b): return {called}").body[0]) for called in ("g(a, b)", "g(b, b=a, c=1)")]
    [True, False]
    """
    body = node.body if ast.get_docstring(node) is None else node.body[1:]
    own = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    if len(body) != 1 or not own or node.decorator_list or not isinstance(body[0], ast.Return):
        return False
    call = body[0].value
    if not isinstance(call, ast.Call) or any(word.arg is None for word in call.keywords):
        return False
    given = [*call.args, *(word.value for word in call.keywords)]
    names = [one.id for one in given if isinstance(one, ast.Name)]
    return len(names) == len(given) and names == [name for name in own if name not in ("self", "cls")] and bool(names)


def packages(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield each folder of packages that the budget names, and the packages in it."""
    for name in tomllib.loads(BUDGET.read_text())["sum"]:
        for package in sorted((root / name).iterdir()):
            if (package / "__init__.py").is_file():
                yield name, package


def houses(root: Path) -> dict[str, House]:
    """Return the figures of each folder of packages."""
    measured: dict[str, House] = defaultdict(House)
    for name, package in packages(root):
        house = measured[name]
        for path in sorted(package.rglob("*")):
            if path.suffix == ".py":
                house.add(path.relative_to(package), path.read_text())
            elif path.suffix in (".html", ".jinja", ".j2", ".pyi"):
                house.beside += sum(bool(line.strip()) for line in path.read_text().splitlines())
    return measured


def excesses(measured: dict[str, House], budget: dict[str, Any]) -> list[str]:
    """Return a sentence for each sum that is above its budget."""
    sentences = [
        f"{name} has {size} {what.replace('_', ' ')}, {size - most} more than house.toml allows: delete or merge."
        for name, limits in budget["sum"].items()
        for what, most in limits.items()
        if (size := measured[name].sizes()[what]) > most
    ]
    twice, most = measured["src/"].twice, budget["names"]["twice"]
    if len(twice) > most:
        names = "; ".join(f"{name} in {' and '.join(where)}" for name, where in twice.items())
        sentences.append(f"{len(twice)} names are those of two classes, at most {most} may be: {names}.")
    return sentences


def walk(root: Path) -> dict[str, int]:
    """Return in how many files a small `fit`, `route` and `report` run a function."""
    folders = [str(package) for _, package in packages(root)]
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([sys.executable, str(WALK), out, *folders], check=True, capture_output=True)
        counts: dict[str, int] = json.loads((Path(out) / "walk.json").read_text())
    return counts


def main(words: list[str] | None = None) -> int:
    """Print the figures; return 1 where `--check` finds a sum above its budget."""
    parser = argparse.ArgumentParser(prog="checks.house")
    for option in ("--check", "--walk", "--json"):
        parser.add_argument(option, action="store_true")
    given = parser.parse_args(words)
    measured = houses(ROOT)
    walked = walk(ROOT) if given.walk else {}
    budget = tomllib.loads(BUDGET.read_text())
    sentences = excesses(measured, budget) if given.check else []
    if given.json:
        print(json.dumps({name: house.to_dict() for name, house in measured.items()} | {"walk": walked}, indent=1))
    elif not given.check:
        for name, house in measured.items():
            print(f"{name}: {house.text(budget['rooms'] if name == 'src/' else {})}")
        print("".join(f"{what} runs functions in {count} files\n" for what, count in walked.items()), end="")
    for sentence in sentences:
        print(sentence, file=sys.stderr)
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
