"""Base class of the estimators: checks and encodes the input, fits a scorer, and delegates to a team."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import update_wrapper
from pathlib import Path
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from defero.core.checks.arrays import FloatArray
from defero.core.codec import Packed, pack, unpack
from defero.core.errors import ModelFolderError
from defero.core.labels import Labels, encode_labels, find_classes, refuse_gaps
from defero.data.recipes.columns import UsualRanges
from defero.data.recipes.read_texts import read_texts
from defero.data.recipes.recipe import FeatureRecipe, summed_columns
from defero.data.recipes.text_vectors import vectors_for_texts
from defero.decide.rules import MostLikelyRight, Rule
from defero.estimators.recipe import Recipe
from defero.estimators.skilled import SkilledTeam, with_population
from defero.estimators.training_data import (
    AnswerWeights,
    TrainingData,
    checked_rows,
    coded_experts,
    columns_of,
    group_numbers,
    raw_columns,
    training_matrix,
    warn_about_silent_experts,
    warn_about_unused_columns,
    with_answer_weights,
    with_sorted_columns,
)
from defero.learn.calibrator import Method
from defero.learn.scorer import SkillScorer
from defero.learn.selection import fit_selection
from defero.learn.two_stage import TwoStageScorer
from defero.scorers import Scorer
from defero.team import FitFacts, Team


def parse_parameter(name: str, value: Any) -> Any:
    """Return a parameter as the constructor takes it; raises where model.json holds something else."""
    if name == "recipe":
        return value if value is None else unpack(Recipe, Packed(value), place="facts.parameters.recipe")
    entries = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str | int | float | None) for one in entries):
        raise ValueError(f"{name} must be a text, a number, true, false, null or a list of these, got {value!r:.60}.")
    return tuple(value) if isinstance(value, list) else value


def plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that JSON can hold."""
    scalars = (str, int, float, bool, type(None))
    recipe = parameters.get("recipe")
    flat = {key: list(value) if isinstance(value, tuple) else value for key, value in parameters.items()}
    if Path(str(flat.get("text_encoder"))).is_dir():  # where a model lies on this machine is nobody's business
        del flat["text_encoder"]
    return ({"recipe": pack(recipe).manifest} if isinstance(recipe, Recipe) else {}) | {
        key: value
        for key, value in flat.items()
        if isinstance(value, scalars) or (isinstance(value, list) and all(isinstance(one, scalars) for one in value))
    }


def parameters_for(estimator: type[BaseEstimator], facts: FitFacts, folder: str | Path) -> dict[str, Any]:
    """Return the parameters of an estimator that a model folder remembers; raise if another class wrote it."""
    saved_by, name = facts.estimator, estimator.__name__
    if saved_by != name:
        raise ModelFolderError(f"{folder}: was written by {saved_by}, not {name}; use {saved_by}.load or Team.load.")
    known = {key: value for key, value in facts.parameters.items() if key in estimator._get_param_names()}
    try:
        return {key: parse_parameter(key, value) for key, value in known.items()}
    except ModelFolderError as error:
        raise ModelFolderError(f"{folder}: {error}") from error
    except (TypeError, ValueError) as error:
        raise ModelFolderError(f"{folder}: model.json: facts.parameters: {error} Fit again or restore it.") from error


P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
E = TypeVar("E", bound="DeferralEstimator")


def of_team(method: Callable[Concatenate[T, Any, P], R]) -> Callable[Concatenate[Any, Any, P], R]:
    """Return a method of the estimator that is one of its team, with the same arguments and the same words."""

    def call(estimator: Any, X: Any, *values: P.args, **options: P.kwargs) -> R:
        return method(estimator._ready(), estimator._checked(X), *values, **options)

    update_wrapper(call, method)
    return call  # type: ignore[return-value]  # X may be named, which Concatenate cannot say


def _stage_of_team(
    method: Callable[Concatenate[Team, Any, ArrayLike, P], Team],
) -> Callable[Concatenate[E, Any, ArrayLike, P], E]:
    """Return the same for a method that changes the team: a copy of it is changed, and the estimator returned."""

    def call(estimator: E, X: Any, y: ArrayLike, *values: P.args, **options: P.kwargs) -> E:
        team = estimator._ready().copy()
        return estimator._adopt(method(team, estimator._checked(X), column_or_1d(y), *values, **options))

    update_wrapper(call, method)
    return call  # type: ignore[return-value]  # as in of_team


class DeferralEstimator(ClassifierMixin, BaseEstimator, ABC):
    """A classifier that also estimates how likely each expert is right, and decides who answers each item.

    After `fit`: `classes_` (K,), `expert_names_` (J,), `n_experts_`, `n_features_in_`, `team_`, and
    `dropped_columns_`: the columns of a DataFrame that are not used, and why.
    """

    # With metadata routing, pipelines and cross-validation pass these on without a request by the user.
    __metadata_request__fit: ClassVar = {"experts": True, "groups": True}
    __metadata_request__score: ClassVar = {"experts": True}

    text: Any
    text_encoder: Any
    answer_weights: AnswerWeights | None = None

    @abstractmethod
    def _learn(self, data: TrainingData) -> Scorer | SkilledTeam:
        """Fit a scorer on checked arrays; with the law of the answers, where that is learned too."""

    def _rule(self, data: TrainingData) -> Rule:
        return MostLikelyRight()

    def _with_population(self, scorer: Scorer, data: TrainingData) -> Scorer:
        """Return a scorer to which experts can be added."""
        return scorer if data.n_experts == 0 or isinstance(scorer, SkillScorer) else with_population(scorer, data)

    def _knows_places(self) -> bool:
        """Return whether a model that the user gave may know columns and experts by their place."""
        return False

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

        Returns
        -------
        self
        """
        refuse_gaps(y)
        table = X if self._knows_places() else with_sorted_columns(X)
        matrix, recipe = self._training_matrix(table, y)
        warn_about_unused_columns(recipe)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        check_classification_targets(labels)
        classes = self._known_classes(labels)
        label_idx = encode_labels(labels, classes)
        answers, expert_names = coded_experts(experts, classes, n_items=len(labels))
        weight = _check_sample_weight(sample_weight, matrix, dtype=np.float64, ensure_non_negative=True)
        group_idx = None if groups is None else group_numbers(groups, n_items=len(labels))
        data = TrainingData(
            features=matrix,
            labels=labels,
            label_idx=label_idx,
            n_classes=len(classes),
            answers=replace(answers, expert_names=expert_names),
            weight=weight,
            weighted=sample_weight is not None,
            groups=group_idx,
        )
        # What is drawn by position, and sums of floats, must not depend on the order of rows, columns and experts.
        by_name = np.argsort(range(len(expert_names)) if self._knows_places() else expert_names, kind="stable")
        data, as_given, flat = data.of_experts(by_name), np.argsort(by_name), matrix.ndim == 2
        if flat:
            rows = data.row_order(matrix if recipe is None else table)
            data, table = data.take(rows), _safe_indexing(table, rows) if recipe is not None and recipe.text else table
        if recipe is not None:
            data, recipe = self._with_columns(data, recipe, table)
            # Made out of fold, for checks that must not use a text's own label.
            self._text_features = data.features[np.argsort(rows)] if recipe.text and not self._is_deep() else None
        data = with_answer_weights(data, self.answer_weights)
        warn_about_silent_experts(answers.per_expert(), expert_names)
        learned = self._learn(data)
        skilled = learned if isinstance(learned, SkilledTeam) else None
        scorer = self._with_population(learned.scorer if isinstance(learned, SkilledTeam) else learned, data)
        team = Team(
            scorer=scorer.in_order(as_given) if isinstance(scorer, SkillScorer | TwoStageScorer) else scorer,
            classes=classes,
            expert_names=expert_names,
            answer_counts=answers.per_expert(),
            rule=self._rule(data),
            recipe=recipe,
            n_features=data.features.shape[1] if flat else None,
            usual=UsualRanges.learn(data.features) if recipe is None and flat else None,
            item_shape=None if flat else tuple(data.features.shape[1:]),
            facts=FitFacts(
                estimator=type(self).__name__,
                parameters=plain_parameters(self.get_params(deep=False)),
                columns=tuple(str(name) for name in X.columns) if hasattr(X, "columns") else None,
                choice=None if skilled is None else skilled.sentence(),
            ),
        )
        if skilled is not None:
            team.law = skilled.law.take(as_given)
            team.held_out = skilled.held_out.of_experts(as_given)
            team.selection = fit_selection(skilled.held_out)
        return self._adopt(team.mark_seen("fit", X, label_idx, answers))

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

    decide = of_team(Team.decide)
    predict_set = of_team(Team.predict_set)
    answer = of_team(Team.answer)
    next_step = of_team(Team.next_step)
    gains = of_team(Team.gains)
    assign = of_team(Team.assign)

    def calibrate(self, X: Any, y: ArrayLike, experts: object = None, *, method: Method = "auto") -> Self:
        """Recalibrate the model and the experts on held-out rows. Removes earlier panels.

        Parameters
        ----------
        X, y, experts
            As in `fit`.
        method : "auto" or "none"
            "none" changes nothing.

        Returns
        -------
        self
        """
        team = self._ready().copy()
        answers = np.full((np.shape(y)[0], len(team.expert_names)), None) if experts is None else experts
        return self._adopt(team.calibrate(self._checked(X), column_or_1d(y), answers, method=method))

    conformalize = _stage_of_team(Team.conformalize)

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
            Their answers; rows without one are left out. Without any they count as an average expert.
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
    def load(
        cls, folder: str | Path, *, text_encoder: Any = None, classifier: Any = None, expert_model: Any = None
    ) -> Self:
        """Load a model folder that this class saved; the options are those of `Team.load`."""
        options = {"text_encoder": text_encoder, "classifier": classifier, "expert_model": expert_model}
        given = {name: value for name, value in options.items() if value is not None}
        team = Team.load(folder, **given)
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

    def _with_columns(
        self, data: TrainingData, recipe: FeatureRecipe, table: Any
    ) -> tuple[TrainingData, FeatureRecipe]:
        """Return the data with what is known of the raw columns of a table, and with its texts as features."""
        if recipe.text and self._is_deep():
            recipe = vectors_for_texts(recipe, table)
            data = replace(data, features=recipe.apply(table, source="X"))
        elif recipe.text:
            matrix, recipe = read_texts(
                recipe,
                table,
                data.label_idx,
                n_classes=data.n_classes,
                weight=data.with_mean_weight().weight,
                groups=data.groups,
            )
            data = replace(data, features=matrix)
        summed, columns, raw = summed_columns(recipe), columns_of(recipe), raw_columns(recipe)
        return replace(data, summed=summed, columns=columns, raw=raw), recipe

    def _training_matrix(self, X: Any, y: ArrayLike) -> tuple[FloatArray, FeatureRecipe | None]:
        return training_matrix(self, X, y, text=self.text, fills_gaps=not self._is_deep())

    def _checked(self, X: Any) -> Any:
        return checked_rows(self, X, self._ready())
