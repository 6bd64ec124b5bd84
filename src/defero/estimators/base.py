"""Base class of the estimators: checks and encodes the input, fits a scorer, and delegates to a team."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import update_wrapper
from pathlib import Path
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import column_or_1d

from defero.calibration import Method
from defero.calibration.after_selection import HeldOut, fit_selection
from defero.core.checks.arrays import FloatArray
from defero.core.labels import Labels, find_classes, refuse_gaps
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.recipes.usual import UsualRanges
from defero.decide.rules import MostLikelyRight, Rule
from defero.decide.terms import Terms
from defero.estimators.encode import Encoded, encode
from defero.estimators.expert_heads import with_population
from defero.estimators.saved_parameters import parameters_for, plain_parameters
from defero.estimators.training_data import (
    AnswerWeights,
    TrainingData,
    checked_rows,
    training_matrix,
    warn_about_silent_experts,
    warn_about_unused_columns,
    with_answer_weights,
)
from defero.scorers import Scorer
from defero.scorers.team import TeamScorer
from defero.team import FitFacts, Team

P = ParamSpec("P")
R = TypeVar("R")


def _of_team(
    method: Callable[Concatenate[Team, Any, P], R],
) -> Callable[Concatenate["DeferralEstimator", Any, P], R]:
    """Return a method of the estimator that is one of its team, with the same arguments and the same words."""

    def call(estimator: "DeferralEstimator", X: Any, *values: P.args, **options: P.kwargs) -> R:
        return method(estimator._ready(), estimator._checked(X), *values, **options)

    update_wrapper(call, method)
    return call  # type: ignore[return-value]  # X may be named, which Concatenate cannot say


class DeferralEstimator(ClassifierMixin, BaseEstimator, ABC):
    """A classifier that also estimates how likely each expert is right, and decides who answers each item.

    After `fit`: `classes_` (K,), `expert_names_` (J,), `n_experts_`, `n_features_in_`, `team_`, and
    `dropped_columns_`: the columns of a DataFrame that are not used, and why.
    """

    # With metadata routing, pipelines and cross-validation pass these on without a request by the user.
    __metadata_request__fit: ClassVar = {"experts": True, "groups": True, "fees": True}
    __metadata_request__score: ClassVar = {"experts": True}

    text: Any
    text_encoder: Any
    min_answers: int = 1
    answer_weights: AnswerWeights | None = None

    @abstractmethod
    def _learn(self, data: TrainingData) -> Scorer:
        """Fit a scorer on checked arrays."""

    def _rule(self, data: TrainingData) -> Rule:
        return MostLikelyRight()

    def _with_population(self, scorer: Scorer, data: TrainingData) -> Scorer:
        """Return a scorer to which experts can be added."""
        return scorer if data.n_experts == 0 or isinstance(scorer, TeamScorer) else with_population(scorer, data)

    def _choice(self) -> str | None:
        """Say which model was chosen, where there was a choice."""
        return None

    def _held_out(self, data: TrainingData) -> HeldOut | None:
        """Return scores of training rows by models that did not see them, where there are some."""
        return None

    def _known_classes(self, labels: Labels) -> Labels:
        return find_classes(labels)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not self._is_deep()
        return tags

    def _is_deep(self) -> bool:
        """Return whether a deep net learns: texts become word vectors, and an array may have no gaps."""
        return False

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        experts: object = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        fees: ArrayLike | Mapping[str, float] | None = None,
    ) -> Self:
        """Fit the classes and the experts on past cases.

        Parameters
        ----------
        X : (n, d) array or DataFrame
            Of a DataFrame the numeric and categorical columns and those in `text` are used. Missing cells are filled
            and marked, NaN of an array too (not by deep nets). A warning names the columns that cannot be used.
        y : (n,) any label type
            True labels.
        experts : (n, J) array, DataFrame, scipy.sparse matrix or the answers of an `ExpertTable`, optional
            Answers of the experts. Missing answers are NaN, None, pandas' NA, or -1 in integer arrays if -1 is not a
            class. A sparse matrix stores the class index + 1 in the sorted classes of `y`; for a part of a table that
            may lack a class, pass the `answers` of that part. None fits a plain classifier.
        sample_weight : (n,), optional
        groups : (n,), optional
            Group ids, such as patient ids, if new cases come from new groups. Cross-validation inside `fit` puts all
            rows of a group into the same fold.
        fees : (J,), (n, J) or {name: fee}, optional
            What asking each expert will cost, in units of one error. `DeferralClassifier` with net="auto" then chooses
            the team that costs least; pass the fees to `decide` too.

        Returns
        -------
        self
        """
        refuse_gaps(y)
        matrix, recipe = self._training_matrix(X, y)
        warn_about_unused_columns(recipe)
        encoded = encode(
            X,
            y,
            experts,
            matrix=matrix,
            recipe=recipe,
            known_classes=self._known_classes,
            deep=self._is_deep(),
            sample_weight=sample_weight,
            groups=groups,
            fees=fees,
        )
        if encoded.text_features is not None:
            self._text_features = encoded.text_features
        data = with_answer_weights(encoded.data, self.answer_weights)
        warn_about_silent_experts(data.answers.per_expert(), encoded.expert_names)
        columns = tuple(str(name) for name in X.columns) if hasattr(X, "columns") else None
        team = self._fitted_team(encoded, data, columns)
        team.held_out = self._held_out(data)
        if team.held_out is not None:
            team.selection = fit_selection(team.held_out)
        return self._adopt(team.mark_seen("fit", X, data.label_idx, data.answers))

    def _fitted_team(self, encoded: Encoded, data: TrainingData, columns: tuple[str, ...] | None) -> Team:
        """Learn a scorer, and return the team that holds it; `columns` are those of the raw table."""
        flat = data.features.ndim == 2
        return Team(
            scorer=self._with_population(self._learn(data), data),
            classes=encoded.classes,
            expert_names=encoded.expert_names,
            answer_counts=data.answers.per_expert(),
            rule=self._rule(data),
            min_answers=int(self.min_answers),
            recipe=encoded.recipe,
            n_features=data.features.shape[1] if flat else None,
            usual=UsualRanges.learn(data.features) if encoded.recipe is None and flat else None,
            item_shape=None if flat else tuple(data.features.shape[1:]),
            facts=FitFacts(
                estimator=type(self).__name__,
                parameters=plain_parameters(self.get_params(deep=False)),
                columns=columns,
                choice=self._choice(),
            ),
        )

    def predict(self, X: Any) -> Labels:
        """Return the model's label for each item, (n,)."""
        return self._ready().predict(self._checked(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(y = k | x), (n, K); rows sum to 1."""
        return np.array(self._ready().scores(self._checked(X)).class_proba)

    def predict_expert_proba(self, X: Any) -> FloatArray:
        """Return P(expert j is right | x), (n, J), inside [0, 1]."""
        return np.array(self._ready().scores(self._checked(X)).expert_proba)

    # What a fitted team does with cases is what its team does, once their features have been checked.

    decide = _of_team(Team.decide)
    predict_set = _of_team(Team.predict_set)
    answer = _of_team(Team.answer)
    next_step = _of_team(Team.next_step)
    gains = _of_team(Team.gains)
    assign = _of_team(Team.assign)

    def calibrate(self, X: Any, y: ArrayLike, experts: object = None, *, method: Method = "auto") -> Self:
        """Recalibrate the model and the experts on held-out rows. Removes earlier panels.

        Parameters
        ----------
        X, y, experts
            As in `fit`.
        method : "auto", "platt", "isotonic" or "none"
            "auto" changes nothing that is calibrated already; `team_.calibrator.describe()` reports its choice.

        Returns
        -------
        self
        """
        team = self._ready()
        answers = np.full((np.shape(y)[0], len(team.expert_names)), None) if experts is None else experts
        self.team_ = team.copy().calibrate(self._checked(X), column_or_1d(y), answers, method=method)
        return self

    def conformalize(
        self,
        X: Any,
        y: ArrayLike,
        experts: object,
        *,
        alpha: float = 0.1,
        target: str = "any-correct",
        terms: Terms | None = None,
        strata: ArrayLike | None = None,
    ) -> Self:
        """Calibrate panels of experts on rows that neither `fit` nor `calibrate` used; other rows raise.

        Parameters
        ----------
        X, y, experts
            As in `fit`. Only the deferred rows are used, so the promise holds for deferred items.
        alpha : float
            Largest probability that the promise is broken.
        target : "any-correct", "all-correct" or "missed-share"
            The promise: see `defero.decide.panels.ExpertSetPredictor`.
        terms : Terms, optional
            Those that `decide` will be called with.
        strata : (n,), optional
            Categories; the promise holds inside each of them.

        Returns
        -------
        self
        """
        self.team_ = (
            self._ready()
            .copy()
            .conformalize(
                self._checked(X),
                column_or_1d(y),
                experts,
                alpha=alpha,
                target=target,
                terms=terms,
                strata=strata,
            )
        )
        return self

    def score(self, X: Any, y: ArrayLike, experts: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the system accuracy; only experts with a recorded answer are asked.

        Without `experts` this is the accuracy of the model alone, with a warning.
        """
        team = self._ready()
        if experts is None and team.expert_names:
            warnings.warn(
                "score got no experts, so this is the accuracy of the model alone. Pass experts, "
                "or enable scikit-learn's metadata routing so that cross_validate passes them on.",
                stacklevel=2,
            )
        return team.score(self._checked(X), column_or_1d(y), experts, sample_weight=sample_weight)

    def add_expert(self, name: str, X: Any, y: ArrayLike | None, answers: object) -> Self:
        """Add an expert from a few answers, without fitting anything else. Removes earlier panels.

        Parameters
        ----------
        name : str
        X, y : (m, d) array or DataFrame, and (m,)
            As in `fit`; later stages refuse these rows.
        answers : (m,)
            Their answers; rows without one are left out. With fewer than `min_answers` they are never asked alone;
            without any they count as an average expert.
        """
        rows = X if X is None or len(X) == 0 else self._checked(X)
        return self._adopt(self._ready().copy().add_expert(name, rows, y, answers))

    def remove_expert(self, name: str) -> Self:
        """Remove an expert; the others do not change. Removes earlier panels."""
        return self._adopt(self._ready().copy().remove_expert(name))

    def rename_expert(self, old: str, new: str) -> Self:
        """Rename an expert."""
        return self._adopt(self._ready().copy().rename_expert(old, new))

    def save(self, folder: str | Path) -> None:
        """Write the model folder: model.json and weights.safetensors, no pickle."""
        self._ready().save(folder)

    @classmethod
    def load(cls, folder: str | Path, *, text_encoder: Any = None) -> Self:
        """Load a model folder that this class saved; `text_encoder` is that of `Team.load`."""
        team = Team.load(folder, text_encoder=text_encoder)
        given = {} if text_encoder is None else {"text_encoder": text_encoder}
        return cls(**parameters_for(cls, team.facts, folder) | given)._adopt(team)

    def _adopt(self, team: Team) -> Self:
        self.team_ = team
        self.classes_ = team.classes
        self.expert_names_ = team.expert_names
        self.n_experts_ = len(team.expert_names)
        self.dropped_columns_ = dict(getattr(team.recipe, "dropped", {}))
        columns = team.facts.columns
        fitted_width = team.n_features if team.recipe is None else getattr(team.recipe, "n_inputs", None)
        self.n_features_in_ = fitted_width if columns is None else len(columns)
        if columns is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        return self

    def _ready(self) -> Team:
        if not hasattr(self, "team_"):
            name = type(self).__name__
            raise NotFittedError(f"This {name} is not fitted yet: call fit(X, y, experts=...) first, or {name}.load.")
        return self.team_

    def _training_matrix(self, X: Any, y: ArrayLike) -> tuple[FloatArray, FeatureRecipe | None]:
        return training_matrix(self, X, y, text=self.text, fills_gaps=not self._is_deep())

    def _checked(self, X: Any) -> Any:
        return checked_rows(self, X, self._ready())
