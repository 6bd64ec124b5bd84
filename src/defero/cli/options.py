"""The options that several commands have, and how an argument of the library is spelled as an option.

What is said of a table stands in `TableSpec`, with the words of its option; other options that belong together are a
class here. `reads` makes a command's options of both.
"""

import csv
import inspect
import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defero.data.table_spec import TableSpec

if TYPE_CHECKING:
    from defero.core.errors import Argument
    from defero.decide.terms import Terms

Model = Annotated[Path, typer.Argument(help="A model folder.")]
PastCases = Annotated[Path, typer.Argument(help="Cases with labels and the experts' answers.")]
TextEncoder = Annotated[
    str | None,
    typer.Option(
        help="How --text columns are read: tfidf (the default), a model of sentence-transformers or fastembed, such as "
        "all-MiniLM-L6-v2, or a folder with one. fit does not save it: give it again to the other commands."
    ),
]
Ask = Annotated[
    str | None,
    typer.Option(
        help="How a case is settled: one (one expert, whose answer is final; the default), sequential (one after the "
        "other, as long as a question is worth its fee) or panel."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
MOST_SEED = 2**32 - 1
"""What NumPy's older generators take, which scikit-learn draws from."""
UnusedSeed = Annotated[int, typer.Option(help="Has no effect: this command draws nothing at random.")]

_MORE: dict[str, Any] = {
    "answers": Annotated[
        Path | None, typer.Option(help="File with one answer per row: columns for the item, the expert and the answer.")
    ],
    "images": Annotated[
        Path | None,
        typer.Option(help="Folder that the paths of the pictures are relative to. Default: the folder of the table."),
    ],
    "bad_rows": Annotated[
        str | None,
        typer.Option(
            help="What to do with rows that cannot be used, such as a text in a column of numbers. stop (the default): "
            "write nothing and name the bad cells. skip: use the good rows and list the others in a file: "
            "OUT.bad-rows.csv for route, TABLE.bad-rows.csv for evaluate and report."
        ),
    ],
    "most_cases": Annotated[
        int | None,
        typer.Option(
            help="Largest number of cases to judge. A larger table is judged on a random sample. Default: 200000."
        ),
    ],
    "engine": Annotated[
        str | None,
        typer.Option(
            help="local or ray: share the Parquet files of a folder among several workers. route writes one file of "
            "decisions for each to the folder --out. evaluate gives the same figures as without this option."
        ),
    ],
    "workers": Annotated[int | None, typer.Option(help="How many files are read at once. Default: 1; ray: all cores.")],
    "address": Annotated[
        str | None, typer.Option(help="Address of a Ray cluster. Default: one is started on this machine.")
    ],
}
"""What else is said of a table, beside `TableSpec`."""
ALL = tuple(one.name for one in fields(TableSpec) if one.metadata)
AGAIN = tuple(one.name for one in fields(TableSpec) if one.metadata.get("again"))
WORKERS = ("engine", "workers", "address")
_TYPES = {"flag": bool, "list": list[str] | None, "file": Path | None}


@dataclass(frozen=True)
class Costs:
    """What questions and errors cost."""

    fee: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=MONEY: what a question to an expert costs, in the unit of --error-cost. NAME=@COLUMN: a price "
            "for each case, from a column of the table. all=MONEY: every expert who is not named. Repeat for several "
            "experts."
        ),
    ] = None
    fees: Annotated[Path | None, typer.Option(help="File of fees: columns expert and fee. --fee overrides it.")] = None
    error_cost: Annotated[float | None, typer.Option(help="What an error costs. Default: as in fit, else 1.")] = None
    cost_matrix: Annotated[
        Path | None,
        typer.Option(
            help="File with the cost of each error, instead of --error-cost. The first column has the true classes; "
            "each other column is a decision."
        ),
    ] = None

    def terms(self) -> "Terms":
        """Return the terms; fees and limits that cannot be read are refused."""
        from defero.decide.terms import Terms

        said = vars(self).copy()
        fees, capacity = fees_of(said.pop("fee"), said.pop("fees")), capacity_of(said.pop("capacity", None))
        return Terms(fees=fees, capacity=capacity, absent=said.pop("absent", None) or (), **said)


@dataclass(frozen=True)
class Present(Costs):
    """The same, and who is there."""

    absent: Annotated[
        list[str] | None, typer.Option(help="Name of an expert who cannot be asked. Repeat for several.")
    ] = None


@dataclass(frozen=True)
class Limited(Present):
    """The same, and limits on the questions."""

    capacity: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=MOST or NAME=FEWEST:MOST: limits on the questions to an expert in the whole file; the name all "
            "stands for everybody who is not named. Repeat for several experts."
        ),
    ] = None
    at_most_asked: Annotated[
        float | None, typer.Option(help="Largest share of the cases that experts may be asked about, such as 0.3.")
    ] = None
    budget: Annotated[float | None, typer.Option(help="The most that all questions may cost. Needs --fee.")] = None


@dataclass(frozen=True)
class Judging:
    """How a team is judged."""

    ask: Ask = None
    by: Annotated[
        str | None,
        typer.Option(
            help="Up to five columns, separated by commas. Load, accuracy and recall are shown for each of their "
            "values."
        ),
    ] = None
    all_rows_new: Annotated[
        bool,
        typer.Option(
            "--all-rows-new",
            help="Confirm that no row of the table was used to fit the model. Needed if the model was fitted with "
            "--forget-rows or with another key, so that rows cannot be checked.",
        ),
    ] = False
    seed: Annotated[int, typer.Option(help="Random seed of the bootstrap intervals.", min=0, max=MOST_SEED)] = 0

    def words(self) -> dict[str, Any]:
        """Return the arguments of `Study.evaluate`."""
        by, all_rows_new = split_names(self.by) or (), self.all_rows_new
        return {"ask": self.ask or "one", "by": by, "all_rows_new": all_rows_new, "random_state": self.seed}


def reads(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options that say how a table is read, and those of its groups, one by one.

    The command gets the former as the words of `read_cases`, in its `**said`, and each group as one value.

    Parameters
    ----------
    *names
        Fields of `TableSpec`, and others of what is said of a table.
    """

    def give(command: Callable[..., None]) -> Callable[..., None]:
        own = [one for one in inspect.signature(command).parameters.values() if one.name != "said"]
        groups: dict[str, Any] = {one.name: one.annotation for one in own if is_dataclass(one.annotation)}
        required = [one for one in own if one.default is one.empty and one.name not in groups]
        options = [*required, *(_said(name, command.__name__.replace("_", "-")) for name in names)]
        for one in own:
            if one.name in groups:
                members = fields(groups[one.name])
                options += [_option(each.name, each.type, default=each.default) for each in members]
            elif one not in required:
                options.append(one)

        @wraps(command)
        def run(**given: Any) -> None:
            said = {name: _meant(name, given.pop(name)) for name in names}
            for name, group in groups.items():
                given[name] = group(**{one.name: given.pop(one.name) for one in fields(group)})
            command(**given, **said)

        keywords = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in options]
        run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
        return run

    return give


def _option(name: str, annotation: Any, *, default: Any = None) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _said(name: str, command: str) -> Parameter:
    """Return the option for something that is said of a table."""
    if name in _MORE:
        return _option(name, _MORE[name])
    about = TableSpec.__dataclass_fields__[name].metadata
    spelled = typer.Option(_spelled(name, command), help=about["words"])
    kind = _TYPES.get(about["kind"], str | None)
    return _option(name, Annotated[kind, spelled], default=False if about["kind"] == "flag" else None)


def _meant(name: str, value: Any) -> Any:
    """Return what `read_cases` takes for an option as it was given."""
    kind = "text" if name in _MORE else TableSpec.__dataclass_fields__[name].metadata["kind"]
    return split_names(value) if kind == "names" else value or () if kind == "list" else value


_SPELLINGS = {
    **{one.name: f"--{one.metadata['called']}" for one in fields(TableSpec) if one.metadata.get("called")},
    "X": "the features",
    "labels": "the labels",
    "y": "the labels",
    "fees": "--fee",
    "floor": "--quality-floor",
    "prices": "--fee",
    "max_epochs": "--epochs",
    "random_state": "--seed",
    "trade_off": "--error-cost",
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
    return known.get(name, f"--{name.replace('_', '-')}")


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
    from defero.core.errors import InputError

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
            fees[name] = float(fee if equals else "none")
        except ValueError:
            how = "such as dr_a=0.05, or all=0.05 for everybody, or NAME=@COLUMN"
            raise InputError(f"{entry}: expected NAME=MONEY with a number, {how}.", argument="fees") from None
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


def saved_model(model: Path, text_encoder: str | None = None) -> "Any":
    """Load the team or the pool that a command names before its table: a `Study` or a `PoolStudy`."""
    from defero.core.errors import InputError
    from defero.study import Study
    from defero.study.pools.pool_study import load_study

    if model.is_file():
        raise InputError(f"{model}: is a file and not a model folder; the model comes first, then the table of cases.")
    return load_study(model, Study.load, text_encoder=text_encoder)
