"""`defero add-expert`: a new expert from a few dozen answers, in a copy of the model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from defero.cli import options as opt
from defero.cli.output import echo, emit, show_notes, spelled


@opt.takes(
    reading=opt.of_table("answer", "majority_label") + opt.of_reading("answers", "images"),
    joining=opt.of("study/study.py", "Study.add_expert", only=("panels", "all_rows_new")),
    loading=opt.ENCODER,
)
def add_expert(
    model: Annotated[Path, typer.Argument(help="A model folder. It is not changed.")],
    table: Annotated[Path, typer.Argument(help="Cases with labels, some of which the new expert answered.")],
    *,
    expert: Annotated[str, typer.Option(help="The new expert's name.")],
    out: Annotated[Path, typer.Option(help="The model folder to write.")],
    answer: Annotated[
        str | None,
        typer.Option(
            help="Column of their answers. A blank cell means not asked. Default: the column with their name."
        ),
    ] = None,
    reading: dict[str, Any],
    joining: dict[str, Any],
    loading: dict[str, Any],
    seed: opt.UnusedSeed = 0,
    as_json: opt.AsJson = False,
) -> None:
    """Add an expert to a saved team without training it again.

    The new expert starts as the average expert, and their answers show how they differ from it. The probabilities of
    the others do not change. The answered cases count as used, so `evaluate` leaves them out. Options that are not
    given, such as --label, are as in `fit`.

    Example:

    defero add-expert model new_cases.csv --expert dr_d --out model_with_d
    """
    from defero.core.errors import InputError
    from defero.data.model_folder import writable
    from defero.team.roster import check_name

    study = opt.saved_model(model, **loading)
    check_name(study.ready(), expert)
    replaced = writable(out)
    if out.exists() and out.samefile(model):
        raise InputError(f"{out}: is the model itself, which stays as it is; choose another name.", argument="out")
    cases = study.read(table, newcomer=expert, answer=answer, **reading)
    newcomer = study.add_expert(expert, cases, **joining)
    study.save(out)
    notes = [*newcomer.notes, *replaced]
    if as_json:
        emit({"model": str(out), **newcomer.to_dict(), "notes": notes})
        return
    echo(spelled(newcomer.summary()))
    echo(f"\nSaved in {out}. Next: defero route {out} NEW_CASES --out decisions.csv")
    show_notes(notes)
