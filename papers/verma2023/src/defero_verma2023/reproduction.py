"""A figure, reproduced: its runs, each number beside the published one, and the pictures."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from defero import InputError
from defero_verma2023.figures.catalogue import FIGURES
from defero_verma2023.figures.comparison import HEADER, Comparison, compare
from defero_verma2023.figures.figure import PaperFigure
from defero_verma2023.figures.pictures import draw
from defero_verma2023.figures.published import paper_folder, published_points
from defero_verma2023.page.readme import NAME as PAGE
from defero_verma2023.page.readme import write_page
from defero_verma2023.runs.record import RunRecord, append_record, by_net, read_records
from defero_verma2023.stored.records import stored_records

QUICK = "quick: small network, a subset"
AS_WRITTEN = "experts as written; the published points are of those as run"


@dataclass(frozen=True)
class Reproduction:
    """One picture and its numbers.

    Attributes
    ----------
    figure : PaperFigure
    net : str
        The network whose runs it shows; those of other methods may be others.
    rows : tuple of Comparison
    files : tuple of Path
        A table and two pictures.
    mark : str
        What a reader must know before the numbers, e.g. that the runs were quick ones; "" where there is nothing.
    """

    figure: PaperFigure
    net: str
    rows: tuple[Comparison, ...]
    files: tuple[Path, ...]
    mark: str = ""


def reproduce_stored(
    figures: Sequence[PaperFigure], *, folder: Path, out: Path, keep: Path | None = None
) -> Iterator[Reproduction]:
    """Reproduce figures from the authors' stored outputs; an experiment of several figures is measured once.

    With `keep` the measures are written there as records, a file for each experiment.
    """
    measured: dict[str, tuple[RunRecord, ...]] = {}
    for figure in figures:
        experiment = figure.experiment
        if experiment.name not in measured:
            measured[experiment.name] = tuple(stored_records(folder, experiment))
            if keep is not None:
                _write_anew(keep / f"{experiment.name}.jsonl", measured[experiment.name])
        yield from reproduce_records(
            figure, measured[experiment.name], out=out, source="recomputed from the authors' stored outputs"
        )


def reproduce_records(
    figure: PaperFigure, records: Sequence[RunRecord], *, out: Path, source: str, mark: str = ""
) -> Iterator[Reproduction]:
    """Reproduce a figure from records; one picture for each protocol, and for each net that OvA was trained with."""
    published = published_points(figure.name)
    for name, net, shown in parts_of(figure, records):
        rows = compare(figure, shown, published)
        marks = [*([mark] if mark else []), *([AS_WRITTEN] if shown[0].protocol == "as_written" else [])]
        words = "; ".join(marks)
        pictures = draw(figure, shown, published, stem=out / name, source=source, mark=words)
        yield Reproduction(figure, net, rows, (write_rows(out / name, rows, mark=words), *pictures), words)


def parts_of(figure: PaperFigure, records: Sequence[RunRecord]) -> Iterator[tuple[str, str, tuple[RunRecord, ...]]]:
    """Yield the name, the net and the records of each picture of a figure."""
    for protocol in sorted({record.protocol for record in records}):
        groups = by_net(record for record in records if record.protocol == protocol)
        for net, shown in groups.items():
            words = [figure.name, *([protocol] if protocol == "as_written" else [])]
            yield "_".join([*words, *([_plain(net)] if len(groups) > 1 else [])]), net, shown


def committed_records(figure: PaperFigure) -> tuple[RunRecord, ...]:
    """Return the runs of our own trainings that are kept in papers/verma2023/results; none where there are none."""
    folder = paper_folder()
    return () if folder is None else read_records(folder / "results" / f"{figure.experiment.name}.jsonl")


def reproduce_committed(figures: Sequence[PaperFigure], *, out: Path) -> Iterator[Reproduction]:
    """Reproduce figures from the committed runs; those without a run are passed over, unless all are."""
    if paper_folder() is None:
        raise InputError(
            "our runs come with defero's sources, in papers/verma2023, and not with the installed package: clone the "
            "repository and run this in its folder, or pass --stored or --train."
        )
    records_of = {figure.name: committed_records(figure) for figure in figures}
    if not any(records_of.values()):
        names = ", ".join(sorted({f"{figure.experiment.name}.jsonl" for figure in figures}))
        raise InputError(
            f"papers/verma2023/results holds no runs of ours for this ({names}): pass --stored to recompute it from "
            "the authors' stored outputs, or --train to train it."
        )
    for figure in figures:
        if records_of[figure.name]:
            yield from reproduce_records(figure, records_of[figure.name], out=out, source="trained by us")


def rewrite_page(*, out: Path) -> Path | None:
    """Write the page of verdicts from all that is committed; None outside of the source tree.

    It lies beside the pictures in `out`; where these are the committed ones, it is papers/verma2023/README.md.
    """
    folder = paper_folder()
    if folder is None:
        return None
    home = folder if out.resolve() == (folder / "figures").resolve() else out
    return write_page(folder, pictures=list(committed_pictures(out)), page=home / PAGE)


def committed_pictures(out: Path) -> Iterator[Path]:
    """Yield the pictures that `reproduce_committed` draws of all figures."""
    for figure in FIGURES.values():
        for name, _, _ in parts_of(figure, committed_records(figure)):
            yield out / f"{name}.svg"


def _write_anew(path: Path, records: Sequence[RunRecord]) -> None:
    path.unlink(missing_ok=True)
    for record in records:
        append_record(path, record)


def write_rows(stem: Path, rows: Sequence[Comparison], *, mark: str = "") -> Path:
    """Write the numbers as stem.csv; with a mark, it stands in a last column of every row."""
    path = stem.with_name(f"{stem.name}.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        last = (mark,) if mark else ()
        writer.writerow((*HEADER, *(("mark",) if mark else ())))
        writer.writerows((*row.cells(), *last) for row in rows)
    return path


def _plain(net: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in net)
