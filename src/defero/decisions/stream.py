"""Limits on a stream: quotas by day and week, decided case by case as cases arrive, at prices that follow the load."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, by_name, names
from defero.core.checks.options import one_of, whole_number
from defero.core.errors import InputError
from defero.core.results import MODEL
from defero.core.wording import list_in_words

PERIODS = ("day", "week")
_ALL_DAY = (1.0,) * 24
_EVERY_DAY = (1.0,) * 7


@dataclass(frozen=True)
class StreamPlan:
    """Quotas of J experts, and when cases usually arrive.

    Attributes
    ----------
    expert_names : J names
    quotas : {"day": {name: most}, "week": {name: most}}
        The most questions of each expert in a period. Experts without an entry have no quota.
    hours : 24 weights
        How many cases usually arrive in each hour of a day; equally many by default. A working day from 8 to 18 has
        weights of 1 for these ten hours and 0 for the others.
    weekdays : 7 weights
        The same for the days of a week, from Monday.
    cases_per_day : float, optional
        How many cases arrive on a usual day. By default learned from the days before, and on the first day from the
        cases so far.
    ahead : float
        An expert may be ahead of the usual course of a period by this share of the quota. It bounds what a rush of
        cases can use up before its time.
    step : float, optional
        How far one question moves a price, as a share of a usual gain. By default 1 / sqrt(cases per day).

    Examples
    --------
    >>> plan = StreamPlan(("ann", "bob"), {"day": {"ann": 40}}, hours=[0] * 8 + [1] * 10 + [0] * 6)
    >>> plan.most("day").tolist()
    [40.0, inf]
    >>> plan.elapsed(datetime(2026, 11, 16, 13), "day")
    0.5
    """

    expert_names: tuple[str, ...]
    quotas: Mapping[str, Mapping[str, int]]
    hours: tuple[float, ...] = _ALL_DAY
    weekdays: tuple[float, ...] = _EVERY_DAY
    cases_per_day: float | None = None
    ahead: float = 0.1
    step: float | None = None

    def __post_init__(self) -> None:
        who = names("expert_names", self.expert_names, count=len(tuple(self.expert_names)))
        object.__setattr__(self, "expert_names", who)
        checked: dict[str, dict[str, int]] = {}
        for period, quota in dict(self.quotas).items():
            one_of("quotas", period, PERIODS)
            by_name("quotas", quota, who, default=0)
            checked[period] = {name: whole_number("quotas", most, least=0) for name, most in quota.items()}
        object.__setattr__(self, "quotas", checked)
        for name, count in (("hours", 24), ("weekdays", 7)):
            weights = tuple(float(one) for one in getattr(self, name))
            if len(weights) != count or not np.isfinite(weights).all() or min(weights) < 0 or sum(weights) <= 0:
                raise InputError(f"must be {count} weights of at least 0, not all of them 0.", argument=name)
            object.__setattr__(self, name, weights)
        for name in ("cases_per_day", "step"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise InputError(f"must be a positive number, got {value}.", argument=name)
        if not 0 <= self.ahead <= 1:
            raise InputError(f"must be a share in [0, 1], got {self.ahead}.", argument="ahead")

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.expert_names)

    def most(self, period: str) -> FloatArray:
        """Return the quota of each expert in a period, (J,); inf where there is none."""
        return np.array(by_name("quotas", self.quotas.get(period, {}), self.expert_names, default=np.inf), dtype=float)

    def elapsed(self, time: datetime, period: str) -> float:
        """Return the share of a period's cases that have usually arrived by a time."""
        hours = np.array(self.hours)
        within = (time.minute * 60 + time.second + time.microsecond / 1e6) / 3600
        of_day = float((hours[: time.hour].sum() + within * hours[time.hour]) / hours.sum())
        if period == "day":
            return of_day
        days = np.array(self.weekdays)
        return float((days[: time.weekday()].sum() + of_day * days[time.weekday()]) / days.sum())

    def cases(self, period: str, per_day: float) -> float:
        """Return how many cases a period usually has, from those of a usual day."""
        busy = max(self.weekdays)
        return per_day if period == "day" else per_day * sum(self.weekdays) / busy

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "expert_names": list(self.expert_names),
            "quotas": {period: dict(quota) for period, quota in self.quotas.items()},
            "hours": list(self.hours),
            "weekdays": list(self.weekdays),
            "cases_per_day": self.cases_per_day,
            "ahead": self.ahead,
            "step": self.step,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "StreamPlan":
        """Return the plan that `to_dict` described."""
        return cls(**values)


def period_key(time: datetime, period: str) -> str:
    """Return the name of the day or the ISO week of a time; later ones sort after earlier ones.

    >>> period_key(datetime(2026, 11, 16), "day"), period_key(datetime(2026, 11, 16), "week")
    ('2026-11-16', '2026-W47')
    """
    if period == "day":
        return time.strftime("%Y-%m-%d")
    year, week, _ = time.isocalendar()
    return f"{year:04d}-W{week:02d}"


_MEMORY = 0.3
"""Weight of the last day in the number of cases of a usual day."""
_FIRST_CASES = 100.0
"""A day has at least so many cases as long as nothing else is known."""


@dataclass(frozen=True)
class StreamState:
    """What a stream remembers between two cases: a small value that JSON can hold.

    Attributes
    ----------
    prices : J numbers
        Charged for a question beyond its fee.
    used : {"day": J counts, "week": J counts}
        Questions of the current day and week.
    current : {"day": "2026-11-16", "week": "2026-W47"}
        The current day and week; empty before the first case.
    n_cases : int
        Cases of the current day.
    cases_per_day : float, optional
        Cases of a usual day, as far as it is known.
    usual_gain : float
        Mean gain of the best expert, over the cases where it is above 0.
    n_gains : int
        How many cases that rests on.

    Examples
    --------
    >>> state = StreamState.start(StreamPlan(("ann",), {"day": {"ann": 1}}))
    >>> StreamState.from_dict(state.to_dict()) == state
    True
    """

    prices: tuple[float, ...]
    used: Mapping[str, tuple[int, ...]]
    current: Mapping[str, str] = field(default_factory=dict)
    n_cases: int = 0
    cases_per_day: float | None = None
    usual_gain: float = 0.0
    n_gains: int = 0

    @classmethod
    def start(cls, plan: StreamPlan, *, prices: ArrayLike | None = None) -> "StreamState":
        """Return the state before the first case; `prices` (J,) may come from a batch (`Assignment.prices`)."""
        first = np.zeros(plan.n_experts) if prices is None else np.maximum(np.asarray(prices, dtype=float), 0.0)
        if first.shape != (plan.n_experts,) or not np.isfinite(first).all():
            raise InputError(f"must be {plan.n_experts} finite numbers, one per expert.", argument="prices")
        none = (0,) * plan.n_experts
        return cls(tuple(first.tolist()), dict.fromkeys(PERIODS, none), cases_per_day=plan.cases_per_day)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        values = dict(vars(self))
        return {
            **values,
            "prices": list(self.prices),
            "used": {period: list(counts) for period, counts in self.used.items()},
            "current": dict(self.current),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "StreamState":
        """Return the state that `to_dict` described."""
        used = {period: tuple(int(one) for one in counts) for period, counts in values["used"].items()}
        prices = tuple(float(one) for one in values["prices"])
        return cls(**{**values, "prices": prices, "used": used, "current": dict(values["current"])})


@dataclass(frozen=True)
class StreamDecision:
    """Who answers one case of a stream.

    Attributes
    ----------
    expert : int
        -1: the model.
    name : str
        The expert's name or "model".
    gain : float
        Of asking them over the model's answer; 0 for the model.
    price : float
        Their price at that moment.
    stopped : names
        Experts who could not be asked, as their quota is used up or they are ahead of its usual course.
    """

    expert: int
    name: str
    gain: float
    price: float
    stopped: tuple[str, ...]

    @property
    def reason(self) -> str:
        """A short phrase with the numbers compared."""
        quota = f"; quota of {list_in_words(self.stopped)}" if self.stopped else ""
        if self.expert == MODEL:
            return f"model: no question is worth its price{quota}"
        return f"ask {self.name}: saves {self.gain:.3f}, price {self.price:.3f}{quota}"


def stream_step(
    plan: StreamPlan, state: StreamState, time: datetime, gain: ArrayLike
) -> tuple[StreamState, StreamDecision]:
    """Decide one case; return the state after it, and the decision. Nothing else is remembered.

    The expert with the largest gain minus price is asked, if that is above 0. A price rises with each question to the
    expert and falls with each case by their quota per case, (most - used) / cases to come, so that the quota lasts. No
    quota is ever exceeded. What a quiet morning leaves over is there in the afternoon; a rush in the morning cannot
    take more than the morning's share and `plan.ahead` of the quota.

    Parameters
    ----------
    plan : StreamPlan
    state : StreamState
        That of the case before, or `StreamState.start(plan)`.
    time : datetime
        When the case arrives, in the local time of the experts. A case that comes late counts in the current day.
    gain : (J,)
        Of asking each expert over the model's answer, fees counted; -inf where they cannot be asked. `Router.gains`
        has them.

    Examples
    --------
    >>> plan = StreamPlan(("ann",), {"day": {"ann": 1}}, ahead=1.0)
    >>> state, first = stream_step(plan, StreamState.start(plan), datetime(2026, 11, 16, 9), [0.4])
    >>> state, second = stream_step(plan, state, datetime(2026, 11, 16, 10), [0.5])
    >>> first.name, second.name, second.stopped
    ('ann', 'model', ('ann',))
    """
    gain = np.asarray(gain, dtype=np.float64)
    if gain.shape != (plan.n_experts,) or not (gain < np.inf).all():
        raise InputError(
            f"must be {plan.n_experts} numbers, -inf where an expert cannot be asked, got {gain.tolist()}.",
            argument="gain",
        )
    state = _turned(plan, state, time)
    prices = np.array(state.prices)
    stopped = _stopped(plan, state, time)
    net = np.where(stopped, -np.inf, gain - prices)
    expert = int(net.argmax()) if plan.n_experts and net.max() > 0 else MODEL
    is_asked = np.arange(plan.n_experts) == expert
    names = np.array([*plan.expert_names], dtype=object)
    decision = StreamDecision(
        expert,
        "model" if expert == MODEL else plan.expert_names[expert],
        0.0 if expert == MODEL else float(gain[expert]),
        0.0 if expert == MODEL else float(prices[expert]),
        tuple(names[stopped & (gain > prices)]),
    )
    best = float(gain.max(initial=-np.inf))
    n_gains = state.n_gains + (best > 0)
    usual = state.usual_gain + (best - state.usual_gain) / min(n_gains, 1_000) if best > 0 else state.usual_gain
    state = replace(state, n_cases=state.n_cases + 1, usual_gain=usual, n_gains=int(n_gains))
    # Large steps at first: prices are far off where nothing is known.
    size = (plan.step or 1 / np.sqrt(min(_per_day(plan, state, time), max(state.n_gains, 10)))) * usual
    moved = np.maximum(prices + size * (is_asked - _quota_per_case(plan, state, time)), 0.0)
    used = {period: tuple((np.array(counts) + is_asked).tolist()) for period, counts in state.used.items()}
    return replace(state, prices=tuple(moved.tolist()), used=used), decision


def _turned(plan: StreamPlan, state: StreamState, time: datetime) -> StreamState:
    """Return the state with new periods begun: their counts are 0, and the last day adds to what is usual."""
    for period in PERIODS:
        key = period_key(time, period)
        before = state.current.get(period, "")
        if key <= before:
            continue
        state = replace(
            state,
            current={**state.current, period: key},
            used={**state.used, period: (0,) * plan.n_experts},
        )
        if period == "day" and before:
            usual = state.cases_per_day
            seen = state.n_cases if usual is None else (1 - _MEMORY) * usual + _MEMORY * state.n_cases
            state = replace(state, n_cases=0, cases_per_day=plan.cases_per_day or seen)
    return state


def _stopped(plan: StreamPlan, state: StreamState, time: datetime) -> BoolArray:
    """Return who cannot be asked, (J,): the quota is used up, or they are ahead of its usual course."""
    stopped = np.zeros(plan.n_experts, dtype=np.bool_)
    for period in plan.quotas:
        most, used = plan.most(period), np.array(state.used[period])
        finite = np.isfinite(most)
        share = min(_elapsed(plan, state, time, period) + plan.ahead, 1.0)
        by_now = np.where(finite, np.maximum(np.floor(np.where(finite, most, 0.0) * share), 1.0), np.inf)
        stopped |= used >= np.minimum(most, by_now)
    return stopped


def _elapsed(plan: StreamPlan, state: StreamState, time: datetime, period: str) -> float:
    """Return the share of a period's cases that have usually come by now; a late case of the period before is early."""
    return 0.0 if period_key(time, period) < state.current[period] else plan.elapsed(time, period)


def _quota_per_case(plan: StreamPlan, state: StreamState, time: datetime) -> FloatArray:
    """Return how many questions are left for each case to come, (J,); at most 1."""
    left = np.ones(plan.n_experts)
    per_day = _per_day(plan, state, time)
    for period in plan.quotas:
        to_come = plan.cases(period, per_day) * (1 - _elapsed(plan, state, time, period))
        left = np.minimum(left, (plan.most(period) - np.array(state.used[period])) / max(to_come, 1.0))
    return np.maximum(left, 0.0)


def _per_day(plan: StreamPlan, state: StreamState, time: datetime) -> float:
    """Return the cases of a usual day; on the first one what the cases so far foretell."""
    if state.cases_per_day is not None:
        return max(state.cases_per_day, 1.0)
    return max(state.n_cases / max(plan.elapsed(time, "day"), 0.02), _FIRST_CASES)
