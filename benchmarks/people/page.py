"""The table as a page in Markdown."""

from collections.abc import Mapping
from typing import Any

from benchmarks.people.promise_table import promises_section

HEAD = "| system | splits | {word} %, 95 % interval | questions | promised | kept | smECE | CPU s | {tests}\n"
BY_STRATUM = (
    "model alone",
    "random annotator",
    "plain rule",
    "majority of all",
    "our team",
    "our team, recalibrated",
    "our sequential panel, fee 0.01",
)
"""The systems that are shown by category."""
OUTSIDE = "Figures are agreement with that majority: outside the tests, and without systems that hear all answers."
REFERENCES = (("model alone", "model"), ("random annotator", "random"), ("plain rule", "plain rule"))


def page(facts: Mapping[str, Any]) -> str:
    """Return the page."""
    parts = [_opening(facts)]
    if promises := promises_section(facts.get("promises"), facts["figures"]):
        parts.append(promises)
    parts += [_section(name, figures) for name, figures in facts["figures"].items()]
    if facts["skipped"]:
        parts.append("## Left out\n\n" + "\n".join(f"- {name}: {why}" for name, why in facts["skipped"].items()))
    return "\n\n".join(parts) + "\n"


def _opening(facts: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    seeds = facts["seeds"]
    made_on = f"\n{facts['made_on']}" if facts.get("made_on") else ""
    tests = sum(len(system["tests"]) for figures in facts["figures"].values() for system in figures["systems"].values())
    return f"""# What deferral to real people is worth

`{facts["command"]}`; splits and systems seeded {seeds[0]} to {seeds[-1]}; code {", ".join(facts["code"])}; {versions};
{facts["machine"]}, {facts["cores"]} cores, OMP_NUM_THREADS {facts["threads"]}.{made_on}
The same figures, and those of each split, are in `people.json`.

Each figure is the mean of up to {len(seeds)} random splits, 70 % to learn from and 30 % to judge on, the same for all
systems (slow ones get the first ten). Only experts whose answer to an item is recorded can be asked for it.
*Questions* are answers heard per item. Of the items on which somebody was heard, *promised* is the mean
P(the label is right) that the system gave, of the chosen expert or of the panel's verdict, *kept* how often it was
right, and *smECE* the smooth calibration error
(chance alone leaves about 0.02 to 0.04 on test parts of this size). Intervals and tests are Nadeau and Bengio's,
corrected for splits sharing cases. The last three columns are differences in points to the model alone, to a random
annotator (both two-sided) and to the plain rule (one-sided, above it): \\* where significant at 0.05 after Holm's
correction for all {tests} tests of the page, (\\*) where it is so before that alone. Beside the plain rule, the p value
before Holm and, in brackets, that of a plain paired t-test, which takes the splits for independent. CPU seconds are
the median of the splits; ours share a fit, which the first of them in the table is charged with. The best accuracy is
in bold."""


def _section(name: str, figures: Mapping[str, Any]) -> str:
    tested = not figures["agreement"]
    word = "accuracy" if tested else "agreement"
    columns = [short for _, short in REFERENCES] if tested else []
    head = HEAD.format(word=word, tests="".join(f"vs {short} | " for short in columns)).rstrip() + "\n"
    rule = "| --- |" + " ---: |" * (7 + len(columns))
    best = max(system["accuracy"] for system in figures["systems"].values())
    rows = [_row(system, own, best, tested=tested) for system, own in figures["systems"].items()]
    outside = "" if tested else f" {OUTSIDE}"
    note = f"{figures['note']}{outside} {figures['n_train']} rows to learn from, {figures['n_test']} to judge on."
    return f"## {name}\n\n{note}\n\n{head}{rule}\n" + "\n".join(rows) + _strata(figures["systems"])


def _strata(systems: Mapping[str, Any]) -> str:
    """Return a table by category, such as race and sex; nothing where there are none."""
    shown = {name: own for name, own in systems.items() if own.get("strata") and name in BY_STRATUM}
    if not shown:
        return ""
    head = "| category | system | cases | accuracy % | minus the model, points | asked % | false alarms % | missed % |"
    lines = [f"\n\n{head}\n| --- | --- |{' ---: |' * 6}"]
    for category in next(iter(shown.values()))["strata"]:
        lines += [_stratum_row(category, name, own["strata"][category]) for name, own in shown.items()]
    return "\n".join(lines)


def _stratum_row(category: str, name: str, own: Mapping[str, Any]) -> str:
    gain = own.get("minus_model")
    ends = "" if gain is None else f"{100 * gain['mean']:+.1f} [{100 * gain['low']:+.1f}, {100 * gain['high']:+.1f}]"
    shares = [_share(own["accuracy"]), ends, *(_share(own.get(key)) for key in ("asked", "false_alarms", "missed"))]
    return f"| {category} | {name} | {own['n']:.0f} | " + " | ".join(shares) + " |"


def _row(name: str, own: Mapping[str, Any], best: float, *, tested: bool) -> str:
    accuracy = f"{100 * own['accuracy']:.1f}"
    if own["accuracy"] == best:
        accuracy = f"**{accuracy}**"
    interval = "" if own["low"] is None else f" [{100 * own['low']:.1f}, {100 * own['high']:.1f}]"
    cells = [
        str(own["splits"]),
        accuracy + interval,
        f"{own['questions']:.2f}",
        _share(own["promised"]),
        _share(own["kept"]),
        "" if own["smooth_error"] is None else f"{own['smooth_error']:.3f}",
        f"{own['seconds']:.2f}",
    ]
    if tested:
        cells += [_test(own["tests"].get(reference), told=reference == "plain rule") for reference, _ in REFERENCES]
    return f"| {name} | " + " | ".join(cells) + " |"


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def _test(test: Mapping[str, Any] | None, *, told: bool) -> str:
    if test is None:
        return ""
    p_values = f"; p {test['p_value']:.2g} ({test['p_value_uncorrected']:.2g})" if told else ""
    star = " *" if test["clear"] else " (*)" if test["p_value"] < 0.05 else ""
    return f"{100 * test['mean']:+.1f}{star}{p_values}".replace("*", "\\*")
