"""`defero add-expert`: a new expert from a few dozen answers, in a copy of the model."""

from pathlib import Path
from typing import Annotated

import typer

from defero.cli.options import (
    AllRowsNew,
    Answers,
    AsJson,
    ControlName,
    FileFormat,
    Images,
    Item,
    Key,
    Label,
    UnusedSeed,
    saved_study,
)
from defero.cli.output import emit, show_notes


def add_expert(
    model: Annotated[Path, typer.Argument(help="A model folder; it stays as it is.")],
    table: Annotated[Path, typer.Argument(help="Cases with labels, some of which the new expert answered.")],
    expert: Annotated[str, typer.Option(help="The new expert's name.")],
    out: Annotated[Path, typer.Option(help="The model folder to write.")],
    answer: Annotated[
        str | None,
        typer.Option(help="The column of their answers; blank = not asked. Default: called as they are."),
    ] = None,
    label: Label = None,
    answers: Answers = None,
    item: Item = None,
    expert_column: Annotated[str | None, typer.Option(help="Its column of the expert. Default: found by name.")] = None,
    key: Key = None,
    file_format: FileFormat = None,
    control: ControlName = None,
    images: Images = None,
    panels: Annotated[
        Path | None,
        typer.Option(help="Other cases, with labels and everybody's answers, to find new panels on. Default: none."),
    ] = None,
    all_rows_new: AllRowsNew = False,
    seed: UnusedSeed = 0,
    as_json: AsJson = False,
) -> None:
    """Add an expert to a saved team, without a new training.

    What the known experts have in common is what is expected of a new one; their own answers then tell how they
    differ from it. Nobody else's probabilities change. The cases count as used: `evaluate` leaves them out. Whatever is
    not said here, such as the label's column, is as in `fit`.

    Example:

    defero add-expert model new_cases.csv --expert dr_d --out model_with_d
    """
    from defero.core.errors import InputError
    from defero.study.team import writable

    study = saved_study(model)
    study.check_name(expert)
    replaced = writable(out)
    if out.exists() and out.samefile(model):
        raise InputError(f"--out {out}: is the model itself, which stays as it is; choose another name.")
    cases = study.read(
        table,
        newcomer=expert,
        label=label,
        answers=answers,
        item=item,
        annotator=expert_column,
        answer=answer,
        key=key,
        format=file_format,
        control=control,
        images=images,
    )
    newcomer = study.add_expert(expert, cases, panels=panels, all_rows_new=all_rows_new)
    study.save(out)
    notes = [*newcomer.notes, *replaced]
    if as_json:
        emit({"model": str(out), **newcomer.to_dict(), "notes": notes})
        return
    typer.echo(newcomer.summary())
    typer.echo(f"\nSaved in {out}. Next: defero route {out} NEW_CASES --out decisions.csv")
    show_notes(notes)
