"""Write papers/verma2023/README.md: each claim of the paper beside what our runs say of it. All of it is computed."""

import posixpath
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path

from defero_verma2023.claims.best_systems import best_systems
from defero_verma2023.claims.catalogue import AllRecords, read_all_records, verdicts
from defero_verma2023.claims.verdict import CONFIRMED, DEPENDS, NOT_CONFIRMED, NOT_RUN, Verdict
from defero_verma2023.figures.catalogue import FIGURES
from defero_verma2023.figures.published import TABLE, PublishedPoint, read_published
from defero_verma2023.page.best import HEADER as BEST_HEADER
from defero_verma2023.page.best import best_row, obstacles
from defero_verma2023.page.methods import HEADER as METHODS_HEADER
from defero_verma2023.page.methods import IN_WORDS as METHODS_IN_WORDS
from defero_verma2023.page.methods import method_rows
from defero_verma2023.page.protocol import DIFFERENCES, NAMES, network_rows
from defero_verma2023.page.runs import made_rows, missing_lines, total_minutes, versions_in_words
from defero_verma2023.page.sets import HEADER as SETS_HEADER
from defero_verma2023.page.sets import IN_WORDS as SETS_IN_WORDS
from defero_verma2023.page.sets import set_rows
from defero_verma2023.page.short import in_short
from defero_verma2023.page.terms import terms
from defero_verma2023.runs.record import as_published

NAME = "README.md"
WIDTH = 120
HEADER = ("claim", "where", "what the number is", "published", "ours", "stored", "verdict", "why")
NOT_RUN_HEADER = ("claim", "where", "published", "stored", "ours so far")

_PAGE = """\
# "Learning to Defer to Multiple Experts", reproduced

{opening}

```
# the authors' stored outputs, measured again: no training
defero reproduce all --stored --out papers/verma2023/figures/stored
# a small network on a subset, on a laptop
defero reproduce fig2a --train --quick
# pictures and this page, from the runs in results/
defero reproduce all --out papers/verma2023/figures
```

The command comes with `pip install defero-verma2023`; in a checkout where nothing is installed it is
`PYTHONPATH=src:papers/verma2023/src python -m defero_verma2023`.

`defero reproduce fig2a --train` trains in full, on a GPU where there is one, and goes on where it stopped. Each run is
one line of `results/`: seed, recipe, machine, versions, seconds and every measure. A network on which other runs rest
is trained once by each command, and once for all where the variable `DEFERO_STOCK` names a folder to keep it in. The
authors' outputs have no licence, so that we may check them and not pass them on: `--stored` needs a copy of your own
under `DEFERO_DATA`, in the form that `defero datasets info verma2023-outputs` describes. What it gave is in
`figures/stored`.

**What stands.** The paper's ideas do: two consistent losses for many experts, probabilities read off them, and sets of
experts chosen by conformal inference. defero is built on them. The authors published code, outputs and result files;
without that openness this page could not exist. Our [notes on it]({errata}) have what we found line by line, and
[conformal sets]({conformal}) puts promise and practice side by side.

## Verdicts

{count}

{short}

How a verdict is computed (`claims/rules.py`; one function per claim in the other files of `claims/`):

{rules}

{claims}{open_claims}

## Words

{terms}

## Our best system beside the best published one

At the setting where the best published system is. "One decides": the model or one expert, as trained or calibrated.
"Panel": a vote of several experts on deferred items. "The classifier alone": the same data without experts, so that it
shows how much of a gain is the classifier's and not deferral's; on CIFAR-10 and, with tfidf, on HateSpeech, where ours
is far better, most of it is. (The paper's kind of network on HateSpeech, text-cnn, is in the verdicts and in the table
of methods.) Where the authors' figure and their result files differ, the [notes]({errata}) say why, section 11.
Theirs is as published, or on CIFAR-10 the classifier within their stored network, of one seed. The interval is over
seeds; systems with fewer seeds than others there are left out. Both sides are the best of several by the test items
themselves, so both are a little flattered, ours more, as it has more to choose from.

{best}{obstacles}

## Every method side by side

{methods_words}

{methods}

## Set sizes: ours and the published regularized ones

{sets_words}

{sets}

## Pictures

Each says under its panels how many seeds it shows; those of one seed are provisional. The mixture of experts, whose
error of a quarter to a half would press all other lines together, is left out of 2a, 2c and 2d: its numbers are in the
table of methods.

{pictures}

## Runs

Minutes are of training, summed over runs, plus those of each run's first step, which is mostly compilation; runs that
shared a GPU count each, and in full. Those of frozen and tuned nets are without the one classifier beneath. The one
classifiers of CIFAR-10 are the same three in five experiments, and count once in the sum. In oracles and noisy-oracles
setting 0 is one oracle, 1 is two, and so on. In all: {gpu:.0f} minutes on a GPU, {cpu:.0f} on a CPU. The command of a
run is the one that makes it again: on the GPU a script called the same functions, for many runs at once.

{runs}

{versions}

**Not run yet**, of what `defero reproduce all --train` would run:

{missing}

## Differences from the paper's protocol

{networks}

{differences}{not_run}
"""
_NOT_RUN = """

## Claims without runs yet

{rows}"""

_OPENING = """\
The figures of Verma, Barrejón and Nalisnick (AISTATS 2023), beside the numbers that the authors published, with a
verdict on each claim that our runs can judge. {so_far} One command draws the figures and writes this page: every result
and every verdict on it is computed from the runs in `results/`."""

_RULES = (
    "Ours are runs that we trained; the verdict rests on them alone. Stored: the same number from the authors' own "
    "networks, for the seeds that are stored. Published: from the published means.",
    "The number is a mean over settings of differences within one setting and seed: in our runs both sides saw the "
    "same items and the same experts' answers. Where it is a difference, above 0 speaks for the claim, unless the "
    "claim names a bound (within, up to, at least): then the interval is held against that bound.",
    "The 95 % interval is Student's, over seeds. Three seeds are few: intervals are wide, and they do not hold what "
    "other data would bring. Nothing is corrected for the number of claims.",
    "Settings are those of the paper: two experts and more in Figure 1 and four and more in 2a and 2b, as the captions "
    "say, and two oracles and more in 3b, as drawn. Runs with one, where there are any, are in the pictures and not in "
    "the verdicts.",
    "Results at one seed are provisional, in the table and in the pictures. Their interval, where there is one, is "
    "over settings: it says how settings differ, not what another seed would give. Where there is none, nothing can be "
    "confirmed, and a claim that the one number speaks for is left at depends, provisional.",
    "Confirmed: the interval lies on the claim's side and, where the claim is about every setting, so does each "
    "setting's mean. Depends: only part of that. Not confirmed: not even the mean. Not run yet: less than half of the "
    "settings. A claim that needs another rule has it in its function's docstring.",
)


@dataclass(frozen=True)
class Links:
    """Addresses as seen from the page; pictures are (name, address)."""

    errata: str
    conformal: str
    pictures: tuple[tuple[str, str], ...]

    @property
    def docs(self) -> str:
        """The folder of the other pages."""
        return posixpath.dirname(self.errata) or "."


def write_page(folder: Path, *, pictures: Iterable[Path], page: Path) -> Path:
    """Write the page from what is kept in a folder such as papers/verma2023.

    Parameters
    ----------
    folder : Path
        Holds published.csv, results/ and figures/stored/.
    pictures : iterable of Path
        To be linked to.
    page : Path
        The file to write.
    """
    points = read_published(folder / TABLE) if (folder / TABLE).is_file() else ()

    def address(path: Path) -> str:
        return Path(relpath(path.absolute(), page.parent.absolute())).as_posix()

    links = Links(
        address(folder.parents[1] / "docs" / "errata.md"),
        address(folder / "conformal.md"),
        tuple((picture.stem, address(picture)) for picture in pictures),
    )
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(readme_page(read_all_records(folder), points, links), encoding="utf-8")
    return page


def readme_page(all_records: AllRecords, points: Sequence[PublishedPoint], links: Links) -> str:
    """Return the page's text."""
    all_verdicts = verdicts(all_records)
    judged, left = ([one for one in all_verdicts if (one.verdict == NOT_RUN) == open_] for open_ in (False, True))
    best = [
        best_systems(
            figure,
            as_published(all_records.ours.get(figure.experiment_name, ())),
            _of(points, name),
            stored=all_records.stored.get(figure.experiment_name, ()),
        )
        for name, figure in FIGURES.items()
    ]
    in_the_way = _bullets(obstacles(best))
    every = [record for records in all_records.ours.values() for record in records]
    return _PAGE.format(
        errata=links.errata,
        conformal=links.conformal,
        count=_paragraph(_count(all_verdicts)),
        short=_bullets(in_short(all_verdicts)),
        rules=_bullets(_RULES),
        opening=_opening(all_verdicts, all_records),
        claims=table(HEADER, map(verdict_cells, judged)) if judged else "None yet.",
        open_claims="\n\nClaims without enough runs are [at the end](#claims-without-runs-yet)." if left else "",
        not_run=_NOT_RUN.format(rows=table(NOT_RUN_HEADER, map(not_run_cells, left))) if left else "",
        terms=_bullets(terms(links.docs)),
        best=table(BEST_HEADER, map(best_row, best)),
        obstacles=f"\n\n{in_the_way}" if in_the_way else "",
        methods_words="\n\n".join(map(_paragraph, METHODS_IN_WORDS)),
        methods=table(METHODS_HEADER, method_rows(all_records.ours)),
        sets_words=_paragraph(SETS_IN_WORDS.format(errata=links.errata, conformal=links.conformal)),
        sets=table(SETS_HEADER, set_rows(all_records)),
        pictures="\n".join(f"- [{name}]({address})" for name, address in links.pictures) or "None yet.",
        gpu=total_minutes(all_records.ours, gpu=True),
        cpu=total_minutes(all_records.ours, gpu=False),
        runs=table(
            ("experiment", "net", "runs", "settings", "seeds", "minutes", "machine"), made_rows(all_records.ours)
        ),
        versions=_bullets(versions_in_words(every)),
        missing=_bullets(missing_lines(all_records.ours)) or "Nothing: all runs are there.",
        networks=table(("data", "the paper's runs", "ours"), network_rows(all_records.ours)),
        differences=_bullets(
            f"{NAMES[name]}: {line}" if name in NAMES else line for name, lines in DIFFERENCES.items() for line in lines
        ),
    )


def verdict_cells(verdict: Verdict) -> tuple[str, ...]:
    """Return a verdict's row."""
    ours, stored = ("" if one is None else one.words() for one in (verdict.ours, verdict.stored))
    word = f"**{verdict.verdict}**{', provisional' if verdict.provisional else ''}"
    return (verdict.claim, verdict.where, verdict.quantity, verdict.published_words, ours, stored, word, verdict.why)


def not_run_cells(verdict: Verdict) -> tuple[str, ...]:
    """Return the shorter row of a claim that is not judged yet."""
    ours, stored = ("" if one is None else one.words() for one in (verdict.ours, verdict.stored))
    return (verdict.claim, verdict.where, verdict.published_words, stored, ours)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(table(("a", "b"), [("1", "x | y")]))
    | a | b |
    | --- | --- |
    | 1 | x / y |
    """
    lines = [header, ["---"] * len(header), *([cell.replace("|", "/") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _of(points: Iterable[PublishedPoint], figure: str) -> tuple[PublishedPoint, ...]:
    return tuple(point for point in points if point.figure == figure)


def _opening(all_verdicts: Sequence[Verdict], all_records: AllRecords) -> str:
    shown = sum(bool(all_records.ours.get(figure.experiment_name)) for figure in FIGURES.values())
    n_figures, n_claims = len(FIGURES), len(_claims(all_verdicts))
    judged = len(_claims([one for one in all_verdicts if one.verdict != NOT_RUN]))
    so_far = f"So far {shown} of {n_figures} figures have runs of ours, and {judged} of {n_claims} claims a verdict."
    if (shown, judged) == (n_figures, n_claims):
        so_far = f"All {n_figures} figures have runs of ours, and all {n_claims} claims a verdict."
    return _paragraph(_OPENING.format(so_far=so_far))


def _count(all_verdicts: Sequence[Verdict]) -> str:
    words = [
        f"{sum(one.verdict == word for one in all_verdicts)} {word}"
        for word in (CONFIRMED, DEPENDS, NOT_CONFIRMED, NOT_RUN)
    ]
    provisional = sum(one.provisional for one in all_verdicts)
    judged = sum(one.verdict != NOT_RUN for one in all_verdicts)
    on_one = f" Of the {judged} verdicts {provisional} stand on one seed and are provisional." if provisional else ""
    twice = (
        "; those on HateSpeech are judged with two networks" if len(_claims(all_verdicts)) < len(all_verdicts) else ""
    )
    return f"{len(all_verdicts)} verdicts on {len(_claims(all_verdicts))} claims: {', '.join(words)}{twice}.{on_one}"


def _claims(all_verdicts: Iterable[Verdict]) -> set[tuple[str, str]]:
    """Return the claims, each with where the paper makes it: some are judged with several networks."""
    return {(one.claim, one.where.rpartition(" (")[0] or one.where) for one in all_verdicts}


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(
        textwrap.fill(f"- {line}", width=WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
        for line in lines
    )


def _paragraph(text: str) -> str:
    return textwrap.fill(text, width=WIDTH, break_on_hyphens=False, break_long_words=False)
