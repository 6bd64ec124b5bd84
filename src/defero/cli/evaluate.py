"""`defero evaluate`: a saved team on cases it has not seen, alone or beside other teams."""

from pathlib import Path
from typing import Annotated

import typer

from defero.cli.options import (
    Absent,
    AllRowsNew,
    Answer,
    Answers,
    AsJson,
    Ask,
    Blank,
    By,
    ControlName,
    CostMatrix,
    ErrorCost,
    Expert,
    Fee,
    FeesFile,
    FileFormat,
    Images,
    Item,
    Key,
    Label,
    Majority,
    Rename,
    Seed,
    TextEncoder,
    fees_of,
    saved_model,
    split_names,
)
from defero.cli.output import emit, show_answering, show_notes, spelled
from defero.cli.pool import evaluate_pool, is_pool, refuse


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    table: Annotated[Path, typer.Argument(help="Cases with labels and the experts' answers.")],
    label: Label = None,
    answers: Answers = None,
    item: Item = None,
    expert: Expert = None,
    answer: Answer = None,
    key: Key = None,
    majority_label: Majority = False,
    file_format: FileFormat = None,
    control: ControlName = None,
    rename: Rename = None,
    blank: Blank = None,
    images: Images = None,
    against: Annotated[
        list[Path] | None, typer.Option(help="Another model folder to compare with. Repeat for several.")
    ] = None,
    ask: Ask = None,
    fee: Fee = None,
    fees: FeesFile = None,
    error_cost: ErrorCost = None,
    cost_matrix: CostMatrix = None,
    absent: Absent = None,
    by: By = None,
    all_rows_new: AllRowsNew = False,
    seed: Seed = 0,
    text_encoder: TextEncoder = None,
    as_json: AsJson = False,
) -> None:
    """Judge a saved team on cases with known labels and recorded answers.

    Rows that `fit` used are left out, and so are rows of a group that it used. An expert can be asked only about
    cases that they answered. With --against, two teams are compared case by case on the rows that neither has used.
    Options that are not given, such as --label, are as in `fit`.

    Example:

    defero evaluate model new_cases.csv --against older_model

    What it costs, where a question to anybody costs 2.50 and an error 40:

    defero evaluate model new_cases.csv --fee all=2.5 --error-cost 40
    """
    study, paid = saved_model(model, text_encoder), fees_of(fee, fees)
    if is_pool(study):
        other = {"label": label, "answers": answers, "against": against, "ask": ask, "by": by}
        refuse(other | {"cost_matrix": cost_matrix, "rename": rename, "blank": blank})
        evaluate_pool(
            study,
            table,
            fees=paid,
            error_cost=error_cost,
            absent=absent or [],
            all_rows_new=all_rows_new,
            as_json=as_json,
        )
        return
    cases = study.read(
        table,
        label=label,
        answers=answers,
        item=item,
        annotator=expert,
        answer=answer,
        key=key,
        majority_label=majority_label,
        format=file_format,
        control=control,
        images=images,
        rename=rename,
        blank=blank or (),
    )
    judged = study.evaluate(
        cases,
        against=against or [],
        all_rows_new=all_rows_new,
        ask=ask or "one",
        fees=paid,
        error_cost=error_cost,
        cost_matrix=cost_matrix,
        absent=absent or [],
        by=split_names(by) or (),
        random_state=seed,
    )
    if as_json:
        emit(judged.to_dict())
        return
    if judged.left_out_sentence():
        typer.echo(f"{judged.left_out_sentence()}\n")
    show_answering(judged.router.facts.answering, when="when it was fitted")
    typer.echo(spelled(judged.figures()))
    for text in judged.tables():
        typer.echo(f"\n{text}")
    show_notes(judged.notes)
