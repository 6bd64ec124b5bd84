"""The page: each method beside one classifier of the same seed."""

from collections import defaultdict
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.many_experts.methods import METHODS

Record = dict[str, Any]
TABLE_EPOCHS = 18
DEFAULT = "heads"
LENGTH_METHODS = ("classifier", "ova", "softmax", "heads")


def page(records: list[Record]) -> str:
    """Return the page in Markdown."""
    lines = [
        "# Many experts, one network",
        "",
        "Written by `python -m benchmarks.many_experts`; do not edit. CIFAR-10 (45,000 pictures to learn from, 5,000 "
        "to calibrate, 10,000 for the test), experts of the paper's simulation 1 as published, answers drawn anew in "
        "every epoch. Mean over the seeds; in brackets the difference to one classifier of the same seeds and the same "
        "training with its 95 % interval (t), in points. ECE: mean over the experts, 20 bins, after the training and "
        "after calibration.",
        "",
    ]
    table = [record for record in records if record["settings"]["epochs"] == TABLE_EPOCHS]
    for n_experts in sorted({record["n_experts"] for record in table if record["n_experts"]}):
        lines += [*_table(table, n_experts), ""]
    return "\n".join([*lines, *_default_beside_others(table), "", *_lengths(records), ""])


def _default_beside_others(table: list[Record]) -> list[str]:
    """Return the default's team beside the most accurate team of the other methods, on the same seeds."""
    lines = [
        "## The team of the default",
        "",
        f'Of the {TABLE_EPOCHS} epochs above: the calibrated team of `{DEFAULT}`, which `loss="auto"` uses, less that '
        "of the most accurate other method, on the same seeds, in points with its 95 % interval (t). The other method "
        "is chosen by the same test part, which favours it.",
        "",
        "| experts | most accurate other method | the default's team % | minus the other | seeds |",
        "| --- | --- | --- | --- | --- |",
    ]
    for n_experts in sorted({record["n_experts"] for record in table if record["n_experts"]}):
        teams: dict[str, dict[int, float]] = defaultdict(dict)
        for record in table:
            calibrated = "calibrated.system_accuracy"  # not of methods without probabilities
            if record["n_experts"] == n_experts:
                accuracy = record[calibrated if calibrated in record else "system_accuracy"]
                teams[record["method"]][record["seed"]] = 100 * accuracy
        ours = teams.pop(DEFAULT, {})
        teams = {name: team for name, team in teams.items() if len(team.keys() & ours.keys()) > 1}
        if not teams:
            continue
        best = max(teams, key=lambda name: np.mean(list(teams[name].values())))
        seeds = sorted(ours.keys() & teams[best].keys())
        gaps = [ours[seed] - teams[best][seed] for seed in seeds]
        mean = np.mean([ours[seed] for seed in seeds])
        lines.append(f"| {n_experts} | {best} | {mean:.2f} | {_interval(gaps)} | {len(seeds)} |")
    return lines


def _lengths(records: list[Record]) -> list[str]:
    """Return the table of longer training."""
    lines = [
        "## Longer training",
        "",
        "Classifier, its difference to one classifier of the same seeds and length, / team (not calibrated) in %, and "
        "the number of seeds. With the length the loss of one-vs-all shrinks, and with 20 experts a part of it stays.",
        "",
    ]
    epochs = sorted({record["settings"]["epochs"] for record in records})
    lines += [
        "| experts | method | " + " | ".join(f"{n} epochs" for n in epochs) + " |",
        "| --- " * (2 + len(epochs)) + "|",
    ]
    alone = [record for record in records if record["method"] == "classifier"]
    for n_experts in sorted({record["n_experts"] for record in records}):
        for name in LENGTH_METHODS:
            mine = [record for record in records if (record["n_experts"], record["method"]) == (n_experts, name)]
            cells = [_both(_of_length(mine, n), _of_length(alone, n)) for n in epochs]
            if any(cells[1:]):
                lines.append(f"| {n_experts or ''} | {name} | " + " | ".join(cells) + " |")
    return lines


def _of_length(rows: list[Record], epochs: int) -> list[Record]:
    return [row for row in rows if row["settings"]["epochs"] == epochs]


def _both(rows: list[Record], alone: list[Record]) -> str:
    if not rows:
        return ""
    beside = _beside(rows, {row["seed"]: row for row in alone}) if rows[0]["n_experts"] else ""
    both = [f"{_mean(rows, 'class_accuracy')} {beside}".strip(), _mean(rows, "system_accuracy")]
    return f"{' / '.join(both if rows[0]['n_experts'] else both[:1])}, {len(rows)}"


def _table(records: list[Record], n_experts: int) -> list[str]:
    alone = {record["seed"]: record for record in records if record["method"] == "classifier"}
    by_method: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record["n_experts"] == n_experts:
            by_method[record["method"]].append(record)
    lines = [
        f"## {n_experts} experts",
        "",
        "| method | seeds | classifier % | team % | team, calibrated % | ECE % | calibrated ECE % | s a run |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    if alone:
        accuracy = 100 * np.mean([record["class_accuracy"] for record in alone.values()])
        seconds = np.median([record["wall_seconds"] for record in alone.values()])
        lines.append(f"| one classifier | {len(alone)} | {accuracy:.2f} | | | | | {seconds:.1f} |")
    for name, method in METHODS.items():
        rows = by_method.get(name)
        if not rows:
            continue
        cells = [
            name,
            str(len(rows)),
            f"{_mean(rows, 'class_accuracy')} {_beside(rows, alone)}",
            _mean(rows, "system_accuracy"),
            _mean(rows, "calibrated.system_accuracy") if method.probabilities else "",
            _mean(rows, "ece") if method.probabilities else "",
            _mean(rows, "calibrated.ece") if method.probabilities else "",
            f"{np.median([row['wall_seconds'] for row in rows]):.1f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _mean(rows: list[Record], figure: str) -> str:
    return f"{100 * np.mean([row[figure] for row in rows]):.2f}"


def _beside(rows: list[Record], alone: dict[int, Record]) -> str:
    """Return the mean difference of the classifier to that of one classifier, with its interval."""
    gaps = [
        100 * (row["class_accuracy"] - alone[row["seed"]]["class_accuracy"]) for row in rows if row["seed"] in alone
    ]
    return "" if len(gaps) < 2 else f"({_interval(gaps)})"


def _interval(gaps: list[float]) -> str:
    """Return the mean of at least two differences, and half of its 95 % interval (t)."""
    half = float(stats.t.ppf(0.975, len(gaps) - 1) * np.std(gaps, ddof=1) / len(gaps) ** 0.5)
    return f"{np.mean(gaps):+.2f} ± {half:.2f}"
