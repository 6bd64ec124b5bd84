"""`defero fit`: from a table of answers to a model folder."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from defero.cli.output import emit, show_record
from defero.cli.route import fees_of

if TYPE_CHECKING:
    from defero.conformal.targets import Target
    from defero.core import ExpertTable
    from defero.router import Router

FEW_ROWS = 5
MANY_ROWS = 50


def fit(
    table: Annotated[Path, typer.Argument(help="CSV, TSV, JSON lines (each also .gz) or Parquet: one row per case.")],
    label: Annotated[str, typer.Option(help="The column with the truth.")],
    experts: Annotated[str, typer.Option(help="The experts' columns, with commas between; blank = not asked.")],
    out: Annotated[Path, typer.Option(help="The model folder to write.")],
    features: Annotated[
        str | None, typer.Option(help="Feature columns, with commas between. Default: all others.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="A column that names the cases; never a feature.")] = None,
    net: Annotated[str, typer.Option(help="linear or mlp.")] = "mlp",
    loss: Annotated[str, typer.Option(help="softmax, ova, decoupled, asymmetric, moe or auto.")] = "auto",
    alpha: Annotated[float, typer.Option(help="How often a panel may break its promise.")] = 0.1,
    target: Annotated[
        str, typer.Option(help="A panel's promise: any-correct, all-correct or missed-share.")
    ] = "any-correct",
    cost: Annotated[list[str] | None, typer.Option(help="NAME=FEE in units of one error; repeat for several.")] = None,
    test_share: Annotated[float, typer.Option(help="Share of the cases kept for the test.")] = 0.2,
    seed: Annotated[int, typer.Option(help="Makes the run repeatable.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train, calibrate, conformalise and test on four disjoint parts of a table, and save the team.

    Of the cases that are not kept for the test, five eighths are learned from; the others are shared between making
    the probabilities honest and finding panels of experts that keep a promise.

    Example:

    defero fit cases.csv --label truth --experts dr_a,dr_b,dr_c --out model
    """
    from dataclasses import replace

    from defero.core.errors import InputError
    from defero.data.model_folder import check_writable
    from defero.data.wide import read_table
    from defero.router import judge

    _target(target)
    if not 0 < alpha < 1:
        raise InputError(f"--alpha must lie between 0 and 1, got {alpha:g}; for a promise of 90 % pass 0.1.")
    if not 0 < test_share < 1:
        raise InputError(f"--test-share must lie between 0 and 1, got {test_share:g}.")
    check_writable(out)
    cases = read_table(table, label=label, experts=_names(experts) or [], features=_names(features), key=key)
    fees = fees_of(cases.experts, cost or [])
    train, held, panels, test = _parts(cases, table=table, label=label, test_share=test_share, seed=seed)
    # Only now: torch takes seconds to load, and most mistakes have shown.
    from defero import DeferralClassifier

    team = DeferralClassifier(net, loss=loss, random_state=seed, progress=sys.stderr.isatty() and not as_json)
    team.fit(train.features, train.labels, experts=train.answers)
    router = team.router_
    if loss != "moe":  # its weights are no probabilities
        router = router.calibrate(held.features, held.labels, held.answers, disjoint=True)
        if cases.n_experts:
            router = router.conformalize(
                panels.features,
                panels.labels,
                panels.answers,
                alpha=alpha,
                target=_target(target),
                costs=fees if any(fees) else None,
                disjoint=True,
            )
    router = replace(router, notes={**router.notes, "label": label, "key": key, "seed": seed})
    router.save(out)
    record = judge(router, test.features, test.labels, test.answers)
    uses = router.recipe.describe() if router.recipe is not None else []
    if as_json:
        parts = {"train": len(train), "calibrate": len(held), "conformalize": len(panels), "test": len(test)}
        emit({"model": str(out), "rows": parts, "features": uses, "test": record.to_dict()})
        return
    typer.echo(
        f"{len(cases)} cases of {table}: {len(train)} to learn from, {len(held)} to calibrate, {len(panels)} to "
        f"conformalise, {len(test)} for the test."
    )
    typer.echo(f"Classes: {', '.join(f'{name} ({n})' for name, n in _class_counts(cases).items())}.")
    typer.echo("Features:\n" + "\n".join(f"  {sentence}" for sentence in uses) + "\n")
    show_record(record)
    for sentence in (*_rare_labels(cases), *_like_ids(cases)):
        typer.echo(f"note: {sentence}", err=True)
    for name in _like_answers(router):
        typer.echo(
            f"note: {name} holds labels and is used as a feature; name an expert's column in --experts, "
            "or leave it out with --features.",
            err=True,
        )
    typer.echo(f"\nSaved in {out}. Next: defero route {out} NEW_CASES --out decisions.csv")


def _parts(cases: "ExpertTable", *, table: Path, label: str, test_share: float, seed: int) -> "tuple[ExpertTable, ...]":
    """Cut the table in four, after checking that there is something to learn from and to judge by."""
    from defero.core.errors import TableError, listing
    from defero.data.formats import first_row
    from defero.data.recipe import FeatureRecipe

    # Training learns a recipe of its own; here a cell that cannot be used is told with the file and its row.
    FeatureRecipe.learn(cases.features, source=str(table), first_row=first_row(table))
    if cases.n_classes < 2:
        raise TableError(
            f"{table}: column {label}: the label is {cases.classes[0]!s} in every row, so there is nothing to learn."
        )
    if cases.classes.dtype.kind == "f" and (cases.classes % 1 != 0).any():
        raise TableError(
            f"{table}: column {label}: labels must be words or whole numbers, got {listing(cases.classes, most=3)}."
        )
    rest = 1 - test_share
    train, held, panels, test = cases.split(0.625 * rest, 0.1875 * rest, 0.1875 * rest, test_share, random_state=seed)
    if not (len(held) and len(panels) and len(test)):
        raise TableError(
            f"{table}: {len(cases)} rows are too few for four parts (learn, calibrate, conformalise, test); pass more."
        )
    if train.n_experts and not train.observed.any():
        raise TableError(
            f"{table}: no expert answered any of the cases to learn from; fill in answers, or pass --experts '' for a "
            "model alone."
        )
    return train, held, panels, test


def _class_counts(cases: "ExpertTable") -> dict[str, int]:
    counts = [int((cases.label_idx == k).sum()) for k in range(cases.n_classes)]
    return dict(zip(map(str, cases.classes.tolist()), counts, strict=True))


def _rare_labels(cases: "ExpertTable") -> list[str]:
    """Return a sentence for each label that a few rows have: a typo makes a class of its own."""
    from difflib import get_close_matches

    counts = _class_counts(cases)
    sentences = []
    for name, count in counts.items():
        if count < FEW_ROWS:
            others = {other.casefold().strip(): other for other in counts if counts[other] > count}
            near = get_close_matches(name.casefold().strip(), others, n=1, cutoff=0.75)
            hint = f"; did you mean {others[near[0]]!r}?" if near else "."
            sentences.append(f"label {name!r} stands in {count} of {len(cases)} rows and cannot be learned{hint}")
    return sentences


def _like_ids(cases: "ExpertTable") -> list[str]:
    """Return a sentence for each column of whole numbers in which no two rows are equal."""
    frame = cases.features
    columns = [name for name in frame.columns if frame[name].dtype.kind in "iu" and len(frame) >= MANY_ROWS]
    same = [name for name in columns if frame[name].nunique() == len(frame)]
    return [f"{name} differs in every row; if it names the cases, pass --key {name}." for name in same]


def _like_answers(router: "Router") -> list[str]:
    """Return the features whose cells are all labels: experts whom nobody named, or a copy of the truth."""
    labels = {str(label) for label in router.classes.tolist()}
    columns = () if router.recipe is None else router.recipe.columns
    return [column.name for column in columns if set(getattr(column, "levels", ("",))) <= labels]


def _target(name: str) -> "Target":
    from defero.conformal.targets import check_target

    return check_target(name)


def _names(listed: str | None) -> list[str] | None:
    return None if listed is None else [name.strip() for name in listed.split(",") if name.strip()]
