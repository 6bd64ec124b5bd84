"""From a raw score to log-odds, what every map of an expert can do, and the map that changes nothing."""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Protocol

import numpy as np

from defero.core.checks.arrays import FloatArray
from defero.core.codec import Count
from defero.core.errors import InputError
from defero.core.registry import Registry
from defero.core.scores import Link

LINEAR_TO = 20.0
"""Log-odds up to here stay as they are; sigmoid(-20) is 2e-9."""
CORNER = 0.02
"""How far sigmoid(log_odds(z, "log")) may stay below min(1, exp(z)), which has a corner at z = 0."""
SHARP_CORNER = 1e-6
"""The same where a score is only passed on: no two scores become equal, and none moves by more than this."""
_LARGEST_EXPONENT = 680.0  # exp(709.8) is the last finite one, and it is divided by twice a corner


def log_odds(raw: FloatArray, link: Link, *, corner: float = CORNER) -> FloatArray:
    """Return u(raw), increasing in raw, with sigmoid(u) what the raw score claims as a probability.

    Link "logit": u = z, compressed beyond +-20. Link "log", where z is a log-probability that may pass 0:
    the odds of exp(z) are exp(z) / (1 - exp(z)), whose denominator is not positive for z >= 0. It is replaced by
    the smooth positive h(t) = t / 2 + sqrt(t^2 / 4 + eps^2) of t = 1 - exp(z), so that

        u(z) = z - log h(1 - exp(z)) = z - log eps + arcsinh((exp(z) - 1) / (2 eps)),  eps = corner.

    Both terms increase, hence u does: u = z - eps^2 far below 0, -log eps at 0, 2 z - 2 log eps far above.
    As h(t) lies between max(t, 0) and max(t, 0) + eps, sigmoid(u) lies within eps below min(1, exp(z)).

    Parameters
    ----------
    raw : (n, J)
    link : "logit" or "log"
    corner : float
        How far sigmoid(u) may stay below min(1, exp(z)) for link "log".

    >>> log_odds(np.array([[-3.0, 3.0]]), "logit").tolist()
    [[-3.0, 3.0]]
    >>> from defero.core.scores import sigmoid
    >>> np.round(sigmoid(log_odds(np.log([[0.25, 0.75, 1.0, 2.0]]), "log")), 2).tolist()
    [[0.25, 0.75, 0.98, 1.0]]
    """
    if link == "weight":
        raise InputError("a mixture of experts' weights are no probabilities and cannot be calibrated.")
    if link == "logit":
        return compress(raw)
    excess = np.expm1(np.minimum(raw, _LARGEST_EXPONENT))
    return compress(raw - math.log(corner) + np.arcsinh(excess / (2 * corner)))


def compress(logits: FloatArray) -> FloatArray:
    """Return logits as they are up to +-20, and growing like a logarithm beyond: +-1e4 becomes +-29.2.

    Log loss grows with the logit: one wrong answer at 1e4 would outweigh thousands of others. The map is increasing
    and has a continuous slope, so that no order changes, and moves no probability by more than 3e-9.

    >>> np.round(compress(np.array([-1e4, 5.0, 20.0, 1e4])), 1).tolist()
    [-29.2, 5.0, 20.0, 29.2]
    """
    size = np.abs(logits)
    if size.max(initial=0.0) <= LINEAR_TO:
        return logits
    beyond = np.maximum(size - LINEAR_TO, 0.0)
    return np.copysign(np.minimum(size, LINEAR_TO) + np.log1p(beyond), logits)


Method = Literal["auto", "platt", "isotonic", "none"]


class ExpertMaps(Protocol):
    """From the raw scores of J experts to log-odds that they are right; increasing within each expert."""

    kind: ClassVar[str]

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


@dataclass(frozen=True)
class Untouched:
    """The identity: sigmoid(raw) for link "logit", min(1, exp(raw)) within 1e-6 for link "log".

    Those 1e-6 keep estimates above 1 apart, so that the best of several experts stays the best.

    >>> from defero.core.scores import sigmoid
    >>> sigmoid(Untouched("log", 1).logits(np.log([[0.25], [0.999], [1.5]]))).round(5).tolist()
    [[0.25], [0.999], [1.0]]
    """

    link: Link
    n_experts: Count
    kind: ClassVar[str] = "none"

    def __post_init__(self) -> None:
        checked_link(self.link)
        if self.n_experts < 0:
            raise InputError(f"must not be negative, got {self.n_experts}.", argument="n_experts")

    @property
    def methods(self) -> tuple[str, ...]:
        """Nothing, J times."""
        return (self.kind,) * self.n_experts

    def logits(self, expert_raw: FloatArray) -> FloatArray:
        """Return the log-odds that the raw scores claim, (n, J)."""
        return expert_raw if self.link == "logit" else log_odds(expert_raw, self.link, corner=SHARP_CORNER)

    def take(self, experts: tuple[int, ...]) -> "Untouched":
        """Return the identity for some experts."""
        return Untouched(self.link, len(experts))

    def with_newcomer(self) -> "Untouched":
        """Return the identity for one more."""
        return Untouched(self.link, self.n_experts + 1)


MAPS: Registry[type[ExpertMaps]] = Registry("method")
AnyMaps = Annotated[ExpertMaps, MAPS]
MAPS.register(Untouched.kind, Untouched)


def checked_link(link: object) -> None:
    """Raise unless raw scores of this link can be recalibrated."""
    if link == "weight":
        raise InputError("a mixture of experts' weights are no probabilities and cannot be calibrated.")
    if link not in ("logit", "log"):
        raise InputError(f"must be 'logit' or 'log', got {link!r}.", argument="link")
