"""`defero evaluate`: a saved team on cases it has not seen, alone or beside other teams."""

from typing import TYPE_CHECKING, Any

from defero.cli import options as opt
from defero.cli.output import echo, emit, show_answering, show_notes, spelled

if TYPE_CHECKING:
    from defero.decide.terms import Terms
    from defero.study import Evaluation


@opt.takes(
    reading=opt.of_table()
    + opt.of_reading("answers", "images", "bad_rows", "most_cases", "engine", "workers", "address"),
    terms=opt.of_terms(*opt.LIMITED),
    trial=opt.of("study/study.py", "Study.evaluate", but=("table", "terms", "said")),
    loading=opt.ENCODER,
)
def evaluate(
    model: opt.Model,
    table: opt.PastCases,
    *,
    reading: dict[str, Any],
    terms: "Terms",
    trial: dict[str, Any],
    loading: dict[str, Any],
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
    judged = opt.saved_model(model, **loading).evaluate(table, terms=terms, **trial, **reading)
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
