"""The tables of docs/studies/people.md."""

import json
from pathlib import Path
from typing import Any

from benchmarks.page_numbers.blocks import Block, table

RESULTS = Path(__file__).parents[1] / "results" / "people.json"
CROWDS = {"film reviews, 203 people": "sentiment-polarity-crowd", "posts, 170 people": "keswani-toxicity"}
SYSTEMS = {
    "model alone": "model alone",
    "a random annotator": "random annotator",
    "plain rule": "plain rule",
    "our team": "our team",
    "our sequential panel, fee 0.01": "our sequential panel, fee 0.01",
    "the same, fee 0.03": "our sequential panel, fee 0.03",
    "Bayes vote of the model and all who answered": "Bayes vote of all and the model",
    "Dawid-Skene of all who answered": "Dawid-Skene of all",
}
TESTED = (
    "our team",
    "our team, not reading the text",
    "our sequential panel, fee 0.01",
    "our sequential panel, fee 0.03",
)
LEVEL = 0.05


def crowds() -> str:
    """Return accuracy and questions of each system on two crowds."""
    figures = _facts()["figures"]
    rows = [
        (words, *(_accuracy(figures[crowd]["systems"][system], words) for crowd in CROWDS.values()))
        for words, system in SYSTEMS.items()
    ]
    return table(("", *CROWDS), rows)


def tests() -> str:
    """Return how far our systems are above the plain rule, with p values before and after Holm."""
    figures = _facts()["figures"]
    rows = []
    for crowd, name in CROWDS.items():
        for system in TESTED:
            test = figures[name]["systems"][system]["tests"]["plain rule"]
            points = [f"{round(100 * test[key], 1) + 0.0:+.1f}" for key in ("mean", "low", "high")]
            rows.append(
                (
                    f"{system}; {crowd.partition(',')[0]}",
                    f"{points[0]} [{points[1]}, {points[2]}]",
                    f"{test['p_value']:.2g}",
                    f"{test['holm']:.2g}",
                )
            )
    return table(("points above the plain rule", "difference, 95 % interval", "p before Holm", "p after Holm"), rows)


def significant() -> str:
    """Say which comparisons with the plain rule stay significant after Holm, and how many versions of the code ran."""
    facts = _facts()
    clear = [
        f"{system} ({name})"
        for name, crowd in facts["figures"].items()
        for system, numbers in crowd["systems"].items()
        if (test := numbers.get("tests", {}).get("plain rule")) is not None and test["holm"] < LEVEL
    ]
    words = "\n".join(f"- {one}" for one in clear) or "- none"
    return (
        f"Above the plain rule at {LEVEL:g} after Holm's correction, of all systems and data sets:\n\n{words}\n\n"
        f"The trials of this page were made by {len(facts['code'])} versions of the code."
    )


BLOCKS: dict[str, Block] = {"crowds": crowds, "tests": tests, "significant": significant}


def _facts() -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return facts


def _accuracy(system: dict[str, Any], words: str) -> str:
    accuracy, questions = 100 * system["accuracy"], system["questions"]
    if words in ("model alone", "a random annotator"):
        return f"{accuracy:.1f} %"
    return f"{accuracy:.1f} % with {questions:.2f}" if questions < 2 else f"{accuracy:.1f} % with {questions:.1f}"
