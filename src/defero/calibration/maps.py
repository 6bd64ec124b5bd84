"""What every way to recalibrate the experts can do, and the one that changes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from defero.calibration.log_odds import SHARP_CORNER, log_odds
from defero.core.checks import FloatArray
from defero.core.errors import InputError
from defero.core.scores import Link

Method = Literal["auto", "platt", "isotonic", "none"]


class ExpertMaps(Protocol):
    """From the raw scores of J experts to log-odds that they are right; increasing within each expert."""

    @property
    def link(self) -> Link:
        """What the raw scores are that these maps take."""
        ...

    @property
    def n_experts(self) -> int:
        """J."""
        ...

    @property
    def methods(self) -> tuple[str, ...]:
        """How each of the J experts is recalibrated."""
        ...

    def logits(self, expert_raw: FloatArray) -> FloatArray:
        """Return the calibrated log-odds, (n, J), all finite."""
        ...

    def take(self, experts: tuple[int, ...]) -> "ExpertMaps":
        """Return the maps of some experts, in this order."""
        ...

    def settings(self) -> dict[str, Any]:
        """Return what model.json keeps."""
        ...


@dataclass(frozen=True)
class Untouched:
    """The identity: sigmoid(raw) for link "logit", min(1, exp(raw)) within 1e-6 for link "log".

    Those 1e-6 keep estimates above 1 apart, so that the best of several experts stays the best.

    >>> from defero.core.scores import sigmoid
    >>> sigmoid(Untouched("log", 1).logits(np.log([[0.25], [0.999], [1.5]]))).round(5).tolist()
    [[0.25], [0.999], [1.0]]
    """

    link: Link
    n_experts: int
    method: ClassVar[str] = "none"

    def __post_init__(self) -> None:
        checked_link(self.link)
        if self.n_experts < 0:
            raise InputError(f"n_experts must not be negative, got {self.n_experts}.")

    @property
    def methods(self) -> tuple[str, ...]:
        """Nothing, J times."""
        return (self.method,) * self.n_experts

    def logits(self, expert_raw: FloatArray) -> FloatArray:
        """Return the log-odds that the raw scores claim, (n, J)."""
        return expert_raw if self.link == "logit" else log_odds(expert_raw, self.link, corner=SHARP_CORNER)

    def take(self, experts: tuple[int, ...]) -> "Untouched":
        """Return the identity for some experts."""
        return Untouched(self.link, len(experts))

    def with_newcomer(self) -> "Untouched":
        """Return the identity for one more."""
        return Untouched(self.link, self.n_experts + 1)

    def settings(self) -> dict[str, Any]:
        """Return what model.json keeps."""
        return {"method": self.method, "link": self.link, "n_experts": self.n_experts}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "Untouched":
        """Return the maps that `settings()` described."""
        return cls(settings["link"], int(settings["n_experts"]))


def checked_link(link: object) -> None:
    """Raise unless raw scores of this link can be recalibrated."""
    if link == "weight":
        raise InputError("a mixture of experts' weights are no probabilities and cannot be calibrated.")
    if link not in ("logit", "log"):
        raise InputError(f"link must be 'logit' or 'log', got {link!r}.")
