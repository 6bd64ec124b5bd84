"""The page of the benchmark: tables of means over splits, with paired intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.pools.router_dc import PUBLISHED, SEEN, UNSEEN
from benchmarks.resampled import nadeau_bengio

Line = dict[str, Any]
OURS = "ExpertPool"
QUALITY = {
    "quality": ("quality", 4),
    "gap recovered": ("gap_share", 2),
    "calibration error": ("calibration_error", 4),
    "CPU s": ("cpu_s", 1),
}
COST = {
    "area over the zero router": ("area", 4),
    "at the best single's cost": ("quality_at_best_cost", 4),
    "half way to the cheapest": ("quality_at_half_cost", 4),
    "cost at full quality": ("cost", 1),
}
"""By head of a column: the key of a trial, and the digits that are shown."""
HEAD = """# Pools of language models

Who is asked: the member with the highest expected score, learned from scores of right or wrong alone. Questions come
from two public sets; equal questions are on one side of a split, a fifth is the test part. `llm_routing_9` has 6,108
questions of 14 tasks, nine models and a price per token (input tokens alone are counted, as no others are recorded);
`llm_routing_7` has 20,600 questions of 16 tasks and seven models, multiple choice counted as right or wrong, and no
prices. Features are words weighted by TF-IDF in a few directions. Differences are ours minus theirs on the same splits,
with 95 % intervals corrected for splits that share questions (Nadeau and Bengio 2003).

`ExpertPool` is one regression of all members; `earlier ExpertPool` is the mix of a table of means, ridge, nearest
neighbours, trees and heads that it took the place of, on the same splits. Width and number of the centers of past
questions were chosen on the first splits of `llm_routing_9`. With the task given nothing is measurably better than the
table of means by task (`best of the task`). Without the task that table is still shown, as what knowing it would be
worth. Where an interval holds 0 the difference may be chance.

Run `python -m benchmarks.pools`; `pools.jsonl` has every trial with the versions. CPU seconds are of one thread, fit
and decisions together.
"""


def page(lines: Sequence[Line]) -> str:
    """Return the page."""
    parts = [HEAD]
    for name in dict.fromkeys(line["set"] for line in lines if line["study"] == "choice"):
        for task in (True, False):
            rows = [line for line in lines if line["study"] == "choice" and line["set"] == name]
            parts.append(_choice(name, task, rows))
    parts += [_router_dc(lines), _cold_start(lines), _cascade(lines)]
    return "\n".join(part for part in parts if part)


def _choice(name: str, task: bool, lines: Sequence[Line]) -> str:
    # Systems that do not read the task, or that are the task's table, stand in both tables.
    anyway = ("best single", "random", "best of the task")
    use = [line for line in lines if line["task"] == task or line["system"] in anyway]
    systems = list(dict.fromkeys(line["system"] for line in use))
    by = {system: {line["split"]: line for line in use if line["system"] == system} for system in systems}
    if OURS not in by:
        return ""
    splits = len(by[OURS])
    first = next(iter(by[OURS].values()))
    priced = "area" in first
    rows = _figures(by, QUALITY)
    for system, own in by.items():
        rows[system].insert(2, "" if system == OURS else _difference(by[OURS], own, "quality"))
    oracle = ["oracle", _mean(by[OURS], "oracle"), "", "1.00", "", ""]
    head = list(QUALITY)
    table = _table(["system", head[0], "ours minus theirs", *head[1:]], [*rows.values(), oracle])
    given = "with the task given" if task else "without the task"
    text = f"\n## {name}, {given} ({splits} splits)\n\n{table}\n"
    chosen = [str(line["chosen"]) for line in by[OURS].values()]
    counts = ", ".join(f"{one} {chosen.count(one)}" for one in dict.fromkeys(chosen))
    promised = (
        f"Promised {_mean(by[OURS], 'promised')}, kept {_mean(by[OURS], 'quality')}; with centers of past questions: "
        f"{counts}.\n"
    )
    return text + "\n" + promised + (_prices(by) if priced else "")


def _prices(by: dict[str, dict[int, Line]]) -> str:
    rows = _figures({system: own for system, own in by.items() if system != "random"}, COST)
    for system, row in rows.items():
        row.insert(2, "" if system == OURS else _difference(by[OURS], by[system], "area"))
    zero = ["zero router", "0", "", _mean(by[OURS], "best_single"), _mean(by[OURS], "zero_at_half_cost"), ""]
    cheapest = ["cheapest", "", "", f"({_mean(by[OURS], 'cheapest')} at its own cost)", "", ""]
    first, *others = COST
    table = _table(["system", first, "ours minus theirs", *others], [*rows.values(), zero, cheapest])
    return f"\nQuality at equal cost (dollars per million questions), along the trade-offs:\n\n{table}\n"


def _router_dc(lines: Sequence[Line]) -> str:
    use = [line for line in lines if line["study"] == "router dc"]
    if not use:
        return ""
    systems = list(dict.fromkeys(line["system"] for line in use))
    by = {system: {line["split"]: line for line in use if line["system"] == system} for system in systems}
    figures = {"seen": ("seen", 2), "unseen": ("unseen", 2)}
    rows = [
        *_figures(by, figures).values(),
        ["RouterDC, as published", *(f"{PUBLISHED[key]:.2f}" for key in figures)],
    ]
    tasks = [
        [system, *(f"{np.mean([line['tasks'][task] for line in own.values()]):.1f}" for task in SEEN + UNSEEN)]
        for system, own in by.items()
    ]
    ours = ", ".join(f"{line['seen']:.2f} and {line['unseen']:.2f}" for line in by["words and category"].values())
    return (
        f"\n## RouterDC's protocol, llm_routing_7 ({len(by[systems[0]])} seeds)\n\nLearned from the training parts of "
        "five tasks (5,935 questions); mean score, in percent, over the five test parts (seen) and over three tasks "
        "that training has not seen. Multiple choice counts as right or wrong. A seed deals the folds. The settings "
        "come from `llm_routing_9` and from these training parts; figures of these test parts had been seen before the "
        "threshold of the landmarks was halved (before it: 59.3 seen, 45.1 unseen). The "
        "published figures are recalled from the paper, "
        "where a fine-tuned encoder of 86 million weights chooses; its split of the questions may differ. The test "
        "part of humaneval has 49 questions: one of them changes the mean of the seen tasks by up to 0.4.\n\n"
        + _table(["system", "seen tasks", "unseen tasks"], rows)
        + f"\n\nWords and category by seed: {ours}.\n\nBy task:\n\n"
        + _table(["system", *SEEN, *UNSEEN], tasks)
        + "\n"
    )


def _cold_start(lines: Sequence[Line]) -> str:
    use = [line for line in lines if line["study"] == "cold start"]
    if not use:
        return ""
    head = ["set", "scores", "quality", "minus full training", "newcomer's squared error", "newcomer's bias, mean size"]
    table = []
    for name in dict.fromkeys(line["set"] for line in use):
        own = [line for line in use if line["set"] == name]
        full = {(line["split"], line["member"]): line for line in own if line["n_scores"] == "all"}
        for n in dict.fromkeys(line["n_scores"] for line in own):
            some = [line for line in own if line["n_scores"] == n]
            gap = [line["quality"] - full[line["split"], line["member"]]["quality"] for line in some]
            table.append(
                [
                    name,
                    str(n),
                    f"{np.mean([line['quality'] for line in some]):.4f}",
                    f"{np.mean(gap):+.4f}",
                    f"{np.mean([line['squared_error'] for line in some]):.4f}",
                    f"{np.mean([abs(line['bias']) for line in some]):.3f}",
                ]
            )
    n_splits = len({line["split"] for line in use})
    return (
        f"\n## Cold start ({n_splits} splits, each member left out in turn)\n\nThe member joins with so many scores by "
        "`add_expert`; the last row is full training. The task is given. The strength of the "
        "prior was chosen on other splits of the same sets.\n\n" + _table(head, table) + "\n"
    )


def _cascade(lines: Sequence[Line]) -> str:
    use = [line for line in lines if line["study"] == "cascade"]
    if not use:
        return ""
    head = [
        "judge",
        "a mark costs",
        "median trade-off",
        "cost",
        "cascade minus single shot",
        "minus the best single shot",
    ]
    table = []
    for judge, price in dict.fromkeys((line["judge"], line["judge_price"]) for line in use):
        some = [line for line in use if (line["judge"], line["judge_price"]) == (judge, price)]
        table.append(
            [
                judge,
                price,
                f"{np.median([line['trade_off'] for line in some]):,.0f}",
                f"{np.mean([line['cost'] for line in some]):.1f}",
                _interval([line["quality"] - line["single_shot"] for line in some]),
                _interval([line["quality"] - line["best_single_shot"] for line in some]),
            ]
        )
    splits = len({line["split"] for line in use})
    return (
        f"\n## Cascades with a simulated judge, llm_routing_9 ({splits} splits)\n\nOne member is asked, the judge "
        "marks the answer, and another is asked if that pays. The trade-off is the one at which the cascade gains most "
        "over single-shot routing (`ExpertPool`, task given) at the same cost on validation rows, a fifth of the "
        "training part that the pool is not fitted on; the figures are of the test part. The last column compares "
        "with the highest quality of single-shot routing at any cost, chosen on the test part itself. Scores from 0.5 "
        "on are right.\n\n" + _table(head, table) + "\n"
    )


def _mean(own: dict[int, Line], key: str, digits: int = 4) -> str:
    values = [line[key] for line in own.values() if line.get(key) is not None]
    return f"{np.mean(values):.{digits}f}" if values else ""


def _difference(ours: dict[int, Line], theirs: dict[int, Line], key: str) -> str:
    return _interval([ours[split][key] - theirs[split][key] for split in ours if split in theirs])


def _interval(values: list[float]) -> str:
    if len(values) < 2:
        return f"{np.mean(values):+.4f}" if values else ""
    result = nadeau_bengio(values, n_train=4, n_test=1)
    return f"{result.mean:+.4f} [{result.low:+.4f}, {result.high:+.4f}]"


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def _figures(by: dict[str, dict[int, Line]], columns: dict[str, tuple[str, int]]) -> dict[str, list[str]]:
    """Return for each system the means of some keys, each with its digits."""
    return {
        system: [system, *(_mean(own, key, digits=digits) for key, digits in columns.values())]
        for system, own in by.items()
    }
