"""Trial: what a method did on one split, as a line of JSON."""

import time
from typing import Any

import numpy as np

from benchmarks.field.method import Choice, Entry, Heard, as_choice
from benchmarks.field.problem import Problem
from benchmarks.tables.trial import Line
from defero import InputError
from defero.core.checks.arrays import BoolArray, FloatArray

FEES = (0.01, 0.05, 0.2)
"""Of a question of the mean price, in units of one error."""


def run_trial(name: str, entry: Entry, problem: Problem) -> Line:
    """Fit on the training part, decide the test part without fees and with three; CPU seconds of this process."""
    method = entry.make(problem.seed)
    train, test = problem.train, problem.test
    began = time.process_time()
    method.fit(problem.features, train.label_idx, train.answer_idx)
    fitted = time.process_time()
    line: Line = {
        "set": name,
        "system": entry.name,
        "split": problem.seed,
        "n_train": len(train),
        "n_test": len(test),
        "n_experts": train.n_experts,
    }
    right, heard, promise = answered(entry.name, method, problem, np.zeros(problem.price.shape))
    line |= {
        "accuracy": _mean(right),
        "questions": _mean(heard.sum(axis=1)),
        "promised": None if promise is None else _mean(promise),
    }
    for fee in FEES:
        paid = fee * problem.price
        right, heard, _ = answered(entry.name, method, problem, paid)
        line[f"cost_{fee}"] = _mean(1.0 - right + (paid * heard).sum(axis=1))
        line[f"questions_{fee}"] = _mean(heard.sum(axis=1))
    line["fit_s"] = round(getattr(method, "fit_seconds", fitted - began), 2)
    line["decide_s"] = round(time.process_time() - fitted, 2)
    return line


def answered(
    name: str, method: Any, problem: Problem, fees: FloatArray
) -> tuple[BoolArray, BoolArray, FloatArray | None]:
    """Return whether the method was right (n,), whom it heard (n, J), and what it promised (n,)."""
    test = problem.test
    if hasattr(method, "decide"):
        given = method.decide(problem.test_features, fees=fees, available=test.observed)
        choice: Choice = as_choice(given, name=name, available=test.observed)
        rows, asked = np.arange(len(test)), choice.expert >= 0
        heard = np.zeros(test.answer_idx.shape, dtype=bool)
        heard[rows[asked], choice.expert[asked]] = True
        label = np.where(asked, test.answer_idx[rows, np.maximum(choice.expert, 0)], choice.label)
        return label == test.label_idx, heard, choice.p_right
    several: Heard = method.answer(problem.test_features, test.answer_idx, fees=fees)
    if several.heard.shape != test.observed.shape or (several.heard & ~test.observed).any():
        raise InputError(f"{name}: heard must be (n, J), and only of experts who answered.")
    return several.label == test.label_idx, several.heard, several.p_right


def _mean(values: Any) -> float:
    return round(float(np.mean(values)), 5)
