"""One boosted model over (x, h(x), expert), and an assignment within capacities (DeCCaF, Alves et al., TMLR 2024)."""

from collections.abc import Mapping

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.field.method import Choice
from benchmarks.field.methods.choosing import choose
from benchmarks.field.methods.first_stage import FirstStage, fit_first_stage
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.results import Assignment
from defero.decide import Terms, assign

MOST_CATEGORIES = 255
"""scikit-learn's boosting takes no more; beyond it an expert is their shrunken share of right answers."""
PSEUDO_ANSWERS = 10.0


class Deccaf:
    """P(expert j is right | x) by one model for all experts, so that each is known from few answers.

    The paper's two stages: a classifier h, and one boosted model of being right whose inputs are x, h(x) and who was
    asked; one recorded answer for each case is enough. `assign` then minimises the expected errors and fees of a
    batch subject to capacities, by an integral linear program where the paper has constraint programming: the same
    optimum (the problem is one of transportation). Here the costs of errors are equal.
    """

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: FloatArray, y: IntArray, experts: IntArray) -> "Deccaf":
        """Fit h, and the model of being right on all recorded answers with h(x) of unseen rows."""
        n_classes = int(max(y.max(), experts.max(initial=0))) + 1
        self.first_: FirstStage = fit_first_stage(X, y, n_classes=n_classes, seed=self.random_state)
        item, who = np.nonzero(experts >= 0)
        right = experts[item, who] == y[item]
        self.share_ = shrunken_shares(who, right, n_experts=experts.shape[1])
        self.by_name_ = experts.shape[1] <= MOST_CATEGORIES
        inputs = self._inputs(X[item], self.first_.unseen_proba[item], who)
        self.model_ = HistGradientBoostingClassifier(
            max_iter=80,
            max_leaf_nodes=12,
            min_samples_leaf=30,
            l2_regularization=5.0,
            categorical_features=[inputs.shape[1] - 1] if self.by_name_ else None,
            random_state=self.random_state,
        ).fit(inputs, right)
        return self

    def expert_proba(self, X: FloatArray, available: BoolArray) -> FloatArray:
        """Return P(expert j is right | x), (n, J), 0 where they cannot be asked."""
        proba = np.zeros(available.shape)
        item, who = np.nonzero(available)
        if len(item):
            column = list(self.model_.classes_).index(True) if True in self.model_.classes_ else None
            inputs = self._inputs(X[item], self.first_.proba(X)[item], who)
            proba[item, who] = 0.0 if column is None else self.model_.predict_proba(inputs)[:, column]
        return proba

    def decide(self, X: FloatArray, *, fees: FloatArray, available: BoolArray) -> Choice:
        """Choose for each row on its own, without capacities."""
        return choose(self.first_.proba(X), self.expert_proba(X, available), fees=fees, available=available)

    def assign(
        self, X: FloatArray, *, capacity: Mapping[str, int], fees: FloatArray, available: BoolArray
    ) -> Assignment:
        """Choose for a whole batch; `capacity` is {"expert_0": most, ...}."""
        class_proba = self.first_.proba(X)
        value = self.expert_proba(X, available) - fees - class_proba.max(axis=1, keepdims=True)
        names = [f"expert_{j}" for j in range(available.shape[1])]
        return assign(
            np.where(available, value, -np.inf),
            terms=Terms(capacity=dict(capacity)),
            expert_names=names,
            answer_cost=1 - class_proba.max(axis=1),
            label=class_proba.argmax(axis=1),
        )

    def _inputs(self, X: FloatArray, proba: FloatArray, who: IntArray) -> FloatArray:
        own = who.astype(np.float64) if self.by_name_ else np.zeros(len(who))
        return np.column_stack([X, proba, self.share_[who], own])


def shrunken_shares(who: IntArray, right: BoolArray, *, n_experts: int) -> FloatArray:
    """Return (right_j + 10 m) / (answered_j + 10), (J,), with m the share of all right answers; 1/2 without any."""
    answered = np.bincount(who, minlength=n_experts)
    mean = float(right.mean()) if len(right) else 0.5
    return (np.bincount(who[right], minlength=n_experts) + PSEUDO_ANSWERS * mean) / (answered + PSEUDO_ANSWERS)
