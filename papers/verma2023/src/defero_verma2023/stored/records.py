"""The authors' stored runs, measured like our own: one record for each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from defero import InputError
from defero_verma2023.experiments import Experiment
from defero_verma2023.measures.measure import expert_figures, measure
from defero_verma2023.runs.record import RunRecord
from defero_verma2023.stored.outputs import RunEntry, list_runs, read_run

NO_SEED = -1
"""Stands for the seed of runs for which the authors set none."""
NET = "the authors'"
WITH_SETS = ("sim1", "oracles", "noisy-oracles", "overlap")
"""Experiments whose figures show conformal sets."""


def stored_entries(folder: Path, experiment: Experiment) -> tuple[RunEntry, ...]:
    """Return the stored runs of an experiment that hold outputs, not answers alone."""
    runs = (entry for entry in list_runs(folder) if entry.experiment == experiment.stored)
    return tuple(entry for entry in runs if entry.has_logits or entry.method == "moe")


def stored_records(folder: Path, experiment: Experiment) -> Iterator[RunRecord]:
    """Measure the stored runs of an experiment, one after the other.

    Conformal figures are means over ten splits of the stored test items; the authors' are from one split.
    """
    for entry in stored_entries(folder, experiment):
        yield RunRecord(
            experiment=experiment.name,
            method=entry.method,
            setting=entry.setting,
            seed=NO_SEED if entry.seed is None else entry.seed,
            protocol="as_published",
            net=NET,
            measures=_measures(folder, entry, sets=experiment.name in WITH_SETS),
            seconds=0.0,
            recipe={"published": entry.published},
        )


def _measures(folder: Path, entry: RunEntry, *, sets: bool) -> dict[str, Any]:
    if entry.method == "moe":
        return weight_figures(*read_weights(folder, entry))
    return measure(read_run(folder, entry), sets=sets)


def read_weights(folder: Path, entry: RunEntry) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a stored mixture of experts: weights (n, J + 1), the model's last, answers (n, J) and labels (n,)."""
    with np.load(folder / entry.file) as stored:
        if "allocator_weights" not in stored:
            raise InputError(f"{entry.file} must hold allocator_weights, got {', '.join(stored.files)}.")
        weights, answers, labels = (stored[key] for key in ("allocator_weights", "expert_preds", "labels"))
    return weights.astype(np.float64), answers.astype(np.int64), labels.astype(np.int64)


def weight_figures(weights: np.ndarray, answers: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """Return the figures of a mixture of experts whose class outputs were not stored: no accuracy, then.

    A weight is taken for the probability that the expert is right, as the authors do.

    >>> found = weight_figures(np.array([[0.75, 0.25]]), np.array([[1]]), np.array([1]))
    >>> found["coverage"], found["ece"]
    (0.0, 0.25)
    """
    of_experts = expert_figures(np.minimum(weights[:, :-1], 1.0), answers == labels[:, None])
    return {"coverage": float(np.mean(weights.argmax(axis=1) == answers.shape[1])), **of_experts}
