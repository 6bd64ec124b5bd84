"""For each figure: is our best system at or above the best published one, and if not, what stands in the way?"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from defero_verma2023.claims.cells import over_seeds
from defero_verma2023.claims.verdict import Estimate
from defero_verma2023.figures.curves import value_of
from defero_verma2023.figures.figure import PaperFigure
from defero_verma2023.figures.published import PublishedPoint
from defero_verma2023.methods import BEST_EXPERT, ONE_CLASSIFIER, root_of
from defero_verma2023.runs.record import RunRecord

ACCURACY = "system_accuracy"
PERCENT = 100.0
VOTES = {
    "top_expert": "the top expert",
    "top5": "majority of the top five",
    "naive_as_run": "majority of the naive set, as run",
    "naive": "majority of the naive set",
    "regularized": "majority of the regularized set",
    "any_correct_majority": "majority of the any-correct set",
    "any_correct_bayes": "Bayes vote of the any-correct set",
    "missed_share_majority": "majority of the missed-share set",
    "missed_share_bayes": "Bayes vote of the missed-share set",
}
"""Who is heard on deferred items."""


def system_name(method: str, metric: str) -> str:
    """Say who decides.

    >>> system_name("ova", "votes.top5.system_accuracy"), system_name("softmax", "calibrated.system_accuracy")
    ('ova, majority of the top five', 'softmax, calibrated')
    """
    kind = metric.removesuffix(ACCURACY).strip(".").removeprefix("votes.")
    return f"{method}, {VOTES.get(kind, kind)}" if kind else method


@dataclass(frozen=True)
class System:
    """One of our systems at one setting.

    Attributes
    ----------
    method, net, metric : str
        The metric says who decides: the team as trained, calibrated, or a vote.
    accuracy : Estimate
        Percent, over seeds.
    """

    method: str
    net: str
    metric: str
    accuracy: Estimate

    @property
    def is_panel(self) -> bool:
        """Is a vote counted, and not one expert or the model heard?"""
        return self.metric.startswith("votes.")

    @property
    def name(self) -> str:
        """What it is, in words.

        >>> accuracy = Estimate(90.0, 89.0, 91.0, 3, 1)
        >>> System("ova", "wrn-28-4", "votes.any_correct_bayes.system_accuracy", accuracy).name
        'ova, Bayes vote of the any-correct set'
        """
        return system_name(self.method, self.metric)


@dataclass(frozen=True)
class BestSystems:
    """The best published system of a figure, and ours at the same setting.

    Attributes
    ----------
    figure : PaperFigure
    published : PublishedPoint or None
        None where the figure shows no accuracy.
    alone, panel : System or None
        Ours there: where one decides, and where a vote is counted.
    n_reached, n_settings : int
        At how many settings that have both ours is at or above the best published one.
    obstacle : str
        What stands in the way; "" where nothing does.
    classifier : System or None
        One classifier without experts, with the network of the better of ours.
    their_classifier : float
        Percent: the authors' one classifier as published, else the classifier within their stored network; nan where
        neither is known.
    """

    figure: PaperFigure
    published: PublishedPoint | None
    alone: System | None
    panel: System | None
    n_reached: int
    n_settings: int
    obstacle: str
    classifier: System | None = None
    their_classifier: float = math.nan

    @property
    def ours(self) -> System | None:
        """The better of both kinds."""
        return _best(system for system in (self.alone, self.panel) if system is not None)

    @property
    def reached(self) -> bool | None:
        """Is ours at or above the published one? None where one of them is missing."""
        if self.published is None or self.ours is None:
            return None
        return self.ours.accuracy.mean >= self.published.mean


def best_systems(
    figure: PaperFigure,
    records: Sequence[RunRecord],
    points: Sequence[PublishedPoint],
    *,
    stored: Sequence[RunRecord] = (),
) -> BestSystems:
    """Compare our best system with the best published one, at the setting where the latter is.

    Both are chosen by the test items themselves, so both are a little flattered, ours more: it has more to choose from.
    """
    best: dict[float, PublishedPoint] = {}
    for point in sorted(filter(_is_system, points), key=lambda point: point.mean):
        best[round(point.x - figure.first_x, 6)] = point
    if not best:
        return BestSystems(figure, None, None, None, 0, 0, "")
    ours = {setting: _best(systems_at(records, setting)) for setting in best}
    reached = [one.accuracy.mean >= best[setting].mean for setting, one in ours.items() if one is not None]
    place = max(best, key=lambda setting: best[setting].mean)
    systems = tuple(systems_at(records, place))
    comparison = BestSystems(
        figure,
        best[place],
        _best(system for system in systems if not system.is_panel),
        _best(system for system in systems if system.is_panel),
        sum(reached),
        len(reached),
        "",
    )
    theirs = _published(points, ONE_CLASSIFIER, math.nan)
    if math.isnan(theirs):
        theirs = _mean(stored, best[place].method, "class_accuracy", place)
    comparison = replace(comparison, classifier=_classifier(records, comparison.ours), their_classifier=theirs)
    if comparison.reached is not False:
        return comparison
    return replace(comparison, obstacle=_obstacle(records, points, setting=place, x=best[place].x))


def systems_at(records: Sequence[RunRecord], setting: float) -> Iterator[System]:
    """Yield our systems at a setting; those that have fewer seeds than others there are left out."""
    values: dict[tuple[str, str, str], list[float]] = {}
    for record in records:
        if record.setting == setting and record.method != ONE_CLASSIFIER:
            for metric, value in record.measures.items():
                if metric.endswith(ACCURACY) and not math.isnan(value):
                    values.setdefault((record.method, record.net, metric), []).append(value)
    most = max(map(len, values.values()), default=0)
    for (method, net, metric), by_seed in values.items():
        if len(by_seed) == most:
            yield System(method, net, metric, over_seeds(np.array(by_seed), scale=PERCENT, n_settings=1))


def _classifier(records: Sequence[RunRecord], beside: System | None) -> System | None:
    """Return one classifier with a system's network, or with the one on which its network rests."""
    if beside is None:
        return None
    alone = [one for one in records if one.method == ONE_CLASSIFIER and one.net == root_of(beside.net)]
    values = np.array([value_of(one.measures, ACCURACY) for one in alone])
    if not len(values):
        return None
    accuracy = over_seeds(values, scale=PERCENT, n_settings=1)
    return System(ONE_CLASSIFIER, alone[0].net, ACCURACY, accuracy)


def _best(systems: Iterator[System]) -> System | None:
    return max(systems, key=lambda system: system.accuracy.mean, default=None)


def _is_system(point: PublishedPoint) -> bool:
    baseline = point.method in (BEST_EXPERT, ONE_CLASSIFIER)
    return point.drawn and point.metric.endswith(ACCURACY) and not baseline


def _obstacle(records: Sequence[RunRecord], points: Sequence[PublishedPoint], *, setting: float, x: float) -> str:
    """Put our parts beside the published ones: the classifier alone and the best expert."""
    parts = (
        ("one classifier", _mean(records, ONE_CLASSIFIER, ACCURACY, 0.0), _published(points, ONE_CLASSIFIER, math.nan)),
        ("best expert", _mean(records, "ova", "best_expert", setting), _published(points, BEST_EXPERT, x)),
    )
    words = [f"{name} {ours:.1f} % (published {theirs:.1f})" for name, ours, theirs in parts if ours + theirs > 0]
    return f"Our parts there: {', '.join(words)}." if words else "No published number of a part tells."


def _mean(records: Sequence[RunRecord], method: str, metric: str, setting: float) -> float:
    values = [value_of(one.measures, metric) for one in records if (one.method, one.setting) == (method, setting)]
    return PERCENT * math.fsum(values) / len(values) if values else math.nan


def _published(points: Sequence[PublishedPoint], method: str, x: float) -> float:
    for point in points:
        if point.method == method and (point.x == x or (math.isnan(point.x) and math.isnan(x))):
            return point.mean
    return math.nan
