"""Figure 2b with longer training: one-vs-all beside softmax by the number of epochs."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from defero_verma2023.claims.cells import PERCENT, over_seeds
from defero_verma2023.claims.verdict import Estimate

SOURCE = Path("benchmarks") / "results" / "many_experts.jsonl"
HEADER = ("experts", "epochs", "OvA: classifier / team, %", "softmax: classifier / team, %", "team, OvA less softmax")
Run = dict[str, Any]


def read_longer(path: Path) -> tuple[Run, ...]:
    """Read the runs; none where there is no such file."""
    if not path.is_file():
        return ()
    return tuple(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def longer_rows(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each number of experts and of epochs that both losses have."""
    for n_experts, epochs in places_of(runs):
        ova, softmax = (both_of(runs, method, n_experts, epochs) for method in ("ova", "softmax"))
        yield (str(n_experts), str(epochs), ova, softmax, gap_of(runs, n_experts, epochs).words())


def longer_in_words(runs: Sequence[Run]) -> str:
    """Say what becomes of the difference from the shortest training to the longest, and where half of it stays."""
    changes = {}
    for n_experts in dict.fromkeys(n for n, _ in places_of(runs)):
        lengths = [epochs for n, epochs in places_of(runs) if n == n_experts]
        if len(lengths) > 1:
            ends = lengths[0], lengths[-1]
            changes[n_experts] = [(epochs, gap_of(runs, n_experts, epochs).mean) for epochs in ends]
    if not changes:
        return "No runs of other lengths are there yet."
    words = [
        f"from {first:+.2f} points after {short} epochs to {last:+.2f} after {long} with {n} experts"
        for n, ((short, first), (long, last)) in changes.items()
    ]
    longest = {n: epochs for n, (_, (epochs, _)) in changes.items()}
    left = [n for n, ((_, first), (_, last)) in changes.items() if last < first / 2 < 0]
    stays = f"but at least half of it stays with {join_numbers(left)} experts" if left else "less than half of it stays"
    return (
        "Our runs of Figure 2 have 18 epochs, at which one-vs-all's classifier still rises. The same runs with longer "
        "training (`python -m benchmarks.many_experts`, results in `benchmarks/results/many_experts.jsonl`; what has "
        f"one seed is provisional): OvA's team less softmax's goes {'; '.join(words)}. So a good part of what speaks "
        f"against one-vs-all in our Figure 2b is the length of training; {stays}. The paper's networks were trained "
        f"for up to 100 epochs. At our longest, {_who_is_ahead(runs, longest)}."
    )


def _who_is_ahead(runs: Sequence[Run], longest: dict[int, int]) -> str:
    """Say whose team is ahead by the interval over seeds, for each number of experts at its longest training."""
    answers: dict[str, list[int]] = {}
    for n_experts, epochs in longest.items():
        gap = gap_of(runs, n_experts, epochs)
        word = "one seed leaves open who is ahead"
        if gap.n_seeds > 1:
            word = "the interval leaves open who is ahead"
            if not gap.low <= 0 <= gap.high:
                word = "OvA's team is ahead" if gap.mean > 0 else "softmax's team is ahead"
        answers.setdefault(word, []).append(n_experts)
    return "; ".join(f"{word} with {join_numbers(numbers)} experts" for word, numbers in answers.items())


def join_numbers(numbers: Sequence[int]) -> str:
    """Write numbers as part of a sentence.

    >>> join_numbers([4]), join_numbers([4, 8, 12])
    ('4', '4, 8 and 12')
    """
    return " and ".join(filter(None, [", ".join(map(str, numbers[:-1])), str(numbers[-1])]))


def places_of(runs: Sequence[Run]) -> list[tuple[int, int]]:
    """Return the numbers of experts and of epochs that both losses have."""
    places = {
        method: {(run["n_experts"], run["settings"]["epochs"]) for run in runs if run["method"] == method}
        for method in ("ova", "softmax")
    }
    return sorted(places["ova"] & places["softmax"])


def _of(runs: Sequence[Run], method: str, n_experts: int, epochs: int) -> dict[int, Run]:
    """Return runs by seed."""
    place = (method, n_experts, epochs)
    return {run["seed"]: run for run in runs if (run["method"], run["n_experts"], run["settings"]["epochs"]) == place}


def gap_of(runs: Sequence[Run], n_experts: int, epochs: int, *, other: str = "softmax") -> Estimate:
    """Return the accuracy of OvA's team less that of another's, seed by seed, in points."""
    ova, others = (_of(runs, method, n_experts, epochs) for method in ("ova", other))
    seeds = sorted(set(ova) & set(others))
    gaps = np.array([ova[seed]["system_accuracy"] - others[seed]["system_accuracy"] for seed in seeds])
    return over_seeds(gaps, scale=PERCENT, n_settings=1)


def both_of(runs: Sequence[Run], method: str, n_experts: int, epochs: int) -> str:
    """Return the mean accuracies of the classifier and of the team; "" without runs."""
    by_seed = _of(runs, method, n_experts, epochs)
    if not by_seed:
        return ""
    means = [
        PERCENT * float(np.mean([run[name] for run in by_seed.values()]))
        for name in ("class_accuracy", "system_accuracy")
    ]
    return f"{means[0]:.2f} / {means[1]:.2f}"
