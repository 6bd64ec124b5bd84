"""`defero fit`: from a file of answers to a model folder."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defero.cli.answering import Answering, answering_in, noted, show_answering
from defero.cli.cautions import with_cautions
from defero.cli.expert_evidence import mean_sd, record_dict
from defero.cli.fit_checks import ALPHA, TARGET, check_options, checked_parts, without_effect
from defero.cli.fit_notes import class_counts, few_groups, notes_on, sizes_sentence
from defero.cli.fit_training import Training
from defero.cli.fresh_cases import seen_keys
from defero.cli.known_groups import seen_groups
from defero.cli.output import emit, show_lines, show_record
from defero.cli.pictures import (
    AsOnnx,
    Augmentation,
    BatchSize,
    Branches,
    Checkpoints,
    Deep,
    Epochs,
    ImageColumn,
    ImageSize,
    LearningRate,
    TableOption,
    check_picture_options,
    in_onnx,
    picture_recipe,
)
from defero.cli.reading import (
    MOST_SEED,
    Answer,
    Answers,
    ControlName,
    Expert,
    FileFormat,
    Item,
    Key,
    Label,
    Majority,
    format_of,
    in_options,
    listed,
)
from defero.cli.remembered import LOG_COLUMNS, log_columns
from defero.cli.route import fees_of
from defero.cli.saved_team import replaced_sentence
from defero.cli.shared_answers import shared_in

if TYPE_CHECKING:
    from defero.core import ExpertTable
    from defero.data.case_file import CaseFile, Cases
    from defero.metrics.record.team import TeamRecord
    from defero.router import Router

MOST_SHOWN = 12


def fit(
    table: Annotated[
        Path,
        typer.Argument(
            help="CSV, TSV, JSON lines (each also .gz) or Parquet with one row per case; or an export of Label Studio "
            "(.json) or Prodigy (--format prodigy); or, with --table and --image-column, a folder of pictures."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The model folder to write.")],
    label: Label = None,
    experts: Annotated[
        str | None,
        typer.Option(
            help="The experts' columns, with commas between; blank cell = not asked. Of --answers: who counts."
        ),
    ] = None,
    answers: Answers = None,
    item: Item = None,
    expert: Expert = None,
    answer: Answer = None,
    text: Annotated[list[str] | None, typer.Option(help="A feature column of text; repeat for several.")] = None,
    features: Annotated[
        str | None, typer.Option(help="Feature columns, with commas between. Default: all others.")
    ] = None,
    key: Key = None,
    majority_label: Majority = False,
    group: Annotated[
        str | None, typer.Option(help="A column, such as the patient, of which no value comes into two parts.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="A column of dates or numbers: learn from the earliest, test on the latest.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="A column that says train, test, val, ... : which part a case is in.")
    ] = None,
    file_format: FileFormat = None,
    control: ControlName = None,
    table_file: TableOption = None,
    image_column: ImageColumn = None,
    image_size: ImageSize = None,
    net: Annotated[
        str,
        typer.Option(
            help="linear, mlp or auto: whichever predicts held-out labels better. Of pictures a deep net, such as "
            "wrn-28-4 or resnet-18; of texts, or of their vectors, text-cnn."
        ),
    ] = "auto",
    epochs: Epochs = None,
    batch_size: BatchSize = None,
    learning_rate: LearningRate = None,
    branches: Branches = "one",
    augmentation: Augmentation = "crop-and-flip",
    checkpoints: Checkpoints = None,
    onnx: AsOnnx = False,
    loss: Annotated[str, typer.Option(help="softmax, ova, decoupled, asymmetric, moe or auto.")] = "auto",
    heads: Annotated[
        str,
        typer.Option(
            help="own: each expert is learned from their answers alone; shrunk: drawn to what they have in common, the "
            "more so the fewer answers; auto: shrunk where half of them gave fewer than 200."
        ),
    ] = "auto",
    min_answers: Annotated[
        int, typer.Option(help="With fewer answers to learn from, an expert is not asked alone.", min=1)
    ] = 5,
    answer_weights: Annotated[
        str | None,
        typer.Option(
            help="label or label+features: weigh each answer by how unlikely it was given, where fit finds that who "
            "answered what depends on these."
        ),
    ] = None,
    alpha: Annotated[float, typer.Option(help="How often a panel may break its promise.")] = ALPHA,
    target: Annotated[str, typer.Option(help="A panel's promise: any-correct, all-correct or missed-share.")] = TARGET,
    cost: Annotated[list[str] | None, typer.Option(help="NAME=FEE in units of one error; repeat for several.")] = None,
    test_share: Annotated[
        float | None, typer.Option(help="Share of the cases kept for the test. Default: 0.2.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Makes the run repeatable.", min=0, max=MOST_SEED)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train, calibrate, conformalise and test on four disjoint parts of a file, and save the team.

    Of the cases that are not kept for the test, five eighths are learned from; the others are shared between making
    the probabilities honest and finding panels of experts that keep a promise.

    Example:

    defero fit cases.csv --label truth --experts dr_a,dr_b,dr_c --out model

    With one row per answer in a file of its own, and texts to be judged:

    defero fit items.csv --answers log.csv --label gold --text text --out model

    With pictures, whose paths in the folder stand in a column:

    defero fit scans --table cases.csv --image-column file --net wrn-28-4 --label truth --experts a,b --out model
    """
    from defero.data.case_file import CaseFile
    from defero.data.cases import read_cases
    from defero.data.model_folder import check_writable

    check_picture_options(
        table, listed_in=table_file, column=image_column, size=image_size, net=net, features=features, text=text
    )
    deep = Deep.of(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        branches=branches,
        augmentation=augmentation,
        checkpoints=checkpoints,
    )
    training = Training.of(
        net=net, loss=loss, heads=heads, min_answers=min_answers, answer_weights=answer_weights, deep=deep, onnx=onnx
    )
    images, table = table, table_file or table
    check_options(target=target, alpha=alpha, test_share=test_share, split=split)
    check_writable(out)
    apart = ((group, "the group"), (time, "the time"), (split, "the split"))
    file = CaseFile(
        path=table,
        format=format_of(table, file_format),
        label=label,
        majority=majority_label,
        experts=listed(experts),
        answers=answers,
        item=item,
        annotator=expert,
        answer=answer,
        features=listed(features) if image_column is None else (image_column,),
        text=tuple(text or ()),
        key=key,
        apart=tuple((name, role) for name, role in apart if name is not None),
        beside=() if key is None else (key,),
        control=control,
    )
    with in_options():
        cases = read_cases(file)
    fees = fees_of(cases.table.experts, cost or [])
    cuts = {"group": group, "time": time, "split": split}
    pictures = None
    if image_column is not None:
        pictures = picture_recipe(images, cases, column=image_column, size=image_size, source=str(table))
    parts = checked_parts(cases, file, test_share=test_share, cuts=cuts, seed=seed, pictures=pictures)
    groups = None if group is None else cases.apart.loc[parts[0].features.index, group].astype(str).to_numpy()
    shown = sys.stderr.isatty() and not as_json
    router = training.fit(parts[0], text=file.text, groups=groups, seed=seed, shown=shown, pictures=pictures)
    weights = training.answer_weights
    found = answering_in(parts[0], cases, router, text=file.text, groups=groups, weights=weights)
    if loss != "moe":  # its weights are no probabilities
        router = _honest(router, parts, alpha=alpha, target=target, fees=fees)
    notes = {**router.notes, **_notes(file, cases, found, cuts=cuts, seed=seed)}
    apart_from_features = {**seen_groups(cases, parts[:3], group=group), **seen_keys(router, cases, parts[:3])}
    router = replace(router, notes=notes, seen={**router.seen, **apart_from_features})
    said = [*without_effect(loss, alpha=alpha, target=target, fees=fees), *replaced_sentence(out)]
    said += few_groups(cases, parts, group=group)
    (in_onnx(router) if onnx else router).save(out)
    _tell(file, cases, parts, router, training, out=out, cuts=cuts, said=said, as_json=as_json)


def _honest(
    router: "Router", parts: "tuple[ExpertTable, ...]", *, alpha: float, target: str, fees: list[float]
) -> "Router":
    _, held, panels, _ = parts
    router = router.calibrate(held.features, held.labels, held.answers, disjoint=True)
    if not router.expert_names:
        return router
    return router.conformalize(
        panels.features,
        panels.labels,
        panels.answers,
        alpha=alpha,
        target=target,
        costs=fees if any(fees) else None,
        disjoint=True,
    )


def _notes(
    file: "CaseFile", cases: "Cases", found: Answering | None, *, cuts: dict[str, str | None], seed: int
) -> dict[str, Any]:
    """Return what the model remembers of its file: how to read the next one, and what its labels are worth."""
    control = cases.control
    return {
        "label": file.label,
        "key": cases.key,
        "seed": seed,
        "format": file.format,
        "answers": "long" if file.answers is not None else None,
        LOG_COLUMNS: log_columns(file),
        "majority_label": cases.n_majority > 0,
        "control": None
        if control is None
        else {"from_name": control.from_name, "to_name": control.to_name, "kind": control.kind},
        "answering": None if found is None else found.to_dict(),
        "shared_errors": shared_in(cases),
        **cuts,
    }


def _tell(
    file: "CaseFile",
    cases: "Cases",
    parts: "tuple[ExpertTable, ...]",
    router: "Router",
    training: Training,
    *,
    out: Path,
    cuts: dict[str, str | None],
    said: list[str],
    as_json: bool,
) -> None:
    from defero.router import judge

    test = parts[3]
    record = judge(router, test.features, test.labels, test.answers, disjoint=True)
    record = with_cautions(record, router, majority=cases.majority_sentence())
    uses = router.recipe.describe() if router.recipe is not None else []
    honest = [] if router.calibrator is None else router.calibrator.describe(router.expert_names)
    notes = [*cases.notes, *said, *notes_on(cases, router)]
    if as_json:
        names = ("train", "calibrate", "conformalize", "test")
        told = {"model": str(out), "rows": dict(zip(names, map(len, parts), strict=True)), "features": uses}
        told |= {**training.outcome(router), "calibration": honest, "answering": router.notes["answering"]}
        told |= {"shared_errors": router.notes["shared_errors"]}
        judged = record_dict(record, router, sd=mean_sd(router, test.features))
        emit({**told, "notes": notes, "test": judged})
        return
    typer.echo(sizes_sentence(file, cases, parts, cuts))
    _tell_more(cases, uses, [training.sentence(router), *honest], router, record)
    for sentence in notes:
        typer.echo(f"note: {sentence}", err=True)
    typer.echo(f"\nSaved in {out}. Next: defero route {out} NEW_CASES --out decisions.csv")


def _tell_more(cases: "Cases", uses: list[str], made: list[str], router: "Router", record: "TeamRecord") -> None:
    from defero.core.wording import join_names

    typer.echo(f"Classes: {join_names(f'{name} ({n})' for name, n in class_counts(cases.table).items())}.")
    typer.echo("Features:")
    show_lines([f"  {sentence}" for sentence in uses], most=MOST_SHOWN, what="columns")
    typer.echo("".join(f"{sentence}\n" for sentence in made))
    show_answering(noted(router), when="among the cases to learn from")
    show_record(record)
