"""Trial: what one system did on one split; made by running it, or read from the ledger."""

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from benchmarks.people.fold import Fold
from benchmarks.people.system import System
from defero import InputError
from defero.core.checks.arrays import BoolArray
from defero.core.labels import Labels
from defero.judge import smooth_calibration_error


@dataclass(frozen=True)
class Trial:
    """A system on the test part of one split.

    Attributes
    ----------
    crowd, system : str
        Names.
    split : int
        The seed of the split and of whatever the system draws.
    n_train, n_test : int
    accuracy : float
        Share of the test items that came out right.
    questions : float
        Experts heard per item.
    asked : float
        Share of items on which anybody was heard.
    promised, kept : float
        Of these items: the mean P(the label is right), and how often it was; nan where nothing is promised.
    smooth_error : float
        The smooth calibration error of these promises.
    seconds : float
        CPU seconds to learn and to answer.
    strata : {"race: black": figures}
        Of each category: n, accuracy, asked, and for two classes false_alarms and missed (shares of the cases of the
        first class that were called the second, and the reverse).
    promised_total : float
        Of all items, also those that the model answered: the mean P(the label is right), beside which `accuracy` is
        what was kept; nan where nothing is promised.
    """

    crowd: str
    system: str
    split: int
    n_train: int
    n_test: int
    accuracy: float
    questions: float
    asked: float
    promised: float
    kept: float
    smooth_error: float
    seconds: float
    strata: dict[str, dict[str, float]] = field(default_factory=dict)
    promised_total: float = math.nan


def run_trial(
    crowd: str, system: System, fold: Fold, labels: Labels, strata: Mapping[str, Labels] | None = None
) -> Trial:
    """Run a system on a fold and judge it by the labels, and within each category of the strata."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of silent experts, absent ones and slow convergence, on every split
        answer = system.run(fold)
    seconds = time.process_time() - started
    if answer.heard.shape != fold.observed.shape:
        raise InputError(f"{system.name}: heard must have the shape {fold.observed.shape}, got {answer.heard.shape}.")
    if (answer.heard & ~fold.observed).any():
        raise InputError(f"{system.name}: it heard an expert whose answer is not recorded.")
    right, asked = answer.label == labels, answer.heard.any(axis=1)
    promised = kept = error = math.nan
    if system.promises and asked.any():
        promised, kept = float(answer.confidence[asked].mean()), float(right[asked].mean())
        error = smooth_calibration_error(answer.confidence[asked], right[asked])
    return Trial(
        crowd=crowd,
        system=system.name,
        split=fold.seed,
        n_train=len(fold.train),
        n_test=len(fold),
        accuracy=float(np.mean(right)),
        questions=float(answer.heard.sum(axis=1).mean()),
        asked=float(asked.mean()),
        promised=promised,
        kept=kept,
        smooth_error=error,
        seconds=seconds,
        strata={
            f"{name}: {value}": _figures(labels, answer.label, np.asarray(asked), values == value, fold.train.classes)
            for name, values in (strata or {}).items()
            for value in sorted(set(values.tolist()))
        },
        promised_total=float(answer.confidence.mean()) if system.promises else math.nan,
    )


def _figures(labels: Labels, said: Labels, asked: BoolArray, rows: BoolArray, classes: Labels) -> dict[str, float]:
    """Return the figures of some rows."""
    right = said[rows] == labels[rows]
    figures = {"n": float(rows.sum()), "accuracy": float(right.mean()), "asked": float(asked[rows].mean())}
    if len(classes) == 2:
        for name, own in zip(("false_alarms", "missed"), classes, strict=True):
            of_class = labels[rows] == own
            figures[name] = float((~right[of_class]).mean()) if of_class.any() else math.nan
    return figures
