"""Write papers/verma2023/README.md: each claim of the paper beside what our runs say of it. All of it is computed."""

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path

from defero_verma2023.claims.best_systems import best_systems
from defero_verma2023.claims.catalogue import AllRecords, promises, read_all_records, remarks, verdicts
from defero_verma2023.claims.verdict import NOT_RUN, Verdict
from defero_verma2023.figures.catalogue import FIGURES
from defero_verma2023.figures.published import PUBLISHED, PublishedPoint, read_published
from defero_verma2023.page import changes, longer_ham, longer_training
from defero_verma2023.page import promises as promise_table
from defero_verma2023.page.best import HEADER as BEST_HEADER
from defero_verma2023.page.best import best_row, obstacles
from defero_verma2023.page.markdown import bullets, paragraph, table
from defero_verma2023.page.methods import HEADER as METHODS_HEADER
from defero_verma2023.page.methods import IN_WORDS as METHODS_IN_WORDS
from defero_verma2023.page.methods import method_rows
from defero_verma2023.page.protocol import DIFFERENCES, NAMES, network_rows
from defero_verma2023.page.runs import made_rows, missing_lines, total_minutes, versions_in_words
from defero_verma2023.page.sets import HEADER as SETS_HEADER
from defero_verma2023.page.sets import IN_WORDS as SETS_IN_WORDS
from defero_verma2023.page.sets import set_rows
from defero_verma2023.page.short import in_short
from defero_verma2023.page.template import NOT_RUN_SECTION, OPENING, PAGE, RULES
from defero_verma2023.page.terms import terms
from defero_verma2023.page.verdict_rows import (
    HEADER,
    NOT_RUN_HEADER,
    claims_of,
    count_in_words,
    not_run_cells,
    verdict_cells,
)
from defero_verma2023.runs.record import as_published

NAME = "README.md"


@dataclass(frozen=True)
class Links:
    """Addresses as seen from the page; pictures are (name, address)."""

    errata: str
    conformal: str
    pictures: tuple[tuple[str, str], ...]

    @property
    def docs(self) -> str:
        """The folder of the other pages."""
        return posixpath.dirname(posixpath.dirname(self.errata)) or "."


@dataclass(frozen=True)
class Beside:
    """What stands beside the runs on the page.

    Attributes
    ----------
    earlier : sequence of EarlierVerdict
        The verdicts before they had two columns.
    longer : sequence of runs
        Figure 2b with longer training.
    longer_ham : sequence of runs
        HAM10000 with trainings of several lengths.
    """

    earlier: Sequence[changes.EarlierVerdict] = ()
    longer: Sequence[longer_training.Run] = ()
    longer_ham: Sequence[longer_training.Run] = ()


def read_beside(folder: Path) -> Beside:
    """Read it from a folder such as papers/verma2023 and from the repository around it."""
    return Beside(
        changes.read_earlier(folder / changes.TABLE),
        longer_training.read_longer(folder.parents[1] / longer_training.SOURCE),
        longer_ham.read_longer_ham(folder / "results"),
    )


def write_page(folder: Path, *, pictures: Iterable[Path], page: Path) -> Path:
    """Write the page from what is kept in a folder such as papers/verma2023.

    Parameters
    ----------
    folder : Path
        Holds results/ and figures/stored/.
    pictures : iterable of Path
        To be shown.
    page : Path
        The file to write.
    """

    def address(path: Path) -> str:
        return Path(relpath(path.absolute(), page.parent.absolute())).as_posix()

    links = Links(
        address(folder.parents[1] / "docs" / "explanation" / "errata.md"),
        address(folder / "conformal.md"),
        tuple((picture.stem, address(picture)) for picture in pictures),
    )
    page.parent.mkdir(parents=True, exist_ok=True)
    text = readme_page(read_all_records(folder), read_published(PUBLISHED), links, read_beside(folder))
    page.write_text(text, encoding="utf-8")
    return page


def readme_page(
    all_records: AllRecords, points: Sequence[PublishedPoint], links: Links, beside: Beside | None = None
) -> str:
    """Return the page's text."""
    all_verdicts = verdicts(all_records)
    return PAGE.format(
        opening=_opening(all_verdicts, all_records),
        errata=links.errata,
        conformal=links.conformal,
        **_verdict_parts(all_verdicts, all_records, beside or Beside()),
        **_result_parts(all_records, points, links),
        **_run_parts(all_records),
        terms=bullets(terms(links.docs)),
        pictures=_pictures(links) or "None yet.",
    )


def _verdict_parts(all_verdicts: Sequence[Verdict], all_records: AllRecords, beside: Beside) -> dict[str, str]:
    """Return what is said of the claims."""
    judged, left = ([one for one in all_verdicts if (one.direction == NOT_RUN) == waits] for waits in (False, True))
    promised = tuple(promises(all_records))
    aside = [one for one in remarks(all_records) if one.direction != NOT_RUN]
    short = [*in_short(all_verdicts), *filter(None, [promise_table.promises_in_short(promised)])]
    longer = table(longer_training.HEADER, longer_training.longer_rows(beside.longer)) if beside.longer else ""
    ham_rows = tuple(longer_ham.longer_ham_rows(beside.longer_ham))
    of_ham = table(longer_ham.HEADER, ham_rows) if ham_rows else ""
    return {
        "count": paragraph(count_in_words(all_verdicts)),
        "short": bullets(short),
        "rules": bullets(RULES),
        "claims": table(HEADER, map(verdict_cells, judged)) if judged else "None yet.",
        "open_claims": "\n\nClaims without enough runs are [at the end](#claims-without-runs-yet)." if left else "",
        "not_run": NOT_RUN_SECTION.format(rows=table(NOT_RUN_HEADER, map(not_run_cells, left))) if left else "",
        "promises": table(promise_table.HEADER, promise_table.promise_cells(promised)) if promised else "None yet.",
        "remarks": table(HEADER, map(verdict_cells, aside)) if aside else "None yet.",
        "counts": table(changes.COUNT_HEADER, changes.count_rows(beside.earlier, all_verdicts)),
        "changes": table(changes.HEADER, changes.change_rows(beside.earlier, all_verdicts)),
        "longer": "\n\n".join(filter(None, [paragraph(longer_training.longer_in_words(beside.longer)), longer])),
        "longer_ham": "\n\n".join(filter(None, [paragraph(longer_ham.longer_ham_in_words(beside.longer_ham)), of_ham])),
    }


def _result_parts(all_records: AllRecords, points: Sequence[PublishedPoint], links: Links) -> dict[str, str]:
    """Return what is said of systems, methods and sets."""
    best = [
        best_systems(
            figure,
            as_published(all_records.ours.get(figure.experiment_name, ())),
            _of(points, name),
            stored=all_records.stored.get(figure.experiment_name, ()),
        )
        for name, figure in FIGURES.items()
    ]
    in_the_way = bullets(obstacles(best))
    return {
        "best": table(BEST_HEADER, map(best_row, best)),
        "obstacles": f"\n\n{in_the_way}" if in_the_way else "",
        "methods_words": "\n\n".join(map(paragraph, METHODS_IN_WORDS)),
        "methods": table(METHODS_HEADER, method_rows(all_records.ours)),
        "sets_words": paragraph(SETS_IN_WORDS.format(errata=links.errata, conformal=links.conformal)),
        "sets": table(SETS_HEADER, set_rows(all_records)),
    }


def _run_parts(all_records: AllRecords) -> dict[str, str]:
    """Return what is said of the runs and of the protocol."""
    every = [record for records in all_records.ours.values() for record in records]
    return {
        "gpu": f"{total_minutes(all_records.ours, gpu=True):.0f}",
        "cpu": f"{total_minutes(all_records.ours, gpu=False):.0f}",
        "runs": table(
            ("experiment", "net", "runs", "settings", "seeds", "minutes", "machine"), made_rows(all_records.ours)
        ),
        "versions": bullets(versions_in_words(every)),
        "missing": bullets(missing_lines(all_records.ours)) or "Nothing: all runs are there.",
        "networks": table(("data", "the paper's runs", "ours"), network_rows(all_records.ours)),
        "differences": bullets(
            f"{NAMES[name]}: {line}" if name in NAMES else line for name, lines in DIFFERENCES.items() for line in lines
        ),
    }


def _pictures(links: Links) -> str:
    """Show each picture below what the paper says of it."""
    shown = []
    for name, address in links.pictures:
        figure = FIGURES.get(name.partition("_")[0])
        words = f"**{name}.** The paper: {figure.claim}" if figure else f"**{name}.**"
        shown.append(f"{paragraph(words)}\n\n![{figure.title if figure else name}]({address})")
    return "\n\n".join(shown)


def _of(points: Iterable[PublishedPoint], figure: str) -> tuple[PublishedPoint, ...]:
    return tuple(point for point in points if point.figure == figure)


def _opening(all_verdicts: Sequence[Verdict], all_records: AllRecords) -> str:
    shown = sum(bool(all_records.ours.get(figure.experiment_name)) for figure in FIGURES.values())
    n_figures, n_claims = len(FIGURES), len(claims_of(all_verdicts))
    judged = len(claims_of([one for one in all_verdicts if one.direction != NOT_RUN]))
    so_far = f"So far {shown} of {n_figures} figures have runs of ours, and {judged} of {n_claims} claims a verdict."
    if (shown, judged) == (n_figures, n_claims):
        so_far = f"All {n_figures} figures have runs of ours, and all {n_claims} claims a verdict."
    return paragraph(OPENING.format(so_far=so_far))
