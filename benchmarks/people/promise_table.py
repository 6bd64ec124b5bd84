"""The table of promises: what our teams promise of all cases, beside what they keep."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.people.trial import Trial
from benchmarks.resampled import nadeau_bengio

WAYS = {"our team": "one expert", "our sequential panel, fee 0.01, calibrated": "in turn"}
"""The systems that are judged, and how they ask."""
MOST_GAP = 0.01
"""A total gap up to this is small, whatever its interval."""
ENOUGH = 5
"""Splits from which on a set is judged: with two or three every interval holds 0."""


def promise_figures(sets: Iterable[str], trials: Iterable[Trial]) -> list[dict[str, Any]]:
    """Return promised, kept and their difference of each set and way of asking, with an interval from two splits on."""
    by_key: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        if trial.system in WAYS and not math.isnan(trial.promised_total):
            by_key.setdefault((trial.crowd, trial.system), []).append(trial)
    return [_figures(by_key[name, system]) for name in sets for system in WAYS if (name, system) in by_key]


def _figures(trials: Sequence[Trial]) -> dict[str, Any]:
    gaps = [trial.promised_total - trial.accuracy for trial in trials]
    figures: dict[str, Any] = {
        "set": trials[0].crowd,
        "way": WAYS[trials[0].system],
        "splits": len(trials),
        "questions": float(np.mean([trial.questions for trial in trials])),
        "promised": float(np.mean([trial.promised_total for trial in trials])),
        "kept": float(np.mean([trial.accuracy for trial in trials])),
        "gap": float(np.mean(gaps)),
    }
    if len(trials) > 1:
        spread = nadeau_bengio(gaps, n_train=trials[0].n_train, n_test=trials[0].n_test)
        figures |= {"low": spread.low, "high": spread.high}
    return figures


def verdict(figures: Mapping[str, Any]) -> str:
    """Say whether the promise was kept: a gap of at most 1 point, or 0 inside its interval."""
    if figures["splits"] < ENOUGH:
        return "too few splits"
    if abs(figures["gap"]) <= MOST_GAP:
        return "kept: at most 1 point"
    if figures["low"] <= 0 <= figures["high"]:
        return "kept: 0 inside the interval"
    return "promises too much" if figures["gap"] > 0 else "promises too little"


def promises_section(facts: Mapping[str, Any] | None, sets: Collection[str]) -> str:
    """Return the table, with the verdict of each set and which of the sets were not run; nothing without trials."""
    if not facts or not facts["figures"]:
        return ""
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    judged = [verdict(one) for one in facts["figures"]]
    n_kept, n_judged = sum(word.startswith("kept") for word in judged), sum(word != "too few splits" for word in judged)
    rows = [
        "## Promised and kept over all cases",
        "",
        f"`python -m benchmarks.people.promises`; code {', '.join(facts['code'])}; {versions}.",
        "Every trial is a line of `people_promises.jsonl`.",
        "",
        "*Promised* is the mean P(the label is right) of whoever settles a case: the model where it answers, else the",
        "expert (our team) or the verdict of those heard (our sequential panel, fee 0.01, calibrated). *Kept* is how",
        "often the label is right. A promise counts as kept if the difference is at most 1 point or its 95 % interval",
        f"(Nadeau and Bengio) holds 0. That is so for {n_kept} of {n_judged} rows with at least {ENOUGH} splits.",
        "",
        "| set, way of asking (splits) | questions | promised | kept | promised minus kept, points | verdict |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for one, word in zip(facts["figures"], judged, strict=True):
        spread = "" if "low" not in one else f" [{100 * one['low']:+.2f}, {100 * one['high']:+.2f}]"
        rows.append(
            f"| {one['set']}, {one['way']} ({one['splits']}) | {one['questions']:.2f} | {100 * one['promised']:.1f} | "
            f"{100 * one['kept']:.1f} | {100 * one['gap']:+.2f}{spread} | {word} |"
        )
    known = set(sets)
    rows += [
        line
        for name, note in facts.get("notes", {}).items()
        if name not in known and any(one["set"] == name for one in facts["figures"])
        for line in ("", f"**{name}**, of which there is this table alone: {note}")
    ]
    lacking = [name for name in sets if name not in {one["set"] for one in facts["figures"]}]
    if lacking:
        rows += ["", f"Not run: {', '.join(lacking)}."]
    return "\n".join(rows)
