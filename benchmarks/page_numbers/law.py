"""The tables of docs/studies/law.md."""

import json
from functools import cache
from pathlib import Path

from benchmarks.law import page
from benchmarks.law.__main__ import TAG
from benchmarks.law.sets import SETS
from benchmarks.law.summary import Trials
from benchmarks.page_numbers.blocks import Block
from benchmarks.tables.trial import Line, Results

RESULTS = Path(__file__).parents[1] / "results"


@cache
def trials() -> Trials:
    """Return the committed trials."""
    lines = Results(RESULTS / "law.jsonl").read()
    return Trials([line for key, line in lines.items() if key[3] == TAG], SETS)


@cache
def before() -> Trials:
    """Return those of 687db29."""
    return Trials([line for line in _before() if "honesty" in line], SETS)


def _before() -> list[Line]:
    return [json.loads(text) for text in (RESULTS / "law_before.jsonl").read_text().splitlines()]


def consensus() -> str:
    """Return the table of Kelly's sets."""
    lines = Results(RESULTS / "law_consensus.jsonl").read()
    return page.consensus(lines, [line for line in _before() if "area" in line])


BLOCKS: dict[str, Block] = {
    "law-run": lambda: page.run_facts(trials()),
    "law-sets": lambda: page.sets(trials(), before()),
    "law-log-loss": lambda: page.log_loss(trials(), before()),
    "law-accuracy": lambda: page.accuracy(trials(), before()),
    "law-gaps": lambda: page.gaps(trials(), before()),
    "law-gap-verdict": lambda: page.gap_verdict(trials()),
    "law-costs": lambda: page.costs(trials()),
    "law-in-turn": lambda: page.in_turn(trials()),
    "law-cost-verdict": lambda: page.cost_verdict(trials()),
    "law-questions": lambda: page.questions(trials()),
    "law-consensus": consensus,
}
