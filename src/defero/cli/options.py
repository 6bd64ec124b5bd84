"""Options of the commands, made from the signatures and docstrings of the Python functions that the commands call.

A function says once what an argument is called, what its default is, and what it does: `of` reads that from the source,
because a command's help must not load NumPy. `takes` gives a command the options.
"""

import ast
import csv
import inspect
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from defero.core.errors import Argument
    from defero.decide.terms import Terms
    from defero.study import Study

Model = Annotated[Path, typer.Argument(help="A model folder.")]
PastCases = Annotated[Path, typer.Argument(help="Cases with labels and the experts' answers.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
MOST_SEED = 2**32 - 1
"""What NumPy's older generators take, which scikit-learn draws from."""
UnusedSeed = Annotated[int, typer.Option(help="Has no effect: this command draws nothing at random.")]
PACKAGE = Path(__file__).parents[1]
_NO_OPTIONS = ("fit", "route", "evaluate", "report", "read", "read_cases", "save", "add_expert")
_ENTRY = re.compile(r"^(\w+(?:, \w+)*)(?: : (.*))?$")


@dataclass(frozen=True)
class Word:
    """An argument of a function.

    Attributes
    ----------
    name : str
    annotation : str
        Its type, as written.
    default : object
    kind : str
        What the docstring says of its type: "columns" are given with commas between.
    text : str
        What the docstring says of it.
    """

    name: str
    annotation: str
    default: Any
    kind: str = ""
    text: str = ""

    @property
    def form(self) -> str:
        """How an entry of a mapping is written; "" for what is none."""
        return {"fees": "NAME=FEE", "capacity": "NAME=MOST or NAME=FEWEST:MOST"}.get(self.name, "")

    def type(self) -> Any:
        """Return the type of the option."""
        note = self.annotation
        if self.kind.startswith("columns"):
            return str | None
        if self.form or "Sequence" in note:
            return list[Path] | None if "PathLike" in note else list[str] | None
        if "PathLike" in note or note.startswith(("Table", "Rename")) or (note == "Any" and "path" in self.kind):
            plain: Any = Path
        else:
            plain = {"bool": bool, "int": int, "float": float}.get(note.removesuffix(" | None"), str)
        return plain | None if self.default is None else plain

    def help(self, command: str | None) -> str:
        """Return what the docstring says, with arguments spelled as options."""
        text = re.sub(
            r"`([a-z_]+)`", lambda one: one[1] if one[1] in _NO_OPTIONS else _spelled(one[1], command), self.text
        ).replace("`", "")
        if self.kind.startswith("columns"):
            return f"{text} Separate names by commas; put quotes around a name that has a comma."
        form = f"{self.form}: " if self.form else ""
        return f"{form}{text}{' Repeat for several.' if self._is_list else ''}"

    @property
    def _is_list(self) -> bool:
        return bool(self.form) or ("Sequence" in self.annotation and not self.kind.startswith("columns"))

    def option(self, command: str) -> Parameter:
        """Return the option of a command."""
        bounds: dict[str, Any] = {"min": 0, "max": MOST_SEED} if self.name == "random_state" else {}
        spelled = typer.Option(_spelled(self.name, command), help=self.help(command), **bounds)
        default = None if self._is_list or self.default == () else self.default
        return Parameter(self.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[self.type(), spelled])

    def meant(self, value: Any) -> Any:
        """Return what the function takes for an option as it was given."""
        if self.kind.startswith("columns"):
            names = split_names(value)
            return self.default if names is None else names
        return self.default if self._is_list and not value else value


@cache
def words_of(file: str, path: str) -> dict[str, Word]:
    """Return the arguments of a function, or the fields of a class, by name; nothing is imported.

    Parameters
    ----------
    file : str
        Of the package.
    path : str
        A function, Class.method, or a class: its fields, or the arguments of its `__init__`.

    Examples
    --------
    >>> word = words_of("decide/terms.py", "Terms")["at_most_asked"]
    >>> word.annotation, word.default, word.text
    ('float | None', None, 'Largest share of the cases that experts may be asked about, such as 0.3.')
    """
    node: Any = _tree(file)
    for name in path.split("."):
        node = next(one for one in node.body if getattr(one, "name", "") == name)
    said = _entries(ast.get_docstring(node) or "")
    given: list[tuple[str, Any, Any]] = []
    if isinstance(node, ast.ClassDef):
        fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
        given = [(ast.unparse(one.target), one.annotation, one.value) for one in fields]
        node = next((one for one in node.body if getattr(one, "name", "") == "__init__"), None)
    if node is not None:
        own = node.args
        defaults = [*[None] * (len(own.args) - len(own.defaults)), *own.defaults, *own.kw_defaults]
        given += [
            (one.arg, one.annotation, default)
            for one, default in zip([*own.args, *own.kwonlyargs], defaults, strict=True)
        ]
    return {
        name: Word(name, ast.unparse(note), None if value is None else ast.literal_eval(value), *said[name])
        for name, note, value in given
        if name in said and note is not None
    }


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse((PACKAGE / file).read_text(encoding="utf-8"))


def _entries(doc: str) -> dict[str, tuple[str, str]]:
    """Return what a docstring says of each argument or field: its type and its text.

    >>> lines = ["Do it.", "", "Parameters", "----------", "a, b : int", "    Both are", "    whole numbers."]
    >>> _entries(chr(10).join(lines))["b"]
    ('int', 'Both are whole numbers.')
    """
    entries: dict[str, list[str]] = {}
    names: list[str] = []
    kind = ""
    for section in re.split(r"^(?:Parameters|Attributes)\n-+\n", doc, flags=re.MULTILINE)[1:]:
        for line in re.split(r"\n\n\w+\n-+\n", section)[0].splitlines():
            entry = _ENTRY.match(line)
            if entry is not None:
                names, kind = entry[1].split(", "), entry[2] or ""
                entries |= {name: [kind] for name in names}
            elif line.startswith(" "):
                for name in names:
                    entries[name].append(line.strip())
            else:
                names = []
    return {name: (lines[0], " ".join(lines[1:])) for name, lines in entries.items()}


def of(file: str, path: str, *, only: Sequence[str] = (), but: Sequence[str] = ()) -> list[Word]:
    """Return the arguments that a command takes: `only` these, or all `but` these."""
    words = words_of(file, path)
    return [words[name] for name in only] if only else [one for name, one in words.items() if name not in but]


def of_terms(*names: str) -> list[Word]:
    """Return fields of `Terms`."""
    return of("decide/terms.py", "Terms", only=names)


COSTS = ("fees", "error_cost", "cost_matrix")
LIMITED = (*COSTS, "absent", "capacity", "at_most_asked", "budget")
AGAIN = ("label", "item", "annotator", "answer", "key", "majority_label", "format", "control", "rename", "blank")
"""What may be said again of another table of a team."""


def of_table(*but: str) -> list[Word]:
    """Return what may be said again of a table."""
    return of("data/read_cases.py", "read_cases", only=[name for name in AGAIN if name not in but])


def of_reading(*names: str) -> list[Word]:
    """Return what else is said of a table."""
    return of("study/reading.py", "Reading.of", only=names)


ENCODER = of("data/read_cases.py", "read_cases", only=["text_encoder"])


def takes(**groups: list[Word]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of some words; it gets each group as a dictionary of arguments, `terms` as `Terms`.

    >>> @takes(how=[Word("n_bins", "int", 20), Word("absent", "Sequence[str]", ())])
    ... def judge(table, *, how):
    ...     print(table, how)
    >>> judge(table="a.csv", n_bins=5, absent=None)
    a.csv {'n_bins': 5, 'absent': ()}
    """

    def give(command: Callable[..., None]) -> Callable[..., None]:
        called = command.__name__.replace("_", "-")
        own = [one for one in inspect.signature(command).parameters.values() if one.name not in groups]
        required = [one for one in own if one.default is one.empty]
        options = [word.option(called) for words in groups.values() for word in words]
        if any(word.name == "fees" for words in groups.values() for word in words):
            options.append(Parameter("fees_file", Parameter.KEYWORD_ONLY, default=None, annotation=FeesFile))
        options += [one for one in own if one not in required]

        @wraps(command)
        def run(**given: Any) -> None:
            for name, words in groups.items():
                values = {word.name: word.meant(given.pop(word.name)) for word in words}
                given[name] = _terms(values, given.pop("fees_file")) if name == "terms" else values
            command(**given)

        keywords = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in [*required, *options]]
        run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]  # typer reads it
        run.__annotations__ = {one.name: one.annotation for one in keywords}
        return run

    return give


FeesFile = Annotated[
    Path | None, typer.Option("--fees", help="File of fees: columns expert and fee. --fee overrides it.")
]


def _terms(values: dict[str, Any], file: Path | None) -> "Terms":
    """Return the terms; fees and limits that cannot be read are refused."""
    from defero.decide.terms import Terms

    values["fees"] = fees_of(values["fees"], file)
    values["capacity"] = capacity_of(values.get("capacity"))
    return Terms(**values)


_SPELLINGS = {
    "X": "the features",
    "labels": "the labels",
    "y": "the labels",
    "annotator": "--expert",
    "expert_names": "--experts",
    "fees": "--fee",
    "floor": "--quality-floor",
    "groups": "--group",
    "prices": "--fee",
    "max_epochs": "--epochs",
    "random_state": "--seed",
}
_SPELLINGS_OF = {
    "add-expert": {"annotator": "--expert-column", "name": "--expert"},
    "fit": {"images": "TABLE", "model": "--net"},
    "datasets": {"name": "NAME"},
}


def spelling(command: str | None) -> "Any":
    """Return a function that writes an argument as the option of a command.

    >>> from defero.core.errors import Argument
    >>> spell = spelling("route")
    >>> spell(Argument("majority_label", True)), spell(Argument("fees", {"ann": 0.5}))
    ('--majority-label', '--fee ann=0.5')
    >>> spell(Argument("fees", {"ann": "@price"})), spell(Argument("groups", "case id"))
    ('--fee ann=@price', "--group 'case id'")
    >>> spell(Argument("blank", ["n/a", "<1"]))
    "--blank n/a --blank '<1'"
    >>> spell(Argument("expert_names", [])), spelling("add-expert")(Argument("annotator"))
    ("--experts ''", '--expert-column')
    """

    def spell(argument: "Argument") -> str:
        option = _spelled(argument.name, command)
        value = argument.value if argument.has_value else True
        if value is True:
            return option
        if isinstance(value, dict):
            amounts = {name: one if isinstance(one, str) else f"{one:g}" for name, one in value.items()}
            return " ".join(f"{option} {name}={one}" for name, one in amounts.items())
        if isinstance(value, list | tuple):
            return " ".join(f"{option} {shlex.quote(str(one))}" for one in value) or f"{option} ''"
        return f"{option} {shlex.quote(str(value))}"

    return spell


def _spelled(name: str, command: str | None) -> str:
    known = {**_SPELLINGS, **_SPELLINGS_OF.get(command or "", {})}
    return known.get(name, _dashed(name))


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def split_names(names: str | None) -> tuple[str, ...] | None:
    """Return names that stand with commas between; None where nothing is said. A name with a comma is quoted.

    >>> split_names("a, b,"), split_names(""), split_names(None)
    (('a', 'b'), (), None)
    >>> split_names('a,"Chen, Li"')
    ('a', 'Chen, Li')
    """
    if names is None:
        return None
    rows = list(csv.reader([names], skipinitialspace=True))
    return tuple(name.strip() for name in (rows[0] if rows else []) if name.strip())


def fees_of(entries: list[str] | None, file: Path | None = None) -> dict[str, float | str] | None:
    """Read NAME=MONEY and NAME=@COLUMN entries, and a file of fees; None where there are none.

    >>> fees_of(["ann=2.5", "bob=@price"])
    {'ann': 2.5, 'bob': '@price'}
    """
    from defero.core.errors import Argument, InputError

    fees: dict[str, float | str] = {}
    if file is not None:
        from defero.study.money import read_fees

        fees.update(read_fees(file))
    named: set[str] = set()
    for entry in entries or []:
        name, is_column, column = entry.partition("=@")
        if not (is_column and column):
            name, equals, fee = entry.rpartition("=")
        if name in named:
            raise InputError(f": {name} has two entries; leave one of them out.", argument="fees")
        named.add(name)
        if is_column and column:
            fees[name] = f"@{column}"
            continue
        try:
            fees[name] = amount = float(fee if equals else "none")
        except ValueError:
            how = "such as dr_a=0.05, or all=0.05 for everybody, or NAME=@COLUMN"
            raise InputError(f"{entry}: expected NAME=MONEY with a number, {how}.", argument="fees") from None
        if amount != amount:
            leave_out = f"the fee must be finite; to rule an expert out pass {Argument('absent', [name])}."
            raise InputError(f"{Argument('fees', {name: amount})}: {leave_out}")
    return fees or None


def capacity_of(entries: list[str] | None) -> dict[str, tuple[int, int | None]] | None:
    """Read NAME=MOST and NAME=FEWEST:MOST entries; None where there are none.

    >>> capacity_of(["ann=40", "bob=5:20", "cem=5:"])
    {'ann': (0, 40), 'bob': (5, 20), 'cem': (5, None)}
    """
    from defero.core.errors import InputError

    capacity: dict[str, tuple[int, int | None]] = {}
    for entry in entries or []:
        name, _, limits = entry.rpartition("=")
        fewest, colon, most = limits.rpartition(":")
        whole = all(not one or one.isdecimal() for one in (fewest, most)) and (bool(most) or bool(colon))
        if name in capacity:
            raise InputError(f": {name} has two entries; leave one of them out.", argument="capacity")
        if name and whole:
            capacity[name] = int(fewest or 0), int(most) if most else None
        else:
            raise InputError(
                f"{entry}: expected NAME=MOST or NAME=FEWEST:MOST with whole numbers, such as dr_a=40.",
                argument="capacity",
            )
    return capacity or None


def saved_model(model: Path, text_encoder: str | None = None) -> "Study":
    """Load the team that a command names before its table."""
    from defero.core.errors import InputError
    from defero.study import Study

    if model.is_file():
        raise InputError(f"{model}: is a file and not a model folder; the model comes first, then the table of cases.")
    return Study.load(model, text_encoder=text_encoder)
