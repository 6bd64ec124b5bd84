"""HAM10000 with longer training: the paper's methods by the number of epochs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from defero_verma2023.methods import ONE_CLASSIFIER, TWO_LOSSES
from defero_verma2023.page.longer_training import Run, both_of, gap_of, join_numbers, places_of
from defero_verma2023.runs.record import read_records

NET = "efficientnet-lite0"
MEASURES = ("class_accuracy", "system_accuracy")
HEADER = ("experts", "epochs", "OvA, %", "softmax, %", "mixture, %", "team, OvA less softmax", "less mixture")


def read_longer_ham(results: Path) -> tuple[Run, ...]:
    """Read the runs of all lengths that are kept in a folder."""
    files = sorted(results.glob("ham10000.jsonl")) + sorted(results.glob("ham10000_*-epochs.jsonl"))
    return tuple(
        {
            "method": record.method,
            "n_experts": int(record.setting),
            "seed": record.seed,
            "settings": {"epochs": record.recipe["epochs"]},
            **{name: record.measures[name] for name in MEASURES},
        }
        for file in files
        for record in read_records(file)
        if record.net == NET and record.protocol == "as_published"
    )


def longer_ham_rows(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each length of the numbers of experts that have several."""
    for n_experts, epochs in _compared(runs):
        cells = (both_of(runs, method, n_experts, epochs) for method in (*TWO_LOSSES, "moe"))
        mixture = (
            gap_of(runs, n_experts, epochs, other="moe").words() if both_of(runs, "moe", n_experts, epochs) else ""
        )
        yield (str(n_experts), str(epochs), *cells, gap_of(runs, n_experts, epochs).words(), mixture)


def longer_ham_in_words(runs: Sequence[Run]) -> str:
    """Say what the table shows, and what one classifier reaches."""
    lengths = sorted({epochs for _, epochs in _compared(runs)})
    if not lengths:
        return "No runs of other lengths are there yet."
    alone = {epochs: both_of(runs, ONE_CLASSIFIER, 0, epochs).partition(" / ")[0] for epochs in lengths}
    known = ", ".join(f"{accuracy} % after {epochs} epochs" for epochs, accuracy in alone.items() if accuracy)
    return (
        f"Our runs of Figure 1 on HAM10000 have {lengths[0]} epochs; some were made with {join_numbers(lengths[1:])} "
        "as well (`python -m benchmarks.long_training`). Each cell has the classifier and the team; differences are "
        f"paired by seed, in points.{f' One classifier reaches {known}.' if known else ''} The verdicts rest on the "
        "shorter runs, which have all settings."
    )


def _compared(runs: Sequence[Run]) -> list[tuple[int, int]]:
    places = places_of(runs)
    several = {n for n, _ in places if sum(n == other for other, _ in places) > 1}
    return [place for place in places if place[0] in several]
