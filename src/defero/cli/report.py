"""`defero report`: a saved team on cases it has not seen, as one page to pass on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defero.cli import options as opt
from defero.cli.output import echo, emit, show_notes, this_command

if TYPE_CHECKING:
    from defero.decide.terms import Terms


@opt.takes(
    reading=opt.of_table() + opt.of_reading("answers", "images", "bad_rows", "most_cases"),
    terms=opt.of_terms(*opt.COSTS, "absent"),
    trial=opt.of("study/study.py", "Study.evaluate", but=("table", "terms", "against", "said")),
    loading=opt.ENCODER,
)
def report(
    model: opt.Model,
    table: opt.PastCases,
    *,
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    reading: dict[str, Any],
    terms: "Terms",
    trial: dict[str, Any],
    loading: dict[str, Any],
    as_json: opt.AsJson = False,
) -> None:
    """Judge a saved team as `evaluate` does, and write the results with plots to one HTML file.

    The page needs no network. Rows that `fit` used are left out, and so are rows of a group that it used. An expert can
    be asked only about cases that they answered.

    Example:

    defero report model new_cases.csv --out report.html
    """
    from defero.report.page import sentence
    from defero.study.page import check_page, write_page

    check_page(out, model=model, tables=(table, reading["answers"]))
    judged = opt.saved_model(model, **loading).evaluate(table, terms=terms, **trial, **reading)
    write_page(judged, out, command=this_command(), spell=opt.spelling("report"))
    if as_json:
        emit({"report": str(out), **{name: value for name, value in judged.to_dict().items() if name != "against"}})
        return
    if judged.left_out_sentence():
        echo(judged.left_out_sentence())
    echo(sentence(judged.record).replace("\u00a0", " "))
    for caution in judged.cautions:
        echo(f"  {caution}")
    show_notes(judged.notes)
    echo(f"\nWritten to {out}: open it in a browser.")
