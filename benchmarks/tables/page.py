"""The page, written from the trials."""

from collections import Counter
from collections.abc import Mapping

from benchmarks.tables import bounds
from benchmarks.tables.outcome import System
from benchmarks.tables.reach import Bounds, gain_rows, reach_section, why_section
from benchmarks.tables.setting import Setting
from benchmarks.tables.summary import DEFAULT, MODEL, WAYS, Table, Trials
from benchmarks.tables.trial import PLAIN, Line
from benchmarks.tables.verdicts import gain_kept, points, verdicts

BEFORE = "before"


def page(trials: Trials, settings: Mapping[str, Setting], systems: Mapping[str, System], *, tag: str) -> str:
    """Return the page for the trials of one tag."""
    table, reached = Table(trials, settings, systems, tag), bounds.stored()
    parts = [
        _opening(table),
        "## What was to be shown\n\n" + "\n".join(map(str, verdicts(table))),
        why_section(table, reached, bounds.stored_ties()),
        _accuracy(table),
        reach_section(table, reached),
        _gains(table, reached),
        _promises(table),
        "## Every system",
        *(_one_set(table, name) for name in table.sets()),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _other_machines(used: list[Line]) -> str:
    """Say how many trials ran with another Python than the last one, on a machine of its own."""
    pythons = [line["versions"]["python"] for line in used]
    others = Counter(version for version in pythons if version != pythons[-1])
    return "".join(
        f" {count} of {len(used)} trials ran\nwith Python {version} on a shared machine."
        for version, count in others.items()
    )


def _opening(table: Table) -> str:
    used = [line for key, line in table.trials.items() if key[3] in (table.tag, PLAIN)]
    commits = ", ".join(sorted({str(line["commit"]) for line in used if line["tag"] == table.tag})) or "none"
    versions = ", ".join(f"{name} {version}" for name, version in (used[-1]["versions"] if used else {}).items())
    splits = max((len(table.lines(name, DEFAULT)) for name in table.sets()), default=0)
    return f"""# Teams on tables

`python -m benchmarks.tables`; up to {splits} splits, seeded from 0; our systems at {commits}; {versions};
one thread, CPU seconds. Every trial is a line of `tables.jsonl`.{_other_machines(used)}

All systems see the same rows: 70 % to learn from and 30 % for the test, or as the set says. *default* is what
`Study(cases).fit()` gives; it keeps some of the rows to learn from apart for its panels, the plain systems use all of
them. Where answers are real, only experts whose answer is recorded can be asked; where experts are
simulated, everybody can be asked about a test row. *Questions* are answers heard for each case. *Promised* is the mean
P(right) of the chosen decider over all cases, *kept* how often the decider was right.
Intervals are of 95 %, corrected for splits that share rows (Nadeau and Bengio). Differences are in points. A set is
judged from two splits on."""


def _accuracy(table: Table) -> str:
    rows = [
        "## The default beside the best plain system and the model alone",
        "",
        "| set (splits) | default | best plain system | default minus it | model alone | default minus it |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name in table.sets():
        splits = table.lines(name, DEFAULT)
        plain, cells = table.best_plain(name), []
        for other in (plain, MODEL):
            difference = None if other is None else table.difference(name, other)
            mean = "" if other is None else f"{100 * table.mean(name, other, _key(table, name), splits=splits):.2f}"
            who = "" if other in (MODEL, None) else f" {other}"
            cells += [f"{mean}{who}", "" if difference is None else points(difference)]
        ours = 100 * table.mean(name, DEFAULT, _key(table, name))
        rows.append(f"| {name} ({len(splits)}) | {ours:.2f} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _key(table: Table, setting: str) -> str:
    return "true_value" if table.settings[setting].kind == "true gain" else "accuracy"


def _promises(table: Table) -> str:
    old = table.with_tag(BEFORE)
    rows = [
        "## Promised and kept by whoever decides",
        "",
        f"*{BEFORE}* is the default of 6c40b85, before this learner, on three splits of some sets; on the sets "
        "by-class it is that of 465d65d, before class heads.",
        "",
        "| set, way of asking | questions | promised | kept | promised minus kept | promised / kept before |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name in table.sets():
        for way, (kept, promised, questions) in WAYS.items():
            gap = table.gap(name, way)
            mean = {key: table.mean(name, DEFAULT, key) for key in (kept, promised, questions)}
            then = [100 * old.mean(name, DEFAULT, key) for key in (promised, kept)]
            before = f"{then[0]:.1f} / {then[1]:.1f}" if then[0] == then[0] else ""
            rows.append(
                f"| {name}, {way} | {mean[questions]:.2f} | {100 * mean[promised]:.1f} | {100 * mean[kept]:.1f} | "
                f"{'' if gap is None else points(gap)} | {before} |"
            )
    return "\n".join(rows)


def _gains(table: Table, reached: Bounds) -> str:
    names = [name for name in table.sets() if table.settings[name].kind == "true gain"]
    if not names:
        return ""
    rows = [
        "## A true gain of 3 points, 600 rows",
        "",
        "By the true probabilities: the accuracy of a system's own model and of its team, the share of the 3 points",
        "that the team gains over its own model, and how far the team is below the best possible one, in points. The",
        "last rows of a set are teams that are told more than anybody knows; their model is the best possible one.",
        "",
        "| set, system (splits) | own model | team | gain kept | below the best team |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in names:
        for system in table.systems:
            if lines := table.lines(name, system):
                own, team, best = (table.mean(name, system, key) for key in ("true_model", "true_value", "best_team"))
                share = gain_kept(table, name, system=system)
                rows.append(
                    f"| {name}, {system} ({len(lines)}) | {100 * own:.2f} | {100 * team:.2f} | {share:.0%} | "
                    f"{100 * (best - team):.2f} |"
                )
        rows += gain_rows(table, name, reached)
    return "\n".join(rows)


def _one_set(table: Table, name: str) -> str:
    rows = [
        f"### {name}",
        "",
        table.settings[name].note,
        "",
        "| system (splits) | accuracy | questions | promised | in turn: accuracy, questions | CPU s, fit |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for system in table.systems:
        lines = table.lines(name, system)
        if not lines:
            continue
        interval = table.interval(name, [line["accuracy"] for line in lines.values()])
        mean = {key: table.mean(name, system, key) for key in ("accuracy", "questions", "promised", "fit_s")}
        spread = "" if interval is None else f" [{100 * interval.low:.2f}, {100 * interval.high:.2f}]"
        turn = [table.mean(name, system, key) for key in ("turn_accuracy", "turn_questions")]
        in_turn = f"{100 * turn[0]:.2f}, {turn[1]:.2f}" if turn[0] == turn[0] else ""
        rows.append(
            f"| {system} ({len(lines)}) | {100 * mean['accuracy']:.2f}{spread} | {mean['questions']:.2f} | "
            f"{100 * mean['promised']:.1f} | {in_turn} | {mean['fit_s']:.1f} |"
        )
    return "\n".join(rows)
