"""`defero fit`: from a file of answers to a model folder."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defero.cli import options as opt
from defero.cli.output import echo, emit, show_answering, show_notes, spelled
from defero.cli.pool import fit_pool, refuse

if TYPE_CHECKING:
    from defero.estimators.recipe import Recipe
    from defero.study import Study


_OF_POOLS = ("expert_names", "features", "text", "key", "groups", "split", "blank")


@dataclass(frozen=True)
class Learning:
    """What is learned, and promised: words of `FitChoices`."""

    net: Annotated[
        str,
        typer.Option(
            help="auto: trees and a logistic regression for the classes, and everybody's skill by case and class, "
            "without a network. linear, mlp: networks with a surrogate loss. For pictures: a deep net, such as "
            "wrn-28-4 or resnet-18. For texts, or vectors of their words: text-cnn."
        ),
    ] = "auto"
    loss: Annotated[
        str,
        typer.Option(
            help="Surrogate loss of linear, mlp and deep nets: softmax, ova, decoupled, asymmetric, moe or auto. It "
            "says nothing about what an error costs."
        ),
    ] = "auto"
    answer_weights: Annotated[
        str | None,
        typer.Option(
            help="label or label+features: give more weight to answers that were unlikely to be given. Use it if fit "
            "reports that who answered depends on the label, or on the label and the features."
        ),
    ] = None
    alpha: Annotated[float, typer.Option(help="Share of cases on which a panel may break its promise.")] = 0.1
    target: Annotated[str, typer.Option(help="What a panel promises: any-correct, all-correct or missed-share.")] = (
        "any-correct"
    )


@dataclass(frozen=True)
class Deep:
    """Settings of a deep net's training: words of `Recipe`."""

    max_epochs: Annotated[
        int | None, typer.Option("--epochs", help="Largest number of epochs of a deep net. Default: 30.", min=1)
    ] = None
    batch_size: Annotated[
        int | None, typer.Option(help="Batch size of a deep net. Halve it if memory runs out.", min=1)
    ] = None
    learning_rate: Annotated[float | None, typer.Option(help="Largest learning rate of a deep net.", min=0)] = None
    branches: Annotated[
        str | None,
        typer.Option(
            help="one, heads or two: whether the experts of a deep net share the trunk of the classes (one), read it "
            "without changing it (heads, the default with --loss auto), or have their own (two)."
        ),
    ] = None
    augmentation: Annotated[
        str | None,
        typer.Option(help="Augmentation of pictures during training: crop-and-flip (the default), crop or none."),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the settings that were given."""
        return {name: value for name, value in vars(self).items() if value is not None}


@opt.reads(*opt.ALL, "answers")
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
    scores: Annotated[
        bool,
        typer.Option(
            "--scores",
            help="The cells of --experts say how good each answer was, from 0 (wrong) to 1 (right), not what was "
            "answered: a pool of language models, programs or people. No label is needed. --fee is what a call costs, "
            "--error-cost what a point of quality is worth.",
        ),
    ] = False,
    text_encoder: opt.TextEncoder = None,
    table_file: Annotated[
        Path | None, typer.Option("--table", help="Table of the cases, if TABLE is a folder of pictures.")
    ] = None,
    image_size: Annotated[
        str | None,
        typer.Option(
            help="Size in pixels, such as 32 or 32x48 (height x width). Default: that of the first picture, "
            "at most 224x224."
        ),
    ] = None,
    learning: Learning,
    deep: Deep,
    checkpoints: Annotated[
        Path | None, typer.Option(help="Folder for the checkpoint of a deep net. The same command continues from it.")
    ] = None,
    onnx: Annotated[
        bool, typer.Option("--onnx", help="Save a deep net as ONNX, so that route runs it without torch.")
    ] = False,
    costs: opt.Costs,
    test_share: Annotated[float | None, typer.Option(help="Share of the cases in the test part. Default: 0.2.")] = None,
    forget_rows: Annotated[
        bool,
        typer.Option(
            "--forget-rows",
            help="Keep no fingerprints of the rows in the model folder. evaluate and report then cannot tell which "
            "rows are new, and need --all-rows-new.",
        ),
    ] = False,
    seed: Annotated[
        int, typer.Option(help="Random seed. The same seed gives the same model.", min=0, max=opt.MOST_SEED)
    ] = 0,
    as_json: opt.AsJson = False,
    **said: Any,
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
    _check_folder(table, table_file, said["image_column"])
    from defero.data.model_folder import writable
    from defero.study import Study, read_cases
    from defero.study.fitting.parts import check_test_share

    terms = costs.terms()
    how: dict[str, Any] = {"test_share": test_share, "random_state": seed}
    if scores:
        others = {name: value for name, value in said.items() if name not in _OF_POOLS}
        others |= {"onnx": onnx, "cost_matrix": terms.cost_matrix, "answer_weights": learning.answer_weights}
        others["net"] = None if learning.net == "auto" else learning.net
        refuse(others | {"checkpoints": checkpoints, **deep.given()}, why="is for teams with labels, not for --scores")
        how |= {name: said[name] for name in _OF_POOLS}
        how |= {"fees": terms.fees, "error_cost": terms.error_cost, "text_encoder": text_encoder}
        fit_pool(table, out, **how, forget_rows=forget_rows, as_json=as_json)
        return
    choices = {
        **vars(learning),
        "recipe": _recipe(deep),
        "checkpoints": None if checkpoints is None else str(checkpoints),
    }
    only_deep = [*deep.given(), *(["onnx"] if onnx else [])]
    _check_choices(choices, only_deep, pictures=said["image_column"] is not None)
    check_test_share(test_share, split=said["split"])
    how |= {name: said.pop(name) for name in ("groups", "time", "split")}
    replaced, images = writable(out), None if table_file is None else table
    cases = read_cases(
        table_file or table, **said, text_encoder=text_encoder, images=images, image_size=_size(image_size)
    )
    study = Study(cases, **how)
    try:
        study.fit(**choices, terms=terms, progress=sys.stderr.isatty() and not as_json)
    except KeyboardInterrupt as stopped:  # the exit status is the shell's own, 130
        echo(f"defero: {str(stopped) or 'stopped by Ctrl-C.'}", err=True)
        raise
    study.save(out, onnx=onnx, forget_rows=forget_rows)
    study.notes += replaced
    _show(study, as_json=as_json)


def _check_choices(choices: dict[str, Any], only_deep: list[str], *, pictures: bool) -> None:
    """Refuse choices that do not fit together, before a table is read."""
    from defero.study.fitting.choices import FitChoices

    checked = FitChoices(**choices)
    for name in only_deep:
        checked.check_deep(name)
    checked.check_reads(pictures=pictures)


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


def _recipe(deep: Deep) -> "Recipe | None":
    """Return the settings that were given; None where there are none."""
    if not deep.given():
        return None
    from defero.estimators.recipe import Recipe

    return Recipe(**deep.given())


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
