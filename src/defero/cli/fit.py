"""`defero fit`: from a table of answers to a model folder."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from defero.cli.output import emit, show_record


def fit(
    table: Annotated[
        Path, typer.Argument(help="CSV, TSV, JSON lines or Parquet (CSV and TSV also .gz): one row per case.")
    ],
    label: Annotated[str, typer.Option(help="The column with the truth.")],
    experts: Annotated[str, typer.Option(help="The experts' columns, with commas between; blank = not asked.")],
    out: Annotated[Path, typer.Option(help="The model folder to write.")],
    features: Annotated[
        str | None, typer.Option(help="Feature columns, with commas between. Default: all others.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="A column that names the cases; never a feature.")] = None,
    net: Annotated[str, typer.Option(help="linear or mlp.")] = "mlp",
    loss: Annotated[str, typer.Option(help="softmax, ova, decoupled, asymmetric, moe or auto.")] = "auto",
    test_share: Annotated[float, typer.Option(help="Share of the cases kept out of training and judged.")] = 0.25,
    seed: Annotated[int, typer.Option(help="Makes the run repeatable.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train on most of a table's cases, judge the team on the rest, and save it.

    Example: defero fit cases.csv --label truth --experts dr_a,dr_b,dr_c --out model
    """
    from dataclasses import replace

    from defero.core.errors import InputError
    from defero.data.wide import read_table
    from defero.estimators.deferral import DeferralClassifier
    from defero.router import judge

    if not 0 < test_share < 1:
        raise InputError(f"--test-share must lie between 0 and 1, got {test_share:g}.")
    cases = read_table(table, label=label, experts=_names(experts) or [], features=_names(features), key=key)
    train, test = cases.split(1 - test_share, test_share, random_state=seed)
    if not len(test):
        raise InputError(f"{table}: {len(cases)} rows are too few to keep some for the test.")
    team = DeferralClassifier(net, loss=loss, random_state=seed, progress=sys.stderr.isatty() and not as_json)
    team.fit(train.features, train.labels, experts=train.answers)
    router = team.router_
    router = replace(router, notes={**router.notes, "label": label, "key": key, "seed": seed})
    router.save(out)
    record = judge(router, test.features, test.labels, test.answers)
    uses = router.recipe.describe() if router.recipe is not None else []
    if as_json:
        parts = {"train": len(train), "test": len(test)}
        emit({"model": str(out), "rows": parts, "features": uses, "test": record.to_dict()})
        return
    typer.echo(f"Trained on {len(train)} cases of {table}, {len(test)} kept for the test.")
    typer.echo("Features:\n" + "\n".join(f"  {sentence}" for sentence in uses) + "\n")
    show_record(record)
    typer.echo(f"\nSaved in {out}. Next: defero route {out} NEW_CASES --out decisions.csv")


def _names(listed: str | None) -> list[str] | None:
    return None if listed is None else [name.strip() for name in listed.split(",") if name.strip()]
