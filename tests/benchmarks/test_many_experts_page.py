"""The page on many experts: the default's team beside the best other one."""

from benchmarks.many_experts.page import TABLE_EPOCHS, page


def record(method: str, seed: int, system: float, *, n_experts: int = 4) -> dict[str, object]:
    return {
        "method": method,
        "n_experts": n_experts,
        "seed": seed,
        "class_accuracy": 0.9,
        "system_accuracy": 0.5,
        "calibrated.system_accuracy": system,
        "ece": 0.01,
        "calibrated.ece": 0.01,
        "wall_seconds": 10.0,
        "settings": {"epochs": TABLE_EPOCHS},
    }


def test_the_default_is_set_beside_the_most_accurate_other_team() -> None:
    records = [
        *(record("classifier", seed, 0.9, n_experts=0) for seed in (0, 1)),
        *(record("heads", seed, system) for seed, system in enumerate((0.94, 0.95))),
        *(record("ova", seed, system) for seed, system in enumerate((0.93, 0.96))),
        *(record("softmax", seed, 0.90) for seed in (0, 1)),
        record("picce", 0, 0.99),  # one seed: no interval
        record("ova", 0, 0.93, n_experts=8),  # the default has not run
    ]
    # Differences of +1 and -1 points: mean 0, and half the interval is 12.7 standard errors of 1 point.
    assert "| 4 | ova | 94.50 | +0.00 ± 12.71 | 2 |" in page(records)
    assert "| 8 |" not in page(records).partition("## Longer")[0]
