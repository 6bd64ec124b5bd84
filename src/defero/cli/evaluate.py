"""`defero evaluate`: a saved team on cases it has not seen, alone or beside other teams."""

from pathlib import Path
from typing import Annotated

import typer

from defero.cli.against import compare_teams, show_rivals
from defero.cli.answering import noted, show_answering
from defero.cli.held_out import judge_held_out
from defero.cli.output import emit, show_record
from defero.cli.pictures import Images
from defero.cli.reading import (
    MOST_SEED,
    Answer,
    Answers,
    ControlName,
    Expert,
    FileFormat,
    Given,
    Item,
    Key,
    Label,
    Majority,
)


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
    images: Images = None,
    against: Annotated[
        list[Path] | None, typer.Option(help="Another model folder to compare with; repeat for several.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Settles the draws of the intervals.", min=0, max=MOST_SEED)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Judge a saved team on cases that its training did not see.

    Rows that `fit` saw are found by their fingerprints and left out, and so are rows of a group that it saw where it
    was told --group; a table of nothing else is refused. An expert can only be asked where their answer is recorded.
    With --against, the two teams are compared case by case on the rows that neither saw. Whatever is not said here,
    such as the label's column, is as in `fit`.

    Example:

    defero evaluate model new_cases.csv --against older_model
    """
    given = Given(label, answers, item, expert, answer, key, majority_label, file_format, control, images)
    judged = judge_held_out(model, table, given=given, seed=seed)
    rivals = compare_teams(judged, against or [], given=given, seed=seed)
    if as_json:
        emit({**judged.to_dict(), "against": [rival.to_dict() for rival in rivals]})
        return
    if judged.left_out_sentence():
        typer.echo(f"{judged.left_out_sentence()}\n")
    show_answering(noted(judged.router), when="when it was fitted")
    show_record(judged.record)
    for sentence in judged.notes:
        typer.echo(f"note: {sentence}", err=True)
    if rivals:
        show_rivals(rivals)
