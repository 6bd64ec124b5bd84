"""`defero fit`: from a file of answers to a model folder."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defero.cli import options as opt
from defero.cli.output import echo, emit, show_answering, show_notes, spelled

if TYPE_CHECKING:
    from defero.decide.terms import Terms
    from defero.estimators.recipe import Recipe
    from defero.study import Study


_DEEP = ("max_epochs", "batch_size", "learning_rate", "branches", "augmentation")


@opt.takes(
    reading=opt.of("data/read_cases.py", "read_cases", but=("table", "images", "classes")),
    cut=opt.of("study/study.py", "Study", but=("cases", "team", "name")),
    learning=opt.of("study/study.py", "Study.fit", but=("terms", "recipe", "progress")),
    deep=opt.of("estimators/recipe.py", "Recipe", only=_DEEP),
    terms=opt.of_terms(*opt.COSTS),
    saving=opt.of("study/study.py", "Study.save", but=("folder",)),
)
def fit(
    table: Annotated[
        Path,
        typer.Argument(
            help="CSV, TSV, JSON lines (each also .gz) or Parquet with one row per case; or an export of Label Studio "
            "(.json) or Prodigy (--format prodigy); or, with --table and --image-column, a folder of pictures."
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(help="The model folder to write.")],
    table_file: Annotated[
        Path | None, typer.Option("--table", help="Table of the cases, if TABLE is a folder of pictures.")
    ] = None,
    reading: dict[str, Any],
    cut: dict[str, Any],
    learning: dict[str, Any],
    deep: dict[str, Any],
    terms: "Terms",
    saving: dict[str, Any],
    as_json: opt.AsJson = False,
) -> None:
    """Train, calibrate, conformalize and test on four disjoint parts of a file, and save the team.

    By default 50 % of the cases are for training, 15 % for calibrating the probabilities, 15 % for finding panels of
    experts, and 20 % for the test.

    Example:

    defero fit cases.csv --label truth --experts dr_a,dr_b,dr_c --out model

    With one answer per row in a second file, and a column of text:

    defero fit items.csv --answers log.csv --label gold --text text --out model

    With scores of language models, and what a call costs:

    defero fit prompts.csv --scores --experts gpt,llama --text prompt --fee gpt=@gpt_price --fee llama=0.1 --out pool

    With a folder of pictures, and a column of their paths:

    defero fit scans --table cases.csv --image-column file --net wrn-28-4 --label truth --experts a,b --out model
    """
    _check_folder(table, table_file, reading["image_column"])
    from defero.data.model_folder import writable
    from defero.study import Study, read_cases
    from defero.study.parts import check_test_share

    recipe = {name: value for name, value in deep.items() if value != _default(name)}
    learning["recipe"] = _recipe(recipe)
    if not reading["scores"]:
        only_deep = [*recipe, *(["onnx"] if saving["onnx"] else [])]
        _check_choices(learning, only_deep, pictures=reading["image_column"] is not None)
    check_test_share(cut["test_share"], split=cut["split"])
    replaced, images = writable(out), None if table_file is None else table
    reading["image_size"] = _size(reading["image_size"])
    study = Study(read_cases(table_file or table, **reading, images=images), **cut)
    try:
        study.fit(**learning, terms=terms, progress=sys.stderr.isatty() and not as_json)
    except KeyboardInterrupt as stopped:  # the exit status is the shell's own, 130
        echo(f"defero: {str(stopped) or 'stopped by Ctrl-C.'}", err=True)
        raise
    study.save(out, **saving)
    study.notes += replaced
    _show(study, as_json=as_json)


def _check_choices(choices: dict[str, Any], only_deep: list[str], *, pictures: bool) -> None:
    """Refuse choices that do not fit together, before a table is read."""
    from defero.study.fit import FitChoices

    checked = FitChoices(**choices)
    for name in only_deep:
        checked.check_deep(name)
    checked.check_reads(pictures=pictures)


def _default(name: str) -> object:
    return opt.words_of("estimators/recipe.py", "Recipe")[name].default


def _recipe(settings: dict[str, Any]) -> "Recipe | None":
    """Return the settings that were given; None where there are none."""
    if not settings:
        return None
    from defero.estimators.recipe import Recipe

    return Recipe(**settings)


def _show(study: "Study", *, as_json: bool) -> None:
    if as_json:
        emit(study.to_dict())
        return
    for line in study.describe():
        echo(line)
    echo("")
    judged = study.evaluate()
    show_answering(judged.team.facts.answering, when="among the cases to learn from")
    echo(spelled(judged.figures()))
    show_notes(study.notes)
    echo(f"\nSaved in {study.name}. Next: defero route {study.name} NEW_CASES --out decisions.csv")


def _check_folder(table: Path, listed_in: Path | None, column: str | None) -> None:
    """Refuse a folder without a table, and a table without a folder."""
    from defero.core.errors import Argument, InputError

    if column is None and listed_in is not None:
        raise InputError(
            f"{listed_in}: is for pictures; name the column of their paths: {Argument('image_column')}.",
            argument="table",
        )
    if column is None and table.is_dir():
        raise InputError(
            f"{table}: is a folder; expected a table. For a folder of pictures pass {Argument('table')} and "
            f"{Argument('image_column')} too."
        )
    if column is not None and (listed_in is None or not table.is_dir()):
        raise InputError(
            f"{column}: expected the folder of the pictures and --table FILE, got {table}; "
            f"defero fit IMAGES --table cases.csv --image-column {column} ...",
            argument="image_column",
        )


def _size(text: str | None) -> int | tuple[int, int] | None:
    """Read a size.

    >>> _size("32"), _size("32x48"), _size(None)
    (32, (32, 48), None)
    """
    from defero.core.errors import InputError

    if text is None:
        return None
    sides = text.lower().split("x")
    if len(sides) > 2 or not all(side.isascii() and side.isdigit() for side in sides):
        raise InputError(f"must be pixels, such as 32 or 32x48 (height x width), got {text!r}.", argument="image_size")
    return int(sides[0]) if len(sides) == 1 else (int(sides[0]), int(sides[1]))
