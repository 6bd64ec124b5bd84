"""The tables of docs/explanation/losses.md."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean, stdev
from textwrap import fill
from typing import Any

from benchmarks.page_numbers.blocks import Block, table

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "tests" / "statistical" / "results"
PAPER = ROOT / "papers" / "verma2023" / "results"
MANY_EXPERTS = ROOT / "benchmarks" / "results" / "many_experts.jsonl"
CONSISTENT = ("softmax", "ova", "decoupled", "asymmetric")
LOSSES = (*CONSISTENT, "moe")
CLONES = (1, 5, 20)
N_EXPERTS = (1, 4, 8, 12, 16, 20)
Record = dict[str, Any]


def wedge_losses() -> str:
    """Return excess, error and lost utility of each loss on WEDGE."""
    rows, one = _rows("wedge_default"), _rows("wedge_one_expert")
    cells = [
        (
            f"`{loss}`",
            _spread(rows[f"{loss}, 0% missing"]["excess"]),
            f"{rows[f'{loss}, 0% missing']['p_error']['mean']:.3f}",
            _spread(rows[f"{loss}, 50% missing"]["excess"]),
            f"{rows[f'{loss}, fees']['lost']['mean']:.2f}",
            f"{one[loss]['excess']['mean']:.2f}",
        )
        for loss in CONSISTENT
    ]
    masked = _spread(rows["softmax, numerator-only mask, 50% missing"]["excess"], digits=1)
    words = "`softmax`, missing answers left out of the sum but not of the normaliser"
    cells.append((words, "", "", f"**{masked}**", "", ""))
    cells.append(("`moe`", "", "", "", "", f"**{_spread(one['moe']['excess'], digits=1)}**"))
    header = (
        "loss",
        "excess, no answers missing",
        "mean error of p",
        "excess, half of the answers missing",
        "utility lost with fees",
        "excess, one expert of skill 0.6",
    )
    return table(header, cells)


def digits_clones(net: str) -> str:
    """Return the classifier's accuracy on digits with copies of one expert."""
    rows = _rows("digits_clones")
    cells = [
        (f"`{loss}`", *(_spread(rows[f"{net}, {loss}, {n}"]["classifier"], digits=1) for n in CLONES))
        for loss in LOSSES
    ]
    return table((f'`net="{net}"`', *map(_experts, CLONES)), cells)


def wedge_clones() -> str:
    """Return the excess on WEDGE with copies of one expert, and which loss has the least of it."""
    rows = _rows("wedge_clones")
    excess = {(loss, n): rows[f"mlp, {loss}, {n}"]["excess"]["mean"] for loss in LOSSES for n in CLONES}
    cells = [(f"`{loss}`", *(f"{excess[loss, n]:.2f}" for n in CLONES)) for loss in LOSSES]
    least = {n: min((excess[loss, n], loss) for loss in LOSSES)[1] for n in CLONES}
    words = [f"`{least[n]}` with {_experts(n)} ({excess[least[n], n]:.2f})" for n in CLONES]
    smallest = fill(f"The smallest excess: {', '.join(words)}.", 100)
    return f"{table(('loss', *map(_experts, CLONES)), cells)}\n\n{smallest}"


def cifar_classifiers() -> str:
    """Return the accuracy of the classifier alone on CIFAR-10, trained with 1 to 20 experts."""
    methods = (("two-stage", "wrn-28-4, frozen"), ("softmax", "wrn-28-4"), ("ova", "wrn-28-4"))
    records = _lines(PAPER / "sim1.jsonl")
    cells = [(str(n), *(_accuracy(_alone(records, *method, n)) for method in methods)) for n in N_EXPERTS]
    return table(("experts", "two-stage", "`softmax`", "`ova`"), cells)


def cifar_tuned() -> str:
    """Return the same for networks that start from a finished classifier."""
    records, methods = _lines(PAPER / "sim1.jsonl"), ("decoupled", "asymmetric", "moe")
    cells = [
        (str(n), _trial(n), *(_accuracy(_alone(records, method, "wrn-28-4, tuned", n)) for method in methods))
        for n in N_EXPERTS
    ]
    return table(("experts", "`ova`, tuned", *(f"`{method}`, tuned" for method in methods)), cells)


def longer_training() -> str:
    """Return the classifier's accuracy with 4, 12 and 20 experts by the number of epochs."""
    records = _lines(MANY_EXPERTS)
    epochs = sorted({record["settings"]["epochs"] for record in records})
    methods = [("one classifier", "classifier", 0)]
    methods += [(f"{_name(name)}, {n} experts", name, n) for n in (4, 12, 20) for name in ("ova", "softmax", "heads")]
    cells = []
    for words, name, n in methods:
        runs = [record for record in records if (record["method"], record["n_experts"]) == (name, n)]
        by_length = [[run for run in runs if run["settings"]["epochs"] == length] for length in epochs]
        cells.append((words, *(f"{_percent(some):.2f} ({len(some)})" if some else "" for some in by_length)))
    return table(("the classifier's accuracy, % (seeds)", *(f"{n} epochs" for n in epochs)), cells)


BLOCKS: dict[str, Block] = {
    "wedge-losses": wedge_losses,
    "digits-clones-mlp": lambda: digits_clones("mlp"),
    "digits-clones-linear": lambda: digits_clones("linear"),
    "wedge-clones": wedge_clones,
    "cifar-classifiers": cifar_classifiers,
    "cifar-tuned": cifar_tuned,
    "longer-training": longer_training,
}


def _rows(study: str) -> dict[str, Any]:
    rows: dict[str, Any] = json.loads((STUDIES / f"{study}.json").read_text(encoding="utf-8"))["rows"]
    return rows


def _lines(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _spread(value: dict[str, float], *, digits: int = 2) -> str:
    return f"{value['mean']:.{digits}f} ± {value['sd']:.{digits}f}"


def _experts(n: int) -> str:
    return f"{n} expert{'' if n == 1 else 's'}"


def _name(method: str) -> str:
    return "`auto` (heads)" if method == "heads" else f"`{method}`"


def _percent(runs: Iterable[Record]) -> float:
    return 100 * fmean(run["class_accuracy"] for run in runs)


def _alone(records: Iterable[Record], method: str, net: str, n_experts: int) -> list[float]:
    return [
        100 * one["measures"]["class_accuracy"]
        for one in records
        if (one["method"], one["net"], one["setting"]) == (method, net, n_experts)
    ]


def _accuracy(values: list[float]) -> str:
    return f"{fmean(values):.1f}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")


def _trial(n_experts: int) -> str:
    """Return one-vs-all's accuracy after nine epochs of tuning, from the log of the trials."""
    log = (PAPER / "cifar10_recipe_trials.log").read_text(encoding="utf-8")
    match = re.search(rf"ova {n_experts}: scratch.*; 9 epochs: class (\S+)", log)
    if match is None:
        raise ValueError(f"the log of trials has no run of one-vs-all with {n_experts} experts.")
    return f"{100 * float(match[1]):.1f}"
