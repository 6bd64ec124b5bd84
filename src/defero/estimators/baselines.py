"""Baselines: the model alone, the best expert, a random expert, and a threshold on the model's confidence."""

from typing import Any

from sklearn.utils import check_random_state

from defero.core.checks.arrays import probability
from defero.core.labels import Labels
from defero.decide.rules import AlwaysAskBest, AskAtRandom, AskBelowThreshold, NeverAsk, Rule
from defero.estimators.base import DeferralEstimator
from defero.estimators.training_data import TrainingData
from defero.estimators.two_stage import classes_of, fit_classifier, smoothed_share, team_scorer
from defero.learn.two_stage import TwoStageScorer
from defero.scorers import Scorer


class Baseline(DeferralEstimator):
    """A classifier, and for each expert their accuracy in training, the same for every item."""

    def __init__(self, classifier: Any = None, *, text: Any = None, text_encoder: Any = None) -> None:
        self.classifier = classifier
        self.text = text
        self.text_encoder = text_encoder

    def _knows_places(self) -> bool:
        return self.classifier is not None

    def _known_classes(self, labels: Labels) -> Labels:
        return classes_of(self.classifier, labels)

    def _learn(self, data: TrainingData) -> TwoStageScorer:
        self.classifier_ = fit_classifier(self.classifier, data)
        return team_scorer(self.classifier_, _shares(data), data)

    def _with_population(self, scorer: Scorer, data: TrainingData) -> Scorer:
        return scorer  # no experts can be added to a baseline


class ModelOnly(Baseline):
    """The model answers everything.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Logistic regression on standardised features by default.
    text, text_encoder
        Columns of free text in a DataFrame, and how they are read, as in `DeferralClassifier`.

    Examples
    --------
    >>> from defero.datasets import wedge
    >>> cases = wedge(500, random_state=0)
    >>> baseline = ModelOnly().fit(cases.features, cases.labels, experts=cases.answers)
    >>> baseline.decide(cases.features).coverage
    1.0
    """

    def _rule(self, data: TrainingData) -> Rule:
        return NeverAsk()


class BestExpert(Baseline):
    """The expert with the highest accuracy in training answers everything.

    If that expert cannot be asked, the next best answers, and the model if nobody can be asked.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        For `predict`, and for items that no expert can answer.
    text, text_encoder
        Columns of free text in a DataFrame, and how they are read, as in `DeferralClassifier`.

    Examples
    --------
    >>> from defero.datasets import wedge
    >>> cases = wedge(500, random_state=0)
    >>> baseline = BestExpert().fit(cases.features, cases.labels, experts=cases.answers)
    >>> len(set(baseline.decide(cases.features).name))
    1
    """

    def _rule(self, data: TrainingData) -> Rule:
        return AlwaysAskBest()


class RandomExpert(Baseline):
    """A share of the items goes to an expert drawn at random among those who can be asked.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
    share : float
        Share of the items that is deferred. Pass another system's deferral rate to compare both at the same rate.
    random_state : int, RandomState or None
    text, text_encoder
        Columns of free text in a DataFrame, and how they are read, as in `DeferralClassifier`.

    Examples
    --------
    >>> from defero.datasets import wedge
    >>> cases = wedge(500, random_state=0)
    >>> baseline = RandomExpert(random_state=0).fit(cases.features, cases.labels, experts=cases.answers)
    >>> int(baseline.decide(cases.features).load.min()) > 90
    True
    """

    def __init__(
        self,
        classifier: Any = None,
        *,
        share: float = 1.0,
        random_state: Any = None,
        text: Any = None,
        text_encoder: Any = None,
    ) -> None:
        super().__init__(classifier, text=text, text_encoder=text_encoder)
        self.share = share
        self.random_state = random_state

    def _rule(self, data: TrainingData) -> Rule:
        return AskAtRandom(
            share=probability("share", self.share), seed=int(check_random_state(self.random_state).randint(2**31))
        )


class ConfidenceThreshold(Baseline):
    """The best expert is asked if the confidence of the model is below a threshold.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
    threshold : float, optional
        By default the best expert's accuracy in training.
    text, text_encoder
        Columns of free text in a DataFrame, and how they are read, as in `DeferralClassifier`.

    Examples
    --------
    >>> from defero.datasets import wedge
    >>> cases = wedge(500, random_state=0)
    >>> baseline = ConfidenceThreshold(threshold=0.5).fit(cases.features, cases.labels, experts=cases.answers)
    >>> 0 < baseline.decide(cases.features).coverage < 1
    True
    """

    def __init__(
        self, classifier: Any = None, *, threshold: float | None = None, text: Any = None, text_encoder: Any = None
    ) -> None:
        super().__init__(classifier, text=text, text_encoder=text_encoder)
        self.threshold = threshold

    def _rule(self, data: TrainingData) -> Rule:
        threshold = max(_shares(data), default=0.0) if self.threshold is None else self.threshold
        return AskBelowThreshold(probability("threshold", threshold))


def _shares(data: TrainingData) -> list[float]:
    counts = data.weight_of_answers()
    return [smoothed_share(data.right[answers], counts[answers]) for answers in data.by_expert()]
