"""`defero evaluate`: a saved team on cases it has not seen, alone or beside other teams."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from defero.cli import options as opt
from defero.cli.output import echo, emit, show_answering, show_notes, spelled
from defero.cli.pool import evaluate_pool, is_pool, refuse

if TYPE_CHECKING:
    from defero.study import Evaluation


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    table: Annotated[Path, typer.Argument(help="Cases with labels and the experts' answers.")],
    label: opt.Label = None,
    answers: opt.Answers = None,
    item: opt.Item = None,
    expert: opt.Expert = None,
    answer: opt.Answer = None,
    key: opt.Key = None,
    majority_label: opt.Majority = False,
    file_format: opt.FileFormat = None,
    control: opt.ControlName = None,
    rename: opt.Rename = None,
    blank: opt.Blank = None,
    images: opt.Images = None,
    against: Annotated[
        list[Path] | None, typer.Option(help="Another model folder to compare with. Repeat for several.")
    ] = None,
    ask: opt.Ask = None,
    fee: opt.Fee = None,
    fees: opt.FeesFile = None,
    error_cost: opt.ErrorCost = None,
    cost_matrix: opt.CostMatrix = None,
    absent: opt.Absent = None,
    by: opt.By = None,
    capacity: opt.Capacity = None,
    at_most_asked: opt.AtMostAsked = None,
    budget: opt.Budget = None,
    all_rows_new: opt.AllRowsNew = False,
    bad_rows: opt.BadRowsOption = None,
    most_cases: opt.MostCases = None,
    engine: opt.EngineName = None,
    workers: opt.Workers = None,
    address: opt.Address = None,
    seed: opt.Seed = 0,
    text_encoder: opt.TextEncoder = None,
    as_json: opt.AsJson = False,
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
    words, terms, study = opt.reading(locals()), opt.terms_of(locals()), opt.saved_model(model, text_encoder)
    if is_pool(study):
        other: dict[str, object] = {"label": label, "answers": answers, "against": against, "ask": ask, "by": by}
        other |= {"capacity": capacity, "at_most_asked": at_most_asked, "budget": budget}
        other |= {"engine": engine, "workers": workers, "address": address}
        refuse(other | {"cost_matrix": cost_matrix, "rename": rename})
        evaluate_pool(
            study,
            table,
            fees=terms.fees,
            error_cost=error_cost,
            absent=absent or [],
            blank=blank or (),
            all_rows_new=all_rows_new,
            bad_rows=bad_rows or "stop",
            as_json=as_json,
        )
        return
    judged = study.evaluate(
        study.read(table, **words, engine=engine, workers=workers, address=address),
        against=against or [],
        all_rows_new=all_rows_new,
        ask=ask or "one",
        terms=terms,
        by=opt.split_names(by) or (),
        random_state=seed,
    )
    if as_json:
        emit(judged.to_dict())
    else:
        _show(judged)


def _show(judged: "Evaluation") -> None:
    if judged.left_out_sentence():
        echo(f"{judged.left_out_sentence()}\n")
    show_answering(judged.team.facts.answering, when="when it was fitted")
    echo(spelled(judged.figures()))
    for text in judged.tables():
        echo(f"\n{text}")
    show_notes(judged.notes)
