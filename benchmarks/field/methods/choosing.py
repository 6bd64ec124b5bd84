"""The rule of every method that has probabilities: ask whoever has the largest P(right) minus the fee."""

import numpy as np

from benchmarks.field.method import Choice
from defero.core.checks.arrays import BoolArray, FloatArray


def choose(class_proba: FloatArray, expert_proba: FloatArray, *, fees: FloatArray, available: BoolArray) -> Choice:
    """Ask the best expert who can be asked, where that is worth more than the model's answer.

    >>> one = np.ones((1, 2), dtype=bool)
    >>> choose(np.array([[0.7, 0.3]]), np.array([[0.75, 0.9]]), fees=np.array([[0.0, 0.3]]), available=one).expert
    array([0])
    """
    rows = np.arange(len(class_proba))
    value = np.where(available, expert_proba - fees, -np.inf)
    best, model = value.argmax(axis=1), class_proba.max(axis=1)
    asks = value[rows, best] > model
    return Choice(np.where(asks, best, -1), class_proba.argmax(axis=1), np.where(asks, expert_proba[rows, best], model))
