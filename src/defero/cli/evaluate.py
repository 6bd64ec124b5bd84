"""`defero evaluate`: a saved team on cases it has not seen."""

from pathlib import Path
from typing import Annotated

import typer

from defero.cli.output import emit, show_record


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    table: Annotated[Path, typer.Argument(help="Cases with labels and the experts' answers.")],
    label: Annotated[str | None, typer.Option(help="The column with the truth. Default: as in fit.")] = None,
    seed: Annotated[int, typer.Option(help="Taken by every command; nothing is drawn at random here.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Judge a saved team on cases that its training did not see.

    Rows that `fit` saw are found by their fingerprints and left out; a table of nothing else is refused. An expert
    can only be asked where their answer is recorded.

    Example:

    defero evaluate model new_cases.csv
    """
    from defero.core.errors import InputError, TableError
    from defero.data.fingerprint import held_out, row_fingerprints
    from defero.data.formats import first_row
    from defero.data.wide import read_table
    from defero.router import Router, judge

    router = Router.load(model)
    truth = label or router.notes.get("label")
    if router.recipe is None:
        raise InputError(f"{model}: was fitted on a matrix, not on a table; call its score in Python.")
    if truth is None:
        raise InputError(f"{model}: was fitted in Python and does not know the label's column; name it with --label.")
    cases = read_table(
        table, label=truth, experts=router.expert_names, features=router.notes["columns"], classes=router.classes
    )
    fresh = held_out(router.all_seen(), row_fingerprints(cases.features))
    if not fresh.any():
        raise TableError(
            f"{table}: all {len(cases)} rows were seen by fit, and a team cannot be judged on what it learned from; "
            "pass other cases."
        )
    left_out = int((~fresh).sum())
    test = cases.take(fresh)
    record = judge(router, test.features, test.labels, test.answers, source=str(table), first_row=first_row(table))
    if as_json:
        emit({"model": str(model), "rows": len(cases), "seen_by_fit": left_out, "test": record.to_dict()})
        return
    if left_out:
        typer.echo(f"{left_out} of {len(cases)} rows were seen by fit and are left out.\n")
    show_record(record)
