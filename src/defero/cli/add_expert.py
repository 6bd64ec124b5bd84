"""`defero add-expert`: a new expert from a few dozen answers, in a copy of the model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from defero.cli import options as opt
from defero.cli.output import echo, emit, show_notes, spelled
from defero.cli.pool import is_pool


@opt.reads(*(name for name in opt.AGAIN if name not in ("answer", "majority_label")), "answers", "images")
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
    panels: Annotated[
        Path | None,
        typer.Option(
            help="Table of other cases, with labels and the answers of all experts, for new panels. Default: no panels."
        ),
    ] = None,
    all_rows_new: Annotated[
        bool,
        typer.Option(
            "--all-rows-new",
            help="Confirm that no row of --panels was used before. Needed if the model keeps no fingerprints of rows, "
            "or those of another key.",
        ),
    ] = False,
    seed: opt.UnusedSeed = 0,
    text_encoder: opt.TextEncoder = None,
    as_json: opt.AsJson = False,
    **said: Any,
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

    study = opt.saved_model(model, text_encoder)
    if is_pool(study):
        raise InputError(f"{model}: is a pool, made with --scores; this command is for teams with labels.")
    study.check_name(expert)
    replaced = writable(out)
    if out.exists() and out.samefile(model):
        raise InputError(f"{out}: is the model itself, which stays as it is; choose another name.", argument="out")
    cases = study.read(table, newcomer=expert, answer=answer, **said)
    newcomer = study.add_expert(expert, cases, panels=panels, all_rows_new=all_rows_new)
    study.save(out)
    notes = [*newcomer.notes, *replaced]
    if as_json:
        emit({"model": str(out), **newcomer.to_dict(), "notes": notes})
        return
    echo(spelled(newcomer.summary()))
    echo(f"\nSaved in {out}. Next: defero route {out} NEW_CASES --out decisions.csv")
    show_notes(notes)
