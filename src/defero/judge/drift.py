"""Drift: an alarm once somebody is right more or less often than promised, and the promise that holds after it.

Promised q, right r in {0, 1}. For a shift d of the log-odds, `E = P(r | shifted q) / P(r | q)` is an e-value: its mean
is 1 while the promise is kept, whatever the promises are, as long as each is made before its outcome is seen. The
Shiryaev-Roberts form `M <- (1 + M) E` makes a detector of it: M minus the number of outcomes is a martingale, so that
an alarm at `M >= A` comes after at least `A - M_0` outcomes on average (Shin, Ramdas and Rinaldo 2023, e-detectors).
A weighted mean of several M has the same property: that is how shifts of several sizes and both directions share one
threshold. `M_0 > 0` gives up a part of that time for a shorter delay in the first outcomes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

SHIFTS = (-1.6, -0.8, -0.45, 0.45, 0.8, 1.6)
"""Changes of the log-odds that are looked for; 10 points from .7, .8, .9 are .44, .54 and .81."""
WEIGHTS = (0.05, 0.225, 0.225, 0.225, 0.225, 0.05)
START = 100.0
"""M_0, as if a hundred outcomes had brought no news."""
THRESHOLD = 5_200.0 + START
"""Of the weighted mean: at least 5,200 outcomes to a false alarm, on average."""
PRIOR_OUTCOMES = 40.0
"""How many outcomes as promised stand for "no change" when a change is estimated."""
_LARGEST = 13.8
"""Of log-odds: promises are at most 1 - 1e-6, so that one outcome never says everything."""

_MOST_EVIDENCE = 1e12
"""Far beyond the threshold; an alarm that nobody acts on grows no further."""


@dataclass(frozen=True)
class Suspect:
    """One shift that is looked for, and what was seen since it may have begun.

    Attributes
    ----------
    evidence : float
        M of the detector.
    excess : float
        Largest log of a product of e-values that ends now (CUSUM); 0 where it begins anew.
    n, n_right : int
        Outcomes since then, and how many were right.
    promised : float
        Sum of the promises of these.
    shift, precision : float
        Estimate of the shift from these, and its precision.
    """

    evidence: float = START
    excess: float = 0.0
    n: int = 0
    n_right: int = 0
    promised: float = 0.0
    shift: float = 0.0
    precision: float = 0.0


@dataclass(frozen=True)
class Alarm:
    """A promise that is not kept.

    Attributes
    ----------
    n : int
        Outcomes since the change, by the best guess when it began.
    promised, kept : float
        Mean promise, and share that was right, of these.
    shift : float
        Change of the log-odds that the promise needs.
    """

    n: int
    promised: float
    kept: float
    shift: float


@dataclass(frozen=True)
class Watch:
    """What is known of how somebody keeps their promises.

    Attributes
    ----------
    suspects : one for each of `SHIFTS`
    correction : float
        Added to the log-odds of the model's promise.
    precision : float
        Of the correction while it is in use; 0: none is.
    n : int
        Outcomes so far.

    Examples
    --------
    >>> watch = Watch()
    >>> while alarm_of(watch) is None:
    ...     watch = after_outcome(watch, 0.9, right=False)
    >>> watch.n, round(alarm_of(watch).promised, 3), alarm_of(watch).kept
    (6, 0.9, 0.0)
    >>> corrected = corrected_watch(watch)
    >>> round(promise(corrected, 0.9), 2)
    0.72
    """

    suspects: tuple[Suspect, ...] = (Suspect(),) * len(SHIFTS)
    correction: float = 0.0
    precision: float = 0.0
    n: int = 0

    @property
    def evidence(self) -> float:
        """The weighted mean of the detectors; an alarm at `THRESHOLD`."""
        return sum(weight * one.evidence for weight, one in zip(WEIGHTS, self.suspects, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**vars(self), "suspects": [list(vars(one).values()) for one in self.suspects]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Watch":
        """Rebuild what `to_dict` gave."""
        return cls(**{**values, "suspects": tuple(Suspect(*one) for one in values["suspects"])})


def promise(watch: Watch, proba: float) -> float:
    """Return the promise for a probability of the model: corrected, if a correction is in use."""
    return _sigmoid(_logit(proba) + watch.correction)


def after_outcome(watch: Watch, proba: float, *, right: bool, included: float = 0.0) -> Watch:
    """Return a watch after one more outcome.

    Parameters
    ----------
    watch : Watch
    proba : float
        What was promised.
    right : bool
    included : float
        The correction that was in it then; the outcome is judged by the correction of now.
    """
    log_odds = _logit(proba) - included + watch.correction
    promised = _sigmoid(log_odds)
    suspects = tuple(
        _seen(one, shift, log_odds, promised, right) for one, shift in zip(watch.suspects, SHIFTS, strict=True)
    )
    correction, precision = watch.correction, watch.precision
    if precision > 0:  # the correction learns from every outcome
        precision += promised * (1 - promised)
        correction += (right - promised) / precision
        suspects = tuple(replace(one, shift=one.shift + watch.correction - correction) for one in suspects)
    return Watch(suspects, correction, precision, watch.n + 1)


def _seen(suspect: Suspect, shift: float, log_odds: float, promised: float, right: bool) -> Suspect:
    shifted = _sigmoid(log_odds + shift)
    ratio = shifted / promised if right else (1 - shifted) / (1 - promised)
    excess = suspect.excess + math.log(ratio)
    evidence = min((1 + suspect.evidence) * ratio, _MOST_EVIDENCE)
    if excess <= 0:  # a change begins after this outcome, if at all
        return Suspect(evidence)
    guess = _sigmoid(log_odds + suspect.shift)
    prior = suspect.precision if suspect.n else PRIOR_OUTCOMES * promised * (1 - promised)
    precision = prior + guess * (1 - guess)
    return Suspect(
        evidence,
        excess,
        suspect.n + 1,
        suspect.n_right + right,
        suspect.promised + promised,
        suspect.shift + (right - guess) / precision,
        precision,
    )


def alarm_of(watch: Watch) -> Alarm | None:
    """Return what is wrong, if the evidence has reached the threshold."""
    if watch.evidence < THRESHOLD:
        return None
    likely = _likely(watch)
    return Alarm(likely.n, likely.promised / likely.n, likely.n_right / likely.n, watch.correction + likely.shift)


def corrected_watch(watch: Watch) -> Watch:
    """Return a watch that begins anew with the promise of the outcomes since the change."""
    likely = _likely(watch)
    return Watch(correction=watch.correction + likely.shift, precision=likely.precision, n=watch.n)


def restarted_watch(watch: Watch) -> Watch:
    """Return a watch that begins anew with the same promise."""
    return Watch(correction=watch.correction, precision=watch.precision, n=watch.n)


def without_correction(watch: Watch) -> Watch:
    """Return a watch that begins anew with the model's own promise."""
    return Watch(n=watch.n)


def _likely(watch: Watch) -> Suspect:
    return max(watch.suspects, key=lambda one: one.excess)


def _logit(proba: float) -> float:
    if proba <= 0 or proba >= 1:
        return -_LARGEST if proba <= 0 else _LARGEST
    return min(_LARGEST, max(-_LARGEST, math.log(proba) - math.log1p(-proba)))


def _sigmoid(log_odds: float) -> float:
    small = math.exp(-abs(log_odds))
    return (1.0 if log_odds >= 0 else small) / (1.0 + small)
