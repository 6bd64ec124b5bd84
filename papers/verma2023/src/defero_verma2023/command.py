"""`defero reproduce`: the figures of the paper, ours beside the published numbers."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from defero import InputError
from defero.study.engines import named_engine
from defero_verma2023.command_output import as_json_text, show_numbers, show_summary

if TYPE_CHECKING:
    from defero.study.engines import Engine
    from defero_verma2023.figures.figure import PaperFigure
    from defero_verma2023.reproduction import Reproduction

Protocol = Literal["as_written", "as_published"]
MOST_SEED = 2**32 - 1
"""The largest seed that scikit-learn takes."""


def reproduce(
    figure: Annotated[
        str,
        typer.Argument(
            help="fig1-hatespeech, fig1-ham10000, fig1-galaxyzoo, fig2a, fig2b, fig2c, fig2d, fig3a, fig3b, fig3c, "
            "overlap, or all."
        ),
    ],
    stored: Annotated[
        bool, typer.Option("--stored", help="Recompute from the authors' stored outputs, in DEFERO_DATA; no training.")
    ] = False,
    train: Annotated[
        bool, typer.Option("--train", help="Train from scratch, on a GPU where there is one; goes on where it stopped.")
    ] = False,
    protocol: Annotated[
        Protocol, typer.Option(help="With --train, whose experts: those of the paper's text, or of the authors' runs.")
    ] = "as_published",
    seeds: Annotated[str | None, typer.Option(help="With --train, seeds with commas between, e.g. 0,1,2.")] = None,
    epochs: Annotated[
        int | None, typer.Option(help="With --train, how long; else as each data set needs.", min=1)
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="With --train, with commas between: ova, softmax, moe, decoupled, asymmetric, two-stage, "
            "one classifier."
        ),
    ] = None,
    settings: Annotated[
        str | None,
        typer.Option(help="With --train, values of what the figure varies, with commas between, e.g. 0.2,0.95."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="With --train, a small network on a subset; marked on the picture.")
    ] = False,
    out: Annotated[
        Path, typer.Option(help="A folder for tables and pictures, and with --train for the runs.", file_okay=False)
    ] = Path("reproduced"),
    outputs: Annotated[
        Path | None,
        typer.Option(help="With --train, a folder in which what the networks say is kept as well.", file_okay=False),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(help="With --train, local or ray: several runs at once, each with one thread."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="With --train, how many runs are made at once. Default: 1; ray: all cores.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster. Default: one is started on this machine.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Reproduce a figure of Verma, Barrejón and Nalisnick (AISTATS 2023), beside the published numbers.

    Without --stored and --train it is drawn from the runs that come with defero's sources; for all figures a page with
    a verdict on each of the paper's claims is written as well.

    Example:

    defero reproduce fig2c --stored --out reproduced
    """
    from defero_verma2023.figures.catalogue import ALL, figures_by_name

    figures = figures_by_name(figure)
    chosen = {
        "--protocol": protocol if protocol != "as_published" else None,
        "--seeds": seeds,
        "--epochs": epochs,
        "--methods": methods,
        "--settings": settings,
        "--quick": quick or None,
        "--outputs": outputs,
        "--engine": engine,
        "--workers": workers,
        "--address": address,
    }
    _check(stored=stored, train=train, only_for_training=[name for name, value in chosen.items() if value is not None])
    if train:
        made = _trained(
            figures,
            protocol=protocol,
            seeds=_whole_numbers(seeds),
            epochs=epochs,
            methods=_known_methods(methods, figures),
            settings=_numbers(settings),
            quick=quick,
            out=out,
            outputs=outputs,
            engine=named_engine(engine, workers=workers, address=address),
        )
    else:
        every = figure == ALL
        made = _recomputed(figures, out=out, every=every) if stored else _committed(figures, out=out, every=every)
    word = "recomputed" if stored else "ours"
    if as_json:
        typer.echo(as_json_text(made))
    elif len(figures) == 1:
        show_numbers(made, word=word)
    else:
        show_summary(made, word=word)


def _check(*, stored: bool, train: bool, only_for_training: Sequence[str]) -> None:
    if stored and train:
        raise InputError("--stored and --train exclude each other: choose one.")
    if only_for_training and not train:
        raise InputError(f"{', '.join(only_for_training)}: only --train knows what to do with it.")


def _split_names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def _whole_numbers(text: str | None) -> tuple[int, ...] | None:
    names = _split_names(text)
    if names is None:
        return None
    if not names or not all(name.isdigit() for name in names):
        raise InputError(f"--seeds must be whole numbers with commas between, e.g. 0,1,2, got {text!r}.")
    seeds = tuple(dict.fromkeys(int(name) for name in names))
    if max(seeds) > MOST_SEED:
        raise InputError(f"--seeds must be at most {MOST_SEED}, got {max(seeds)}.")
    return seeds


def _numbers(text: str | None) -> tuple[float, ...] | None:
    names = _split_names(text)
    if names is None:
        return None
    try:
        return tuple(float(name) for name in names)
    except ValueError:
        raise InputError(f"--settings must be numbers with commas between, e.g. 0.2,0.95, got {text!r}.") from None


def _known_methods(text: str | None, figures: "Sequence[PaperFigure]") -> tuple[str, ...] | None:
    """Return the methods that were asked for, each once, if there are such and a figure shows one of them."""
    from defero_verma2023.methods import METHODS

    names = _split_names(text)
    if names is None:
        return None
    for name in names:
        if name not in METHODS:
            near = get_close_matches(name, METHODS, n=1)
            guess = f"; did you mean {near[0]!r}?" if near else "."
            raise InputError(f"--methods must be among {', '.join(METHODS)}, got {name!r}{guess}")
    for figure in figures:
        methods = tuple(dict.fromkeys(one.method for one in figure.series if one.method in METHODS))
        if not set(names) & set(methods):
            raise InputError(
                f"--methods {', '.join(names)}: {figure.name} shows none of these and would be empty; add one of "
                f"{', '.join(methods)}."
            )
    return tuple(dict.fromkeys(names))


def _recomputed(figures: "Sequence[PaperFigure]", *, out: Path, every: bool) -> "Iterator[Reproduction]":
    from defero_verma2023.reproduction import reproduce_stored
    from defero_verma2023.stored.outputs import outputs_folder

    yield from reproduce_stored(figures, folder=outputs_folder(), out=out, keep=out if every else None)


def _committed(figures: "Sequence[PaperFigure]", *, out: Path, every: bool) -> "Iterator[Reproduction]":
    from defero_verma2023.reproduction import reproduce_committed, rewrite_page

    yield from reproduce_committed(figures, out=out)
    if every and (page := rewrite_page(out=out)):
        typer.echo(f"wrote {page}, the verdict on each claim", err=True)


def _trained(
    figures: "Sequence[PaperFigure]",
    *,
    protocol: Protocol,
    seeds: tuple[int, ...] | None,
    epochs: int | None,
    methods: tuple[str, ...] | None,
    settings: tuple[float, ...] | None,
    quick: bool,
    out: Path,
    outputs: Path | None,
    engine: "Engine | None",
) -> "Iterator[Reproduction]":
    from defero_verma2023.reproduction import QUICK, reproduce_records
    from defero_verma2023.training_runs import run_figure

    def say(line: str) -> None:
        typer.echo(line, err=True)

    if quick:
        say("A small network on a subset: two to five minutes a figure on two cores, and no evidence.")
    for figure in figures:
        records = run_figure(
            figure.name,
            protocol=protocol,
            seeds=seeds,
            epochs=epochs,
            methods=methods,
            settings=settings,
            quick=quick,
            out=out,
            outputs=outputs,
            engine=engine,
            say=say,
        )
        yield from reproduce_records(figure, records, out=out, source="trained here", mark=QUICK if quick else "")
