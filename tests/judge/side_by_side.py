"""Many watches at once, for studies: the arrays (runs, shifts) of `defero.judge.drift`."""

from dataclasses import dataclass

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.scores import logit, sigmoid
from defero.judge.drift import PRIOR_OUTCOMES, SHIFTS, START, THRESHOLD, WEIGHTS


@dataclass
class Watches:
    """R watches side by side; arrays (R, S) by shift, (R,) else. `after` changes them in place.

    Examples
    --------
    >>> watches = Watches.begin(2)
    >>> for _ in range(7):
    ...     watches.after(np.array([0.9, 0.9]), right=np.array([False, True]))
    >>> watches.alarms().tolist()
    [True, False]
    """

    evidence: FloatArray
    excess: FloatArray
    shift: FloatArray
    shift_precision: FloatArray
    correction: FloatArray
    precision: FloatArray
    n: IntArray

    @classmethod
    def begin(cls, n_runs: int) -> "Watches":
        """Return watches that have seen nothing."""
        shape = (n_runs, len(SHIFTS))
        return cls(
            np.full(shape, START),
            np.zeros(shape),
            np.zeros(shape),
            np.zeros(shape),
            np.zeros(n_runs),
            np.zeros(n_runs),
            np.zeros(n_runs, dtype=np.int64),
        )

    def after(self, proba: FloatArray, *, right: BoolArray) -> None:
        """Take one more outcome of each run: the model's P(right) (R,), and whether it was (R,)."""
        log_odds = logit(proba) + self.correction
        promised = sigmoid(log_odds)
        shifted = sigmoid(log_odds[:, None] + np.array(SHIFTS))
        ratio = np.where(right[:, None], shifted / promised[:, None], (1 - shifted) / (1 - promised[:, None]))
        self.evidence = (1 + self.evidence) * ratio
        self.excess = np.maximum(self.excess + np.log(ratio), 0.0)
        guess = sigmoid(log_odds[:, None] + self.shift)
        spread = (promised * (1 - promised))[:, None]
        prior = np.where(self.shift_precision > 0, self.shift_precision, PRIOR_OUTCOMES * spread)
        precision = prior + guess * (1 - guess)
        shift = self.shift + (right[:, None] - guess) / precision
        anew = self.excess <= 0
        self.shift = np.where(anew, 0.0, shift)
        self.shift_precision = np.where(anew, 0.0, precision)
        self._learn(promised, right)
        self.n = self.n + 1

    def _learn(self, promised: FloatArray, right: BoolArray) -> None:
        in_use = self.precision > 0
        precision = self.precision + in_use * promised * (1 - promised)
        step = in_use * (right - promised) / np.where(in_use, precision, 1.0)
        self.precision, self.correction, self.shift = precision, self.correction + step, self.shift - step[:, None]

    def alarms(self) -> BoolArray:
        """Return which runs have an alarm, (R,)."""
        return np.asarray(self.evidence @ np.array(WEIGHTS) >= THRESHOLD)

    def correct(self, which: BoolArray) -> None:
        """Correct the promise of some runs by the outcomes since the change, and begin these anew."""
        likely = self.excess.argmax(axis=1)
        rows = np.arange(len(likely))
        self.correction = np.where(which, self.correction + self.shift[rows, likely], self.correction)
        self.precision = np.where(which, self.shift_precision[rows, likely], self.precision)
        for array, value in (
            (self.evidence, START),
            (self.excess, 0.0),
            (self.shift, 0.0),
            (self.shift_precision, 0.0),
        ):
            array[which] = value
