"""defero's own estimators as methods: the default, the surrogate losses, heads, trees, two-stage, baselines."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.field.method import Choice, Entry, Heard
from benchmarks.many_experts.losses import register
from defero import BestExpert, ConfidenceThreshold, DeferralClassifier, ModelOnly, RandomExpert, TwoStageDeferral
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.labels import MISSING
from defero.decide.terms import Terms


class Estimator:
    """An estimator of defero, which asks one expert at most."""

    def __init__(self, make: Callable[[int], Any], random_state: int) -> None:
        self.make = make
        self.random_state = random_state

    def fit(self, X: FloatArray, y: IntArray, experts: IntArray) -> "Estimator":
        """Fit it."""
        self.team_ = fitted(self.make, X, y, experts, seed=self.random_state)
        return self

    def decide(self, X: FloatArray, *, fees: FloatArray, available: BoolArray) -> Choice:
        """Choose by `decide`; the promise is P(right) of the chosen."""
        decision = self.team_.decide(X, terms=Terms(fees=fees, available=available))
        rows, asked = np.arange(len(X)), decision.expert >= 0
        fee = np.where(asked, fees[rows, np.maximum(decision.expert, 0)], 0.0)
        p_right = 1 - (decision.expected_cost - fee) if decision.p_right is None else decision.p_right
        return Choice(decision.expert, self.team_.predict(X).astype(np.int64), p_right)


_last: dict[str, Any] = {}


class DefaultTeam(Estimator):
    """`DeferralClassifier()`; both ways of asking share a fit, and each is charged with its seconds."""

    def __init__(self, random_state: int) -> None:
        super().__init__(lambda seed: DeferralClassifier(random_state=seed), random_state)

    def fit(self, X: FloatArray, y: IntArray, experts: IntArray) -> "DefaultTeam":
        """Fit it, or take the last fit of the same rows."""
        if _last.get("rows") is not X:
            began = time.process_time()
            super().fit(X, y, experts)
            _last.update(rows=X, team=self.team_, seconds=time.process_time() - began)
        self.team_, self.fit_seconds = _last["team"], _last["seconds"]
        return self


class DefaultInTurn:
    """`DeferralClassifier()`, asking one expert after the other."""

    def __init__(self, random_state: int) -> None:
        self.team = DefaultTeam(random_state)

    def fit(self, X: FloatArray, y: IntArray, experts: IntArray) -> "DefaultInTurn":
        """Fit the team."""
        self.team.fit(X, y, experts)
        self.fit_seconds = self.team.fit_seconds
        return self

    def answer(self, X: FloatArray, answers: IntArray, *, fees: FloatArray) -> Heard:
        """Ask as long as it pays; without fees a question counts 0.01 of an error, as everywhere in defero."""
        given = None if not fees.any() else fees
        heard = self.team.team_.answer(X, answers, vote="sequential", terms=Terms(fees=given))
        return Heard(heard.label.astype(np.int64), heard.heard, heard.confidence)


class EverybodyVotes:
    """The majority of all who answered; of several leading classes the most frequent in training."""

    def fit(self, X: FloatArray, y: IntArray, experts: IntArray) -> "EverybodyVotes":
        """Count the classes."""
        self.share_ = np.bincount(y, minlength=int(max(y.max(), experts.max(initial=0))) + 1) / len(y)
        return self

    def answer(self, X: FloatArray, answers: IntArray, *, fees: FloatArray) -> Heard:
        """Hear everybody, whatever it costs."""
        n_classes = max(len(self.share_), int(answers.max(initial=0)) + 1)
        counts = np.stack([(answers == k).sum(axis=1) for k in range(n_classes)], axis=1).astype(np.float64)
        counts[:, : len(self.share_)] += 0.5 * self.share_
        return Heard(counts.argmax(axis=1), answers != MISSING)


def fitted(make: Callable[[int], Any], X: FloatArray, y: IntArray, experts: IntArray, *, seed: int) -> Any:
    """Return a fitted estimator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of silent experts and slow convergence, on every split
        return make(seed).fit(X, y, experts=experts)


def entry(name: str, make: Callable[[int], Any], *, ours: bool = True, source: str = "defero") -> Entry:
    """Return the entry of an estimator."""
    return Entry(name, lambda seed: Estimator(make, seed), ours=ours, source=source)


def network(loss: str) -> Callable[[int], Any]:
    """Return a maker of a small network with a loss."""

    def make(seed: int) -> Any:
        register()
        return DeferralClassifier("mlp", loss=loss, random_state=seed)

    return make


def logistic(seed: int) -> Any:
    """Return two stages of logistic regressions."""
    return TwoStageDeferral(None, LogisticRegression(max_iter=1000))


def boosted(seed: int) -> Any:
    """Return two stages of boosting."""
    classes = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, l2_regularization=1.0, random_state=seed)
    expert = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=6, min_samples_leaf=20, l2_regularization=5.0, random_state=seed
    )
    return TwoStageDeferral(classes, expert)


PAPER = "Verma et al. 2023"
ENTRIES = (
    Entry("default", DefaultTeam, ours=True, source="defero: DeferralClassifier()"),
    Entry("default, in turn", DefaultInTurn, kind="several questions", ours=True, source="defero"),
    entry("softmax", network("softmax"), source=PAPER),
    entry("one-vs-all", network("ova"), source=PAPER),
    entry("decoupled", network("decoupled"), source="Montreuil et al. 2026"),
    entry("asymmetric", network("asymmetric"), source="Cao et al. 2023"),
    entry("mixture of experts", network("moe"), source="Hemmer et al. 2022"),
    entry("PiCCE", network("picce"), source="Liu et al. 2026"),
    entry("averaged", network("averaged"), source="Montreuil et al. 2026, weight 1 / J"),
    entry("two-stage, logistic", logistic, source="Narasimhan et al. 2022"),
    entry("two-stage, boosted", boosted, source="Narasimhan et al. 2022"),
    entry("confidence threshold", lambda seed: ConfidenceThreshold(), source="reference"),
    entry("best expert", lambda seed: BestExpert(), source="reference"),
    entry("random expert", lambda seed: RandomExpert(random_state=seed), source="reference"),
    entry("model only", lambda seed: ModelOnly(), source="reference"),
    Entry("everybody votes", lambda seed: EverybodyVotes(), kind="several questions", source="reference"),
)
