"""`defero fit`: from a file of answers to a model folder."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defero.cli.options import (
    MOST_SEED,
    Answer,
    Answers,
    AsJson,
    ControlName,
    Expert,
    Fee,
    FileFormat,
    Item,
    Key,
    Label,
    Majority,
    fees_of,
    split_names,
)
from defero.cli.output import emit, show_answering, show_notes, spelled

if TYPE_CHECKING:
    from defero.estimators.recipe import Recipe
    from defero.study import Study


def fit(
    table: Annotated[
        Path,
        typer.Argument(
            help="CSV, TSV, JSON lines (each also .gz) or Parquet with one row per case; or an export of Label Studio "
            "(.json) or Prodigy (--format prodigy); or, with --table and --image-column, a folder of pictures."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The model folder to write.")],
    label: Label = None,
    experts: Annotated[
        str | None,
        typer.Option(
            help="The experts' columns, with commas between; quote a name that has a comma. Blank cell = not asked. Of "
            "--answers: who counts."
        ),
    ] = None,
    answers: Answers = None,
    item: Item = None,
    expert: Expert = None,
    answer: Answer = None,
    text: Annotated[list[str] | None, typer.Option(help="A feature column of text; repeat for several.")] = None,
    features: Annotated[
        str | None, typer.Option(help="Feature columns, with commas between. Default: all others.")
    ] = None,
    key: Key = None,
    majority_label: Majority = False,
    group: Annotated[
        str | None,
        typer.Option(help="Column of group ids, such as patient ids. All rows of a group go to the same part."),
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="A column of dates or numbers: learn from the earliest, test on the latest.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="A column that says train, test, val, ... : which part a case is in.")
    ] = None,
    file_format: FileFormat = None,
    control: ControlName = None,
    table_file: Annotated[
        Path | None, typer.Option("--table", help="The table of the cases, where TABLE is a folder of pictures.")
    ] = None,
    image_column: Annotated[
        str | None, typer.Option(help="The column with the paths of pictures, as they stand in the folder.")
    ] = None,
    image_size: Annotated[
        str | None,
        typer.Option(help="Pixels, 32 or 32x48 (height x width). Default: the first picture's, at most 224x224."),
    ] = None,
    net: Annotated[
        str,
        typer.Option(
            help="linear, mlp or auto: whichever predicts held-out labels better. Of pictures a deep net, such as "
            "wrn-28-4 or resnet-18; of texts, or of their vectors, text-cnn."
        ),
    ] = "auto",
    epochs: Annotated[
        int | None, typer.Option(help="Most passes of a deep net over the cases. Default: 30.", min=1)
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Cases in a step of a deep net; halve it if memory is short.", min=1)
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="The largest step of a deep net's weights.", min=0)
    ] = None,
    branches: Annotated[
        str | None,
        typer.Option(help="one or two: do a deep net's experts share the trunk of the classes? Default: one."),
    ] = None,
    augmentation: Annotated[
        str | None,
        typer.Option(help="crop-and-flip (the default), crop or none: what is done to pictures in training."),
    ] = None,
    checkpoints: Annotated[
        Path | None, typer.Option(help="A folder for a deep net's checkpoint: the same call goes on from there.")
    ] = None,
    onnx: Annotated[
        bool, typer.Option("--onnx", help="Save a deep net as ONNX, which route runs without torch.")
    ] = False,
    loss: Annotated[str, typer.Option(help="softmax, ova, decoupled, asymmetric, moe or auto.")] = "auto",
    heads: Annotated[
        str,
        typer.Option(
            help="separate: each expert is learned from their answers alone; shrunk: shrunk toward the average expert, "
            "the more so the fewer answers; auto: shrunk where half of them gave fewer than 200."
        ),
    ] = "auto",
    min_answers: Annotated[
        int, typer.Option(help="With fewer answers to learn from, an expert is not asked alone.", min=1)
    ] = 5,
    answer_weights: Annotated[
        str | None,
        typer.Option(
            help="label or label+features: weigh each answer by how unlikely it was given, where fit finds that who "
            "answered what depends on these."
        ),
    ] = None,
    alpha: Annotated[float, typer.Option(help="How often a panel may break its promise.")] = 0.1,
    target: Annotated[
        str, typer.Option(help="A panel's promise: any-correct, all-correct or missed-share.")
    ] = "any-correct",
    fee: Fee = None,
    test_share: Annotated[
        float | None, typer.Option(help="Share of the cases kept for the test. Default: 0.2.")
    ] = None,
    forget_rows: Annotated[
        bool,
        typer.Option(
            "--forget-rows",
            help="Keep no fingerprints of the rows in the model folder. evaluate and report then cannot tell which "
            "rows are new, and need --all-rows-new.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Makes the run repeatable.", min=0, max=MOST_SEED)] = 0,
    as_json: AsJson = False,
) -> None:
    """Train, calibrate, conformalise and test on four disjoint parts of a file, and save the team.

    Of the cases that are not kept for the test, five eighths are learned from; the others are shared between making
    the probabilities honest and finding panels of experts that keep a promise.

    Example:

    defero fit cases.csv --label truth --experts dr_a,dr_b,dr_c --out model

    With one row per answer in a file of its own, and texts to be judged:

    defero fit items.csv --answers log.csv --label gold --text text --out model

    With pictures, whose paths in the folder stand in a column:

    defero fit scans --table cases.csv --image-column file --net wrn-28-4 --label truth --experts a,b --out model
    """
    from defero.study import Study, read_cases
    from defero.study.fitting.checks import check_test_share
    from defero.study.fitting.choices import FitChoices
    from defero.study.team import writable

    _check_folder(table, table_file, image_column)
    deep: dict[str, Any] = {
        "max_epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "branches": branches,
        "augmentation": augmentation,
    }
    choices: dict[str, Any] = {
        "net": net,
        "loss": loss,
        "heads": heads,
        "min_answers": min_answers,
        "answer_weights": answer_weights,
        "alpha": alpha,
        "target": target,
        "recipe": _recipe(deep),
        "checkpoints": None if checkpoints is None else str(checkpoints),
    }
    checked = FitChoices(**choices)
    for name in [*(name for name, value in deep.items() if value is not None), *(["onnx"] if onnx else [])]:
        checked.check_deep(name)
    checked.check_reads(pictures=image_column is not None)
    check_test_share(test_share, split=split)
    fees, replaced = fees_of(fee), writable(out)
    cases = read_cases(
        table_file or table,
        label=label,
        expert_names=split_names(experts),
        answers=answers,
        item=item,
        annotator=expert,
        answer=answer,
        features=split_names(features),
        text=text or (),
        key=key,
        majority_label=majority_label,
        format=file_format,
        control=control,
        images=table if table_file is not None else None,
        image_column=image_column,
        image_size=_size(image_size),
    )
    study = Study(cases, groups=group, time=time, split=split, test_share=test_share, random_state=seed)
    try:
        study.fit(**choices, fees=fees, progress=sys.stderr.isatty() and not as_json)
    except KeyboardInterrupt as stopped:  # the exit status is the shell's own, 130
        typer.echo(f"defero: {str(stopped) or 'stopped by Ctrl-C.'}", err=True)
        raise
    study.save(out, onnx=onnx, forget_rows=forget_rows)
    study.notes += replaced
    if as_json:
        emit(study.to_dict())
    else:
        _show(study)


def _show(study: "Study") -> None:
    for line in study.describe():
        typer.echo(line)
    typer.echo("")
    judged = study.evaluate()
    show_answering(judged.router.facts.answering, when="among the cases to learn from")
    typer.echo(spelled(judged.summary()))
    show_notes(study.notes)
    typer.echo(f"\nSaved in {study.name}. Next: defero route {study.name} NEW_CASES --out decisions.csv")


def _check_folder(table: Path, listed_in: Path | None, column: str | None) -> None:
    """Refuse a folder without a table, and a table without a folder."""
    from defero.core.errors import InputError

    if column is None and listed_in is not None:
        raise InputError(f"--table {listed_in}: is for pictures; name the column of their paths: --image-column.")
    if column is None and table.is_dir():
        raise InputError(f"{table}: is a folder; of pictures pass --table and --image-column too.")
    if column is not None and (listed_in is None or not table.is_dir()):
        raise InputError(
            f"--image-column {column}: expected the folder of the pictures and --table FILE, got {table}; "
            f"defero fit IMAGES --table cases.csv --image-column {column} ..."
        )


def _recipe(deep: dict[str, Any]) -> "Recipe | None":
    """Return the settings that were given; None where there are none."""
    given = {name: value for name, value in deep.items() if value is not None}
    if not given:
        return None
    from defero.estimators.recipe import Recipe

    return Recipe(**given)


def _size(given: str | None) -> int | tuple[int, int] | None:
    """Read a size.

    >>> _size("32"), _size("32x48"), _size(None)
    (32, (32, 48), None)
    """
    from defero.core.errors import InputError

    if given is None:
        return None
    sides = given.lower().split("x")
    if len(sides) > 2 or not all(side.isascii() and side.isdigit() for side in sides):
        raise InputError(f"--image-size must be pixels, such as 32 or 32x48 (height x width), got {given!r}.")
    return int(sides[0]) if len(sides) == 1 else (int(sides[0]), int(sides[1]))
