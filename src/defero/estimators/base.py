"""What all estimators share: they check and encode the input, learn a scorer, and delegate to the router they built."""

import warnings
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from defero.calibration import Method
from defero.core.checks import FloatArray
from defero.core.errors import InputError, ModelFolderError
from defero.core.labels import Labels, encode_labels, find_classes, refuse_gaps
from defero.core.results import Answer, Decision, ExpertSets
from defero.data.recipes.learn_vectors import vectors_for_texts
from defero.data.recipes.read_texts import read_texts, summed_columns
from defero.data.recipes.recipe import FeatureRecipe
from defero.decisions.rules import MostLikelyRight, Rule
from defero.estimators.expert_heads import with_population
from defero.estimators.feature_checks import finite, warn_of_unused_columns
from defero.estimators.lesson import (
    AnswerWeights,
    Lesson,
    coded_experts,
    group_numbers,
    warn_of_silent_experts,
    with_answer_weights,
)
from defero.estimators.recipe import Recipe
from defero.router import FitFacts, Router
from defero.scorers import Scorer
from defero.scorers.team import TeamScorer


class DeferralEstimator(ClassifierMixin, BaseEstimator, ABC):
    """A classifier that also knows how likely each expert is right, and says who should decide.

    After `fit`: `classes_` (K,), `expert_names_` (J,), `n_experts_`, `n_features_in_`, `router_`, and
    `dropped_columns_`: the columns of a DataFrame that are not used, and why.
    """

    # With metadata routing on, these travel through pipelines and cross-validation without a request by the user.
    __metadata_request__fit: ClassVar = {"experts": True, "groups": True}
    __metadata_request__score: ClassVar = {"experts": True}

    text: Any
    min_answers: int = 1
    answer_weights: AnswerWeights | None = None

    @abstractmethod
    def _learn(self, lesson: Lesson) -> Scorer:
        """Learn from checked arrays."""

    def _rule(self, lesson: Lesson) -> Rule:
        return MostLikelyRight()

    def _with_population(self, scorer: Scorer, lesson: Lesson) -> Scorer:
        """Return the scorer as one that experts can join."""
        return scorer if lesson.n_experts == 0 or isinstance(scorer, TeamScorer) else with_population(scorer, lesson)

    def _known_classes(self, labels: Labels) -> Labels:
        return find_classes(labels)

    def _reads_vectors(self) -> bool:
        """Say whether texts become vectors of their words, and not sums of what their words say of the classes."""
        return False

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        experts: object = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from past cases.

        Parameters
        ----------
        X : (n, d) array or DataFrame
            An array must be finite. A DataFrame's numeric and categorical columns are both used, and those that `text`
            names, by a recipe learned here; its gaps are filled. A warning names the columns that cannot be used.
        y : (n,) any label type
            The truth.
        experts : (n, J) array, DataFrame, scipy.sparse matrix or the answers of an `ExpertTable`, optional
            Each expert's answer; missing = NaN, None, pandas' NA, or -1 in integer arrays where -1 is no class.
            A sparse matrix stores the class number + 1, counting the sorted classes of `y`; where a part of a table
            may lack a class, pass the part's `answers`, which know what they count. None: no experts, a plain
            classifier.
        sample_weight : (n,), optional
        groups : (n,), optional
            Which rows belong together, such as those of one patient, where new cases are of new groups. The words of
            a training row are read, and shrunk heads look at it, as at a row of a group never seen.

        Returns
        -------
        self
        """
        refuse_gaps(y)
        matrix, recipe = self._training_matrix(X, y)
        warn_of_unused_columns(recipe)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        check_classification_targets(labels)
        classes = self._known_classes(labels)
        label_idx = encode_labels(labels, classes)
        answers, who = coded_experts(experts, classes, n_items=len(labels))
        weight = _check_sample_weight(sample_weight, matrix, dtype=np.float64, ensure_non_negative=True)
        together = None if groups is None else group_numbers(groups, n_items=len(labels))
        if recipe is not None and recipe.text:
            if self._reads_vectors():
                recipe = vectors_for_texts(recipe, X)
                matrix = recipe.apply(X, source="X")
            else:
                matrix, recipe = read_texts(
                    recipe, X, label_idx, n_classes=len(classes), weight=weight, groups=together
                )
                self._text_features = matrix  # for checks that must not look at a text's own label either
        lesson = Lesson(
            features=matrix,
            labels=labels,
            label_idx=label_idx,
            n_classes=len(classes),
            answers=answers,
            weight=weight,
            weighted=sample_weight is not None,
            groups=together,
            summed=None if recipe is None else summed_columns(recipe),
        )
        lesson = with_answer_weights(lesson, self.answer_weights)
        counts = answers.per_expert()
        warn_of_silent_experts(counts, who)
        router = Router(
            scorer=self._with_population(self._learn(lesson), lesson),
            classes=classes,
            expert_names=who,
            answer_counts=counts,
            rule=self._rule(lesson),
            min_answers=int(self.min_answers),
            recipe=recipe,
            n_features=matrix.shape[1] if matrix.ndim == 2 else None,
            item_shape=None if matrix.ndim == 2 else tuple(matrix.shape[1:]),
            facts=FitFacts(
                estimator=type(self).__name__,
                parameters=_plain(self.get_params(deep=False)),
                columns=None if recipe is None else tuple(str(name) for name in X.columns),
            ),
        )
        return self._adopt(router.mark_seen("fit", X, label_idx, answers))

    def predict(self, X: Any) -> Labels:
        """Return the model's own label for each item, (n,)."""
        return self._ready().predict(self._checked(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(y = k | x), (n, K); rows add up to 1."""
        return np.array(self._scores(X).class_proba)

    def predict_expert_proba(self, X: Any) -> FloatArray:
        """Return P(expert j is right | x), (n, J), inside [0, 1]."""
        return np.array(self._scores(X).expert_proba)

    def decide(self, X: Any, *, fees: ArrayLike | None = None, available: ArrayLike | None = None) -> Decision:
        """Say who should decide each item.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        fees : (J,), (n, J) or {name: fee}, optional
            What asking each expert costs, in units of one error.
        available : (J,) or (n, J) bool, or {name: bool}, optional
            Who can be asked.
        """
        return self._ready().decide(self._checked(X), fees=fees, available=available)

    def calibrate(self, X: Any, y: ArrayLike, experts: object = None, *, method: Method = "auto") -> Self:
        """Recalibrate the model and every expert on rows that `fit` did not see; drops earlier panels.

        Parameters
        ----------
        X, y, experts
            As in `fit`.
        method : "auto", "platt", "isotonic" or "none"
            "auto" leaves alone what is honest already; `router_.calibrator.describe()` tells what it chose.

        Returns
        -------
        self
        """
        router = self._ready()
        answers = _nobody(len(column_or_1d(y)), router) if experts is None else experts
        self.router_ = router.calibrate(self._checked(X), column_or_1d(y), answers, method=method)
        return self

    def conformalize(
        self,
        X: Any,
        y: ArrayLike,
        experts: object,
        *,
        alpha: float = 0.1,
        target: str = "any-correct",
        fees: ArrayLike | None = None,
        available: ArrayLike | None = None,
        strata: ArrayLike | None = None,
    ) -> Self:
        """Calibrate panels of experts on rows that neither `fit` nor `calibrate` saw; others raise.

        Parameters
        ----------
        X, y, experts
            As in `fit`. Only the deferred ones of these rows are used, so that the promise is for deferred items.
        alpha : float
            How often the promise may be broken.
        target : "any-correct", "all-correct" or "missed-share"
            What is promised: see `defero.conformal.ExpertSetPredictor`.
        fees : (J,), optional
            The fees that `decide` will be called with.
        available : (J,) bool, optional
            Who will be there to be asked, where that is not everybody.
        strata : (n,), optional
            The same promise inside each stratum.

        Returns
        -------
        self
        """
        self.router_ = self._ready().conformalize(
            self._checked(X),
            column_or_1d(y),
            experts,
            alpha=alpha,
            target=target,
            fees=fees,
            available=available,
            strata=strata,
        )
        return self

    def predict_set(
        self,
        X: Any,
        *,
        fill_empty: bool = True,
        fees: ArrayLike | None = None,
        available: ArrayLike | None = None,
        strata: ArrayLike | None = None,
    ) -> ExpertSets:
        """Return whom to ask for each item, should it be deferred; `fill_empty` adds the top expert to an empty set."""
        return self._ready().predict_set(
            self._checked(X), fill_empty=fill_empty, fees=fees, available=available, strata=strata
        )

    def answer(
        self,
        X: Any,
        answers: object,
        *,
        vote: str | None = None,
        fees: ArrayLike | None = None,
        available: ArrayLike | None = None,
        strata: ArrayLike | None = None,
    ) -> Answer:
        """Give the team's label for each item, hearing only experts whose answer is recorded in `answers`.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        answers : (n, J)
        vote : "bayes", "confusion", "weighted", "majority", "sequential" or "expert", optional
            How answers are put together: see `Router.answer`. "bayes" by default after `conformalize`, else "expert".
        fees, available, strata
            As in `decide` and `predict_set`.
        """
        return self._ready().answer(self._checked(X), answers, vote=vote, fees=fees, available=available, strata=strata)

    def score(self, X: Any, y: ArrayLike, experts: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the system accuracy; only experts whose answer is recorded are asked.

        Without `experts` nobody but the model can be asked: that is the model's own accuracy, and it warns.
        """
        router = self._ready()
        if experts is None and router.expert_names:
            warnings.warn(
                "score got no experts, so only the model was asked: this is the model's own accuracy. Pass experts, "
                "or turn on scikit-learn's metadata routing so that cross_validate passes them on.",
                stacklevel=2,
            )
        return router.score(self._checked(X), column_or_1d(y), experts, sample_weight=sample_weight)

    def add_expert(self, name: str, X: Any, y: ArrayLike | None, answers: object) -> Self:
        """Add an expert from a few answers, without training anything else; drops earlier panels.

        Parameters
        ----------
        name : str
        X, y : (m, d) array or DataFrame, and (m,)
            As in `fit`; no later stage takes these rows.
        answers : (m,)
            What they answered; rows where it is missing are left out. None at all: all that is known of them is what
            the others are like, and nobody asks them alone. So it is below `min_answers` answers.

        Returns
        -------
        self
        """
        rows = X if X is None or len(X) == 0 else self._checked(X)
        return self._adopt(self._ready().add_expert(name, rows, y, answers))

    def remove_expert(self, name: str) -> Self:
        """Take an expert out of the team; the others are as they were. Drops earlier panels."""
        return self._adopt(self._ready().remove_expert(name))

    def rename_expert(self, old: str, new: str) -> Self:
        """Give an expert another name."""
        return self._adopt(self._ready().rename_expert(old, new))

    def save(self, folder: str | Path) -> None:
        """Write the model folder: model.json and weights.safetensors, no pickle."""
        self._ready().save(folder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a model folder that this class wrote."""
        router = Router.load(folder)
        wrote = router.facts.estimator
        if wrote != cls.__name__:
            raise ModelFolderError(
                f"{folder}: was written by {wrote}, not {cls.__name__}; use {wrote}.load or Router.load."
            )
        known = {key: value for key, value in router.facts.parameters.items() if key in cls._get_param_names()}
        if isinstance(known.get("recipe"), dict):
            known["recipe"] = Recipe.from_dict(known["recipe"])
        estimator = cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in known.items()})
        return estimator._adopt(router)

    def _adopt(self, router: Router) -> Self:
        self.router_ = router
        self.classes_ = router.classes
        self.expert_names_ = router.expert_names
        self.n_experts_ = len(router.expert_names)
        self.dropped_columns_ = dict(getattr(router.recipe, "dropped", {}))
        columns = router.facts.columns
        self.n_features_in_ = router.n_features if columns is None else len(columns)
        if columns is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        return self

    def _ready(self) -> Router:
        if not hasattr(self, "router_"):
            name = type(self).__name__
            raise NotFittedError(f"This {name} is not fitted yet: call fit(X, y, experts=...) first, or {name}.load.")
        return self.router_

    def _scores(self, X: Any) -> Any:
        return self._ready().scores(self._checked(X))

    def _training_matrix(self, X: Any, y: ArrayLike) -> tuple[FloatArray, FeatureRecipe | None]:
        if not hasattr(X, "columns"):
            if self.text is not None:
                raise InputError(f"text names columns, but X is {type(X).__name__}; pass a DataFrame.")
            matrix, _ = validate_data(self, X, y, dtype=np.float64, ensure_all_finite=False)
            return finite(matrix), None
        validate_data(self, X, y, skip_check_array=True)
        recipe = FeatureRecipe.learn(X, text=self.text, source="X")
        # Texts are read once the labels are known.
        return (np.empty((len(X), 0)) if recipe.text else recipe.apply(X, source="X")), recipe

    def _checked(self, X: Any) -> Any:
        router = self._ready()
        if hasattr(X, "columns") or router.recipe is not None:
            if hasattr(X, "columns"):
                validate_data(self, X, reset=False, skip_check_array=True)
            return X if router.recipe is not None else np.asarray(X, dtype=np.float64)
        return finite(validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False))


def _nobody(n_items: int, router: Router) -> Labels:
    return np.full((n_items, len(router.expert_names)), None)


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Keep what JSON can hold."""
    kept = (str, int, float, bool, type(None))
    recipe = parameters.get("recipe")
    flat = {key: list(value) if isinstance(value, tuple) else value for key, value in parameters.items()}
    return ({"recipe": recipe.to_dict()} if isinstance(recipe, Recipe) else {}) | {
        key: value
        for key, value in flat.items()
        if isinstance(value, kept) or (isinstance(value, list) and all(isinstance(one, kept) for one in value))
    }
