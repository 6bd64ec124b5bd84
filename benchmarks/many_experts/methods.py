"""The methods: a loss, and what classes and experts share."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """A row of the table.

    Attributes
    ----------
    name : str
    loss : str
        A name in `LOSSES`.
    branches : "one", "heads" or "two"
    experts : bool
        False for one classifier alone.
    probabilities : bool
        Does the link read calibrated probabilities of the experts?
    """

    name: str
    loss: str
    branches: str = "one"
    experts: bool = True
    probabilities: bool = True


METHODS = {
    method.name: method
    for method in (
        Method("classifier", "decoupled", experts=False, probabilities=False),
        Method("heads", "decoupled", "heads"),
        Method("decoupled", "decoupled"),
        Method("averaged", "averaged"),
        Method("ova", "ova"),
        Method("softmax", "softmax"),
        Method("picce", "picce", probabilities=False),
        Method("realizable", "realizable", probabilities=False),
        Method("two-trunks", "decoupled", "two"),
    )
}
