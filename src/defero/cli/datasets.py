"""`defero datasets`: which named data sets there are, what is known of one, and how it gets here."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from defero.cli.options import AsJson
from defero.cli.output import echo, emit

if TYPE_CHECKING:
    from defero.datasets.catalog import Dataset
    from defero.datasets.files import FileProgress

app = typer.Typer(
    name="datasets",
    help="Public data sets: list them, show one, download one.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Name = Annotated[str, typer.Argument(help="A data set, as `defero datasets list` names it.")]
Folder = Annotated[
    Path | None, typer.Option(help="The data folder. Default: DEFERO_DATA, else the user's cache folder.")
]


@app.command(name="list")
def list_datasets(folder: Folder = None, as_json: AsJson = False) -> None:
    """List the data sets, and whether each is on this machine.

    Example:

    defero datasets list
    """
    from defero.datasets.catalog import DATASETS
    from defero.datasets.files import form_here, summary
    from defero.datasets.folder import data_folder

    root = data_folder(folder)
    here = {name: form_here(root, entry) for name, entry in DATASETS.items()}
    if as_json:
        rows = [summary(entry) | {"here": here[name]} for name, entry in DATASETS.items()]
        emit({"folder": str(root), "datasets": rows})
        return
    echo(f"In {root}:\n")
    widths = max(map(len, DATASETS)), max(len(entry.licence) for entry in DATASETS.values())
    for name, entry in DATASETS.items():
        echo(f"{name:{widths[0]}}  {'here' if here[name] else '-   '}  {entry.licence:{widths[1]}}  {entry.what}")
    echo("\n`defero datasets info NAME` says more, `defero datasets get NAME` brings it here.")


@app.command()
def info(name: Name, folder: Folder = None, as_json: AsJson = False) -> None:
    """Show the source, licence, citation, files and checksums of a data set.

    Example:

    defero datasets info cifar10
    """
    from defero.datasets.catalog import DATASETS
    from defero.datasets.files import dataset_facts, describe_dataset
    from defero.datasets.folder import data_folder

    entry, root = DATASETS.find(name), data_folder(folder)
    if as_json:
        emit(dataset_facts(root, entry))
    else:
        echo("\n".join(describe_dataset(root, entry)))


@app.command()
def get(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Accept the licence without being asked.")] = False,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Show the licence of a data set, then download, check and unpack it. Files that are here are only checked.

    An interrupted download is continued. If the sha256 of a source is not known, that of the first download is recorded
    and later downloads are compared with it.

    Example:

    defero datasets get hatespeech --yes
    """
    from defero.datasets.catalog import DATASETS
    from defero.datasets.files import about, asks_for_licence, get_dataset
    from defero.datasets.folder import data_folder

    entry, root = DATASETS.find(name), data_folder(folder)
    if not as_json:
        echo("\n".join(about(entry)[:3]))
    asks_licence = asks_for_licence(root, entry)
    if asks_licence:
        _ask(entry, yes=yes)
    fetched = get_dataset(name, folder=root, accept_licence=asks_licence, progress=None if as_json else _progress())
    if as_json:
        emit(fetched.to_dict())
    else:
        echo("\n" + "\n".join(fetched.describe()))


def _ask(entry: "Dataset", *, yes: bool) -> None:
    if yes:
        return
    if not _at_a_terminal():
        from defero.core.errors import InputError

        raise InputError(f"{entry.name} has the licence: {entry.licence}. To accept it without a terminal pass --yes.")
    typer.confirm(f"\nDo you accept the licence ({entry.licence})?", abort=True, err=True)


def _at_a_terminal() -> bool:
    return sys.stdin.isatty()


def _progress() -> "FileProgress | None":
    """Return what draws a line of progress on a terminal; None elsewhere."""
    if not sys.stderr.isatty():
        return None

    def draw(name: str, done: int, total: int | None) -> None:
        share = f"{100 * done / total:3.0f} % of {total / 1e6:.1f} MB" if total else f"{done / 1e6:.1f} MB"
        typer.echo(f"\r{name}  {share} ", nl=done == total, err=True)

    return draw
