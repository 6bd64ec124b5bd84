"""`defero report`: a saved team on cases it has not seen, as one page to pass on."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from defero.cli import options as opt
from defero.cli.output import echo, emit, show_notes
from defero.cli.pool import is_pool, refuse, report_pool


def report(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    table: Annotated[Path, typer.Argument(help="Cases with labels and the experts' answers.")],
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
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
    ask: opt.Ask = None,
    fee: opt.Fee = None,
    fees: opt.FeesFile = None,
    error_cost: opt.ErrorCost = None,
    cost_matrix: opt.CostMatrix = None,
    absent: opt.Absent = None,
    by: opt.By = None,
    all_rows_new: opt.AllRowsNew = False,
    bad_rows: opt.BadRowsOption = None,
    most_cases: opt.MostCases = None,
    seed: opt.Seed = 0,
    text_encoder: opt.TextEncoder = None,
    as_json: opt.AsJson = False,
) -> None:
    """Judge a saved team as `evaluate` does, and write the results with plots to one HTML file.

    The page needs no network. Rows that `fit` used are left out, and so are rows of a group that it used. An expert can
    be asked only about cases that they answered.

    Example:

    defero report model new_cases.csv --out report.html
    """
    words, terms = opt.reading(locals()), opt.terms_of(locals())
    from defero.study.judging.page import check_page, write_page

    check_page(out, model=model, tables=(table, answers))
    study = opt.saved_model(model, text_encoder)
    if is_pool(study):
        other = {"label": label, "answers": answers, "ask": ask, "by": by, "cost_matrix": cost_matrix}
        refuse(other | {"rename": rename})
        paid = {"fees": terms.fees, "error_cost": error_cost, "absent": absent or [], "blank": blank or ()}
        report_pool(study, table, out, all_rows_new=all_rows_new, as_json=as_json, **paid)
        return
    judged = study.evaluate(
        study.read(table, **words),
        all_rows_new=all_rows_new,
        ask=ask or "one",
        terms=terms,
        by=opt.split_names(by) or (),
        random_state=seed,
    )
    words |= {"text_encoder": text_encoder, "ask": ask, "absent": absent, "by": by, "all_rows_new": all_rows_new}
    words |= {"fees": terms.fees, "error_cost": error_cost, "cost_matrix": cost_matrix}
    command = _command(model, table, out=out, words=words, seed=seed)
    write_page(judged, out, command=command, spell=opt.spelling("report"))
    if as_json:
        values = judged.to_dict()
        del values["against"]
        emit({"report": str(out), **values})
        return
    if judged.left_out_sentence():
        echo(judged.left_out_sentence())
    from defero.report.page import sentence

    echo(sentence(judged.record).replace("\u00a0", " "))
    for caution in judged.cautions:
        echo(f"  {caution}")
    show_notes(judged.notes)
    echo(f"\nWritten to {out}: open it in a browser.")


def _command(model: Path, table: Path, *, out: Path, words: dict[str, Any], seed: int) -> str:
    """Return the line that makes the page again."""
    from defero.core.errors import Argument

    spell = opt.spelling("report")
    line = ["defero", "report", str(model), str(table), "--out", str(out)]
    for name, value in words.items():
        if value is not None and value is not False:
            if isinstance(value, dict):
                line += [part for one, fee in value.items() for part in ("--fee", f"{one}={fee}")]
                continue
            for one in value if isinstance(value, list) else [value]:
                line += [spell(Argument(name)), *([] if one is True else [str(one)])]
    return shlex.join([*line, *([] if seed == 0 else ["--seed", str(seed)])])
