"""The tables of docs/studies/field.md."""

from functools import cache
from pathlib import Path

from benchmarks.field import newcomers_page
from benchmarks.field.methods import METHODS
from benchmarks.field.newcomers import read
from benchmarks.field.page import behind, facts, gaps, verdict
from benchmarks.field.sets import SETS
from benchmarks.field.summary import Field
from benchmarks.page_numbers.blocks import Block
from benchmarks.tables.trial import Results

RESULTS = Path(__file__).parents[1] / "results" / "field.jsonl"


@cache
def trials() -> Field:
    """Return the committed trials."""
    return Field(Results(RESULTS).read(), SETS, METHODS)


def run_facts() -> str:
    """Say how many trials there are."""
    field = trials()
    return (
        f"{len(field.shown_sets())} data sets, {len(field.methods)} methods, {field.splits()}, "
        f"{len(field.lines):,} trials."
    )


BLOCKS: dict[str, Block] = {
    "field-run": run_facts,
    "field-verdict": lambda: verdict(trials()),
    "field-gaps": lambda: gaps(trials()),
    "field-facts": lambda: facts(trials()),
    "field-behind": lambda: behind(trials()),
    "newcomers-log-loss": lambda: newcomers_page.log_losses(read()),
    "newcomers-verdict": lambda: newcomers_page.winners(read()),
}
