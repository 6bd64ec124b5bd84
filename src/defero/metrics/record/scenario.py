"""The team on the same cases under other circumstances: somebody absent, other fees."""

from dataclasses import dataclass

import numpy as np

from defero.core.trials.trial import Way


@dataclass(frozen=True)
class Scenario:
    """The team under other circumstances.

    Attributes
    ----------
    words : str
    accuracy, questions, spent, errors : float
        Means over the cases.
    """

    words: str
    accuracy: float
    questions: float
    spent: float
    errors: float

    @property
    def total(self) -> float:
        """Fees and errors per case."""
        return self.spent + self.errors

    @classmethod
    def of(cls, words: str, way: Way) -> "Scenario":
        """Return the means of a way."""
        assert way.errors is not None
        means = (float(np.mean(one)) for one in (way.right, way.questions, way.fees, way.errors))
        return cls(words, *means)
