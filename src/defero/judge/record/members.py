"""The members of a team: their accuracy, what the team promised of them, and how calibrated their probabilities are."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.registry import Registry
from defero.core.trial import Trial
from defero.core.wording import Plain, number, plain
from defero.judge.calibration import expected_calibration_error
from defero.judge.intervals import Comparison, Share, clopper_pearson_interval, compare, simultaneous_level
from defero.judge.record.figures import Figure
from defero.judge.smooth import smooth_calibration_interval

Verdict = Literal["less", "more", "as promised", "too few"]
"""What became of a promise."""

FEW = 30
"""Fewer cases than this never show that a promise was kept."""


@dataclass(frozen=True)
class PromiseRecord:
    """A promise, what was kept of it, and the interval that judges it.

    The interval is Clopper and Pearson's. Where several promises are judged together it is simultaneous (Bonferroni):
    if all of them are calibrated, then in at most 5 % of all studies any promise lies outside its interval, and in at
    most 2.5 % any lies above it.

    Attributes
    ----------
    promised : float
        The mean probability of being right; nan where nothing was promised.
    kept : Share
        How many of these cases came out right.
    judged_together : int
        How many promises are judged together with this one, itself included.

    Examples
    --------
    >>> PromiseRecord(0.9, Share(88, 100)).verdict, PromiseRecord(0.9, Share(70, 100)).verdict
    ('as promised', 'less')
    >>> PromiseRecord(0.9, Share(22, 24)).verdict, PromiseRecord(0.9, Share(0, 0)).verdict
    ('too few', None)
    """

    promised: float
    kept: Share
    judged_together: int = 1

    @property
    def level(self) -> float:
        """Level of the interval."""
        return simultaneous_level(0.95, self.judged_together)

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end of what was kept; a promise outside was not kept, or more than kept."""
        return clopper_pearson_interval(self.kept.right, self.kept.total, level=self.level)

    @property
    def verdict(self) -> Verdict | None:
        """What became of the promise; None where nothing was promised or no case counts.

        "less" and "more": the promise lies above, or below, the interval. "too few": it lies inside, and there are
        fewer than `FEW` cases.
        """
        if self.kept.total == 0 or math.isnan(self.promised):
            return None
        low, high = self.interval
        if not low <= self.promised <= high:
            return "less" if self.promised > high else "more"
        return "too few" if self.kept.total < FEW else "as promised"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        low, high = self.interval
        return {
            "promised": number(self.promised),
            "kept": number(self.kept.value),
            "low": number(low),
            "high": number(high),
            "level": self.level,
            "n": self.kept.total,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class TeamPromises:
    """The promises of a team on held-out cases.

    Attributes
    ----------
    total : PromiseRecord
        Over all cases, whoever decides; judged alone.
    model : PromiseRecord
        On the cases that the model decides.
    experts : J PromiseRecords
        On the cases that each expert gets.
    all_experts : PromiseRecord
        On all deferred cases. With hundreds of experts each alone may have too few.
    """

    total: PromiseRecord
    model: PromiseRecord
    experts: tuple[PromiseRecord, ...]
    all_experts: PromiseRecord


def promised_right(trial: Trial) -> FloatArray:
    """Return the probability of being right that the team went by for each case's decider, (n,); nan for weights."""
    scores, expert_idx = trial.scores, trial.decision.expert
    if scores.link == "weight":
        return np.full(len(trial), math.nan)
    if not trial.expert_names:
        return trial.model_proba
    if trial.decision.p_right is not None:
        return trial.decision.p_right
    of_expert = scores.expert_proba[np.arange(len(trial)), np.maximum(expert_idx, 0)]
    return np.where(trial.decision.deferred, of_expert, trial.model_proba)


def team_promises(trial: Trial) -> TeamPromises:
    """Judge the promises of a trial: the total alone; the members, and all experts as one, together.

    The total is of the way that the team asks in; the members are judged on the cases that they would decide alone.
    """
    promised, expert = promised_right(trial), trial.decision.expert
    right, deferred = trial.decider_label_idx == trial.label_idx, trial.decision.deferred
    n_asked = len(np.unique(expert[deferred]))
    together = max(1, n_asked + int(not deferred.all()) + int(n_asked > 1))

    def over(cases: BoolArray, right: BoolArray, promised: FloatArray, judged_together: int) -> PromiseRecord:
        n = int(cases.sum())
        mean = float(promised[cases].mean()) if n else math.nan
        return PromiseRecord(mean, Share(int(right[cases].sum()), n), judged_together)

    way, everything = trial.way, np.ones(len(trial), dtype=np.bool_)
    total = over(everything, right, promised, 1)
    if way is not None:
        stated = np.full(len(trial), math.nan) if way.promised is None else way.promised
        total = over(everything, trial.team_correct, stated, 1)
    model, everybody = (over(cases, right, promised, together) for cases in (~deferred, deferred))
    experts = (over(expert == j, right, promised, together) for j in range(len(trial.expert_names)))
    return TeamPromises(total, model, tuple(experts), everybody)


@dataclass(frozen=True)
class Metric:
    """A figure of how well somebody's probabilities of being right are kept: of every expert and of the model.

    It is registered in `METRICS` by its key in JSON and in data frames. Text, page, JSON and frame show every metric
    that is registered there.

    Attributes
    ----------
    measure : callable
        (confidence (m,), right (m,), rng, draws) -> Figure, for m of at least 1; at most so many draws for an interval.
    column : str
        Heading in the text; "" keeps it out of text and page.
    words : lines
        What it is, below the table of the text.
    on_page : str
        Heading on the page; "" for `column`.
    interval : bool
        Whether it has one.
    """

    measure: Callable[[FloatArray, BoolArray, np.random.Generator, int], Figure]
    column: str = ""
    words: tuple[str, ...] = ()
    on_page: str = ""
    interval: bool = False


METRICS: Registry[Metric] = Registry("metric", group="defero.metrics", kind=Metric)


def shown_metrics() -> dict[str, Metric]:
    """Return the metrics that text and page show, by their key."""
    return {key: metric for key, metric in METRICS.items() if metric.column}


def _binned_error(confidence: FloatArray, right: BoolArray, rng: np.random.Generator, draws: int) -> Figure:
    return Figure(expected_calibration_error(confidence, right))


def _smooth_error(confidence: FloatArray, right: BoolArray, rng: np.random.Generator, draws: int) -> Figure:
    error = smooth_calibration_interval(confidence, right, rng=rng, n_resamples=draws)
    return Figure(error.value, error.low, error.high)


METRICS.register("calibration_error", Metric(_binned_error))
METRICS.register(
    "smooth_error",
    Metric(
        _smooth_error,
        "smooth error",
        (
            "smooth calibration error of P(right) on all cases that they answered;",
            "with few cases it is large by chance alone",
        ),
        on_page="error",
        interval=True,
    ),
)
MOST_RESAMPLES, FEWEST_RESAMPLES = 4_000, 50
"""Draws for the intervals of all experts together, and of one: a crowd of a thousand takes seconds, not minutes."""


@dataclass(frozen=True)
class MemberRecord(Plain):
    """An expert or the model: accuracy on all answers and when asked, and calibration of the estimates.

    Attributes
    ----------
    name : str
    alone : Share
        Right on every case that they answered.
    promise : PromiseRecord
        On the cases that the team gave them: the mean probability of being right that the team went by, and how often
        they were. The promise is nan where never asked, and where the team goes by weights, which promise nothing.
    team_minus_expert : Comparison
        The team (first) against this member (second), on the cases that they answered.
    training_answers : int or None
        How many of their answers were learned from; None where nobody knows.
    figures : {key: Figure}
        Of `METRICS`; nan without answers, and for weights, which are no probabilities.
    """

    HIDDEN: ClassVar[tuple[str, ...]] = ("figures",)
    MORE: ClassVar[tuple[str, ...]] = ("asked",)

    name: str
    alone: Share
    promise: PromiseRecord
    team_minus_expert: Comparison
    training_answers: int | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)

    @property
    def asked(self) -> Share:
        """Right on the cases that the team gave them."""
        return self.promise.kept

    @property
    def promised(self) -> float:
        """The mean probability of being right on those cases."""
        return self.promise.promised

    def frame_row(self, n_items: int) -> dict[str, float]:
        """Return what a data frame has of this member beside the accuracy."""
        return {"decides": self.asked.total / n_items, "right_there": self.asked.value, **self.metrics}

    @property
    def metrics(self) -> dict[str, float]:
        """Values and ends of the intervals of all figures, by key."""
        values: dict[str, float] = {}
        for key, one in self.figures.items():
            ends = {f"{key}_low": one.low, f"{key}_high": one.high} if METRICS[key].interval else {}
            values |= {key: one.value, **ends}
        return values

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return super().to_dict() | plain(self.metrics)


def member_records(
    trial: Trial, promises: TeamPromises, training_answers: Sequence[int] | None = None, *, rng: np.random.Generator
) -> tuple[MemberRecord, ...]:
    """Judge every expert of a trial and, last, the model; `promises` are those of `team_promises`."""
    n_experts, everything = len(trial.expert_names), np.ones((len(trial), 1), dtype=np.bool_)
    proba = np.column_stack([trial.scores.expert_proba, trial.model_proba])
    right = np.column_stack([trial.expert_correct, trial.model_correct])
    rows = [np.flatnonzero(column) for column in np.hstack([trial.observed, everything]).T]
    draws = [max(FEWEST_RESAMPLES, min(200, MOST_RESAMPLES // max(1, n_experts)))] * n_experts + [200]
    silent = trial.scores.link == "weight"
    figures = {
        key: [
            Figure(math.nan)
            if silent or not len(some)
            else metric.measure(proba[some, j], right[some, j], rng, draws[j])
            for j, some in enumerate(rows)
        ]
        for key, metric in METRICS.items()
    }
    counts = [None] * n_experts if training_answers is None else [int(count) for count in training_answers]
    return tuple(
        MemberRecord(
            name,
            Share(int(right[some, j].sum()), len(some)),
            promise,
            compare(trial.team_correct[some], right[some, j]),
            count,
            {key: of_members[j] for key, of_members in figures.items()},
        )
        for j, (name, some, promise, count) in enumerate(
            zip((*trial.expert_names, "model"), rows, (*promises.experts, promises.model), (*counts, None), strict=True)
        )
    )
