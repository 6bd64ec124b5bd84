"""`defero report`: a saved team on cases it has not seen, as one page to pass on."""

import shlex
from pathlib import Path
from typing import Annotated, Any

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
    spelling,
    split_names,
)
from defero.cli.output import emit, show_notes
from defero.cli.pool import is_pool, refuse, report_pool


def report(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    table: Annotated[Path, typer.Argument(help="Cases with labels and the experts' answers.")],
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
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
    """Judge a saved team as `evaluate` does, and write the results with plots to one HTML file.

    The page needs no network. Rows that `fit` used are left out, and so are rows of a group that it used. An expert can
    be asked only about cases that they answered.

    Example:

    defero report model new_cases.csv --out report.html
    """
    from defero.study.judging.page import check_page, write_page

    check_page(out, model=model, tables=(table, answers))
    study, paid, columns = saved_model(model, text_encoder), fees_of(fee, fees), split_names(by) or ()
    if is_pool(study):
        other = {"label": label, "answers": answers, "ask": ask, "by": by, "cost_matrix": cost_matrix}
        refuse(other | {"rename": rename, "blank": blank})
        terms: dict[str, Any] = {"fees": paid, "error_cost": error_cost, "absent": absent or []}
        report_pool(study, table, out, all_rows_new=all_rows_new, as_json=as_json, **terms)
        return
    words: dict[str, Any] = {
        "label": label,
        "answers": answers,
        "item": item,
        "annotator": expert,
        "answer": answer,
        "key": key,
        "majority_label": majority_label,
        "format": file_format,
        "control": control,
        "images": images,
        "rename": rename,
        "blank": blank or [],
    }
    money: dict[str, Any] = {"fees": paid, "error_cost": error_cost, "cost_matrix": cost_matrix}
    judged = study.evaluate(
        study.read(table, **words),
        all_rows_new=all_rows_new,
        ask=ask or "one",
        absent=absent or [],
        by=columns,
        random_state=seed,
        **money,
    )
    words |= {
        "text_encoder": text_encoder,
        "ask": ask,
        "absent": absent,
        "by": by,
        "all_rows_new": all_rows_new,
        **money,
    }
    command = _command(model, table, out=out, words=words, seed=seed)
    write_page(judged, out, command=command, spell=spelling("report"))
    if as_json:
        values = judged.to_dict()
        del values["against"]
        emit({"report": str(out), **values})
        return
    if judged.left_out_sentence():
        typer.echo(judged.left_out_sentence())
    from defero.report.sections.headline import sentence

    typer.echo(sentence(judged.record).replace("\u00a0", " "))
    for caution in judged.cautions:
        typer.echo(f"  {caution}")
    show_notes(judged.notes)
    typer.echo(f"\nWritten to {out}: open it in a browser.")


def _command(model: Path, table: Path, *, out: Path, words: dict[str, Any], seed: int) -> str:
    """Return the line that makes the page again."""
    from defero.core.errors import Argument

    spell = spelling("report")
    line = ["defero", "report", str(model), str(table), "--out", str(out)]
    for name, value in words.items():
        if value is not None and value is not False:
            if isinstance(value, dict):
                line += [part for one, fee in value.items() for part in ("--fee", f"{one}={fee}")]
                continue
            for one in value if isinstance(value, list) else [value]:
                line += [spell(Argument(name)), *([] if one is True else [str(one)])]
    return shlex.join([*line, *([] if seed == 0 else ["--seed", str(seed)])])
