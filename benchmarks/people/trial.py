"""Trial: what one system did on one split; made by running it, or read from the ledger."""

import math
import time
import warnings
from dataclasses import dataclass

import numpy as np

from benchmarks.people.fold import Fold
from benchmarks.people.system import System
from defero import InputError
from defero.core.labels import Labels
from defero.metrics import smooth_calibration_error


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


def run_trial(crowd: str, system: System, fold: Fold, labels: Labels) -> Trial:
    """Run a system on a fold and judge it by the labels."""
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
    )
