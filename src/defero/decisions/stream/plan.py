"""StreamPlan: how many questions each expert may get in a day and in a week, and when cases usually arrive."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from defero.core.checks.arrays import FloatArray, by_name, names
from defero.core.checks.options import one_of, whole_number
from defero.core.errors import InputError

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
