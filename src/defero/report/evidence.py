"""How well the experts are known: what a model says of its own doubt."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Evidence:
    """What stands behind the experts' probabilities.

    Attributes
    ----------
    expert_sd : J numbers
        The standard deviation of P(expert j is right), mean over the cases; nan where nobody knows.
    min_answers : int
        An expert with fewer answers to learn from is not asked alone.
    """

    expert_sd: tuple[float, ...]
    min_answers: int
