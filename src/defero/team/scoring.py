"""Scoring: from features to what a team believes of each item."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from defero.calibration import Calibrator
from defero.core.checks.arrays import BoolArray, FloatArray, float_matrix
from defero.core.errors import InputError
from defero.core.labels import Labels
from defero.core.scores import Scores, logit, sigmoid
from defero.core.wording import join_names
from defero.data.recipes.pictures import PictureFiles
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.recipes.usual import NumberedColumns, UsualNumbers
from defero.scorers.given import ArrayScorer, FunctionScorer
from defero.scorers.team import TeamScorer
from defero.team.parts import TeamParts

AT_ONCE = 4096
"""So many items are scored at a time. In pieces of 50,000 half of the time goes into fetching memory."""


class Scoring(TeamParts):
    """A team that can be asked what it believes."""

    def features(self, X: Any, *, source: str = "X", first_row: int = 0) -> Any:
        """Return the matrix that the scorer takes: a table's columns go through the recipe, found by their names.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        source, first_row : str, int
            What a message calls the table, and the number of its first row.
        """
        if isinstance(self.scorer, ArrayScorer | FunctionScorer):
            return X
        if self.recipe is not None:
            return self.recipe.apply(self._frame(X, source=source), source=source, first_row=first_row)
        if self.item_shape is not None:
            return items_of_shape(X, self.item_shape, source=source)
        matrix: FloatArray = float_matrix(source, X)
        self._check_width(matrix.shape[1], self.n_features, source=source)
        return matrix if self.usual is None else self.usual.clip(matrix)

    def _frame(self, X: Any, *, source: str) -> Any:
        """Return the table that a recipe takes: X, or an array with numbered columns if fit had one."""
        if hasattr(X, "columns"):
            return X
        if not isinstance(self.recipe, FeatureRecipe) or self.facts.columns is not None:
            names = join_names(self.recipe.inputs) if self.recipe is not None else "none"
            raise InputError(
                f"must be a DataFrame with the columns of fit ({names}), got {type(X).__name__}.", argument="X"
            )
        table = NumberedColumns(X)
        self._check_width(len(table.columns), self.recipe.n_inputs, source=source)
        return table

    @staticmethod
    def _check_width(n_columns: int, n_fitted: int | None, *, source: str) -> None:
        if n_columns != n_fitted:
            raise InputError(f"{source} has {n_columns} features, but fit saw {n_fitted}.")

    def outside(self, features: Any) -> BoolArray | None:
        """Return which columns make a case unusual, (n, columns), from its `features`; None for other input."""
        if isinstance(self.recipe, FeatureRecipe):
            return self.recipe.unusual(features)
        if self.usual is not None:
            return self.usual.outside(features)
        return None

    def unusual(self, features: Any) -> Labels | None:
        """Return the names of these columns for each item whose `features` are at hand, (n,), joined by "; "."""
        outside = self.outside(features)
        return None if outside is None else self._names_of(outside)

    def _names_of(self, outside: BoolArray) -> Labels:
        """Return the names of the columns that make each case unusual, (n,), from `outside`."""
        names = np.full(len(outside), "", dtype=object)
        if not outside.any():
            return names
        columns = (
            self.recipe.inputs
            if isinstance(self.recipe, FeatureRecipe)
            else [f"column {place}" for place in range(outside.shape[1])]
        )
        for row in np.flatnonzero(outside.any(axis=1)).tolist():
            names[row] = "; ".join(columns[place] for place in np.flatnonzero(outside[row]).tolist())
        return names

    def scores(self, X: Any = None) -> Scores:
        """Return what the model believes of each item."""
        return self.score_features(self.features(X)).named(self.classes, self.expert_names)

    def score_features(self, features: Any) -> Scores:
        """Return calibrated scores of n items whose `features` are at hand.

        An expert without answers gets the average of the others. After `calibrate` nobody is surer of an unusual case
        than they were right on average there.
        """
        return Scores.concatenated(
            [self._score_block(block, self.outside(block)) for block in self._feature_blocks(features)]
        )

    def scored(self, X: Any, *, source: str = "X", first_row: int = 0) -> tuple[Any, Scores, Labels | None]:
        """Return `features`, `score_features` and `unusual` of items; the last is None where nothing is unusual."""
        numbers = self._usual_numbers(X, source=source)
        features = self.features(X, source=source, first_row=first_row) if numbers is None else numbers.matrix()
        scores, marks = [], []
        for block in self._feature_blocks(features):
            outside = self.outside(block) if numbers is None else None
            scores.append(self._score_block(block, outside))
            marks += [] if outside is None else [outside]
        return features, Scores.concatenated(scores), self._names_of(np.concatenate(marks)) if marks else None

    def _blocks(self, X: Any) -> tuple[Iterator[tuple[Any, BoolArray | None]], int | None]:
        """Return features of some thousand items at a time with what is unusual of them (None: nothing), and n.

        n is None where all items are one block.
        """
        numbers = self._usual_numbers(X, source="X")
        if numbers is not None:
            return ((block, None) for block in numbers.blocks(AT_ONCE)), len(numbers)
        features = self.features(X)
        n_items = None if self._at_once(features) else len(features)
        return ((block, self.outside(block)) for block in self._feature_blocks(features)), n_items

    def _usual_numbers(self, X: Any, *, source: str) -> UsualNumbers | None:
        """Return the columns of a table if all are numbers that the recipe does not change; else None."""
        if not isinstance(self.recipe, FeatureRecipe) or isinstance(self.scorer, ArrayScorer | FunctionScorer):
            return None
        return self.recipe.usual_numbers(self._frame(X, source=source), source=source)

    def _feature_blocks(self, features: Any) -> Iterator[Any]:
        """Yield features of some thousand items at a time, so that what is computed of them stays in the cache."""
        if self._at_once(features):
            yield features
            return
        for start in range(0, max(len(features), 1), AT_ONCE):
            yield features[start : start + AT_ONCE]

    def _at_once(self, features: Any) -> bool:
        """Return whether items cannot be taken apart: pictures in files, and what a function or a list scores."""
        return not isinstance(features, np.ndarray) or isinstance(self.scorer, ArrayScorer | FunctionScorer)

    def _score_block(self, features: Any, outside: BoolArray | None) -> Scores:
        """Return the scores of some items, of which it is known what is unusual, (n, columns)."""
        scores = self.scorer.score(features)
        expected = len(self.classes), len(self.expert_names)
        if (scores.n_classes, scores.n_experts) != expected:
            raise InputError(
                f"expected {expected[0]} class and {expected[1]} expert columns, "
                f"got {scores.n_classes} and {scores.n_experts}."
            )
        calibrated = scores if self.calibrator is None else self.calibrator.apply(scores)
        filled = fill_with_pool_mean(calibrated, self._known())
        if outside is None or self.calibrator is None or self.calibrator.accuracy is None or not outside.any():
            return filled
        return self.calibrator.accuracy.bound(filled, np.logical_or.reduce(outside, axis=1))

    def _known(self) -> BoolArray:
        """Return whose skill is known, (J,): they answered, or have a head, which knows the average expert."""
        answered = self.answer_counts > 0
        team = self.scorer
        return answered | (team.order >= team.n_own) if isinstance(team, TeamScorer) else answered

    def expert_sd(self, X: Any = None) -> FloatArray:
        """Return the standard deviation of P(expert j is right | x), (n, J), after calibration.

        It shows how little is known of the expert, not how hard the item is; nan for experts without a shrunk head.
        """
        return self.sd_of_features(self.features(X))

    def sd_of_features(self, features: Any) -> FloatArray:
        """Return the standard deviations for items whose `features` are at hand."""
        scores = self.scorer.score(features)
        if not isinstance(self.scorer, TeamScorer) or scores.link == "weight":
            return np.full(scores.expert_proba.shape, np.nan)
        middle, logit_sd = self.scorer.logit_posterior(features)
        known = np.isfinite(logit_sd)
        spread, middle = np.where(known, logit_sd, 0.0), np.where(known, middle, 0.0)
        low, high = (_proba(scores, middle + step * spread, self.calibrator) for step in (-1.0, 1.0))
        mean = _proba(scores, None, self.calibrator)
        return np.where(known, np.minimum((high - low) / 2.0, np.sqrt(mean * (1.0 - mean))), np.nan)


def fill_with_pool_mean(scores: Scores, answered: BoolArray) -> Scores:
    """Give each expert who never answered the mean of those who did, item by item.

    Parameters
    ----------
    scores : Scores of n items
    answered : (J,) bool
        Did expert j answer anything in training?

    >>> scores = Scores.from_probabilities([[1.0, 0.0]], [[0.9, 0.7, 0.1]])
    >>> fill_with_pool_mean(scores, np.array([True, True, False])).expert_proba.round(3).tolist()
    [[0.9, 0.7, 0.8]]
    """
    if answered.all() or not answered.any():
        return scores
    mean = scores.expert_proba[:, answered].mean(axis=1, keepdims=True)
    proba = np.where(answered, scores.expert_proba, mean)
    raw_mean = logit(mean) if scores.link == "logit" else np.log(np.maximum(mean, np.finfo(np.float64).tiny))
    raw = np.where(answered, scores.expert_raw, raw_mean)
    return Scores.computed(scores.class_proba, scores.model_proba, raw, scores.link, expert_proba=proba)


def items_of_shape(X: Any, item_shape: tuple[int, ...], *, source: str) -> Any:
    """Return n items as an array or as `PictureFiles`, each of the shape that a deep net was made for."""
    items = X if isinstance(X, PictureFiles) else np.asarray(X)
    if tuple(items.shape[1:]) != item_shape or items.dtype.kind not in "buif":
        raise InputError(
            f"{source} must be numbers of shape (n, {', '.join(map(str, item_shape))}) as in fit, got "
            f"{items.dtype} of shape {tuple(items.shape)}."
        )
    if items.dtype.kind == "f" and not np.isfinite(items).all():
        row = int(np.argwhere(~np.isfinite(items))[0][0])
        raise InputError(f"{source} must be finite, got nan or inf in row {row}; mend it or leave the row out.")
    return items


def _proba(scores: Scores, log_odds: FloatArray | None, calibrator: Calibrator | None) -> FloatArray:
    """Return the calibrated probabilities at these log-odds, or at the scores' own."""
    raw = scores.expert_raw
    if log_odds is not None:
        raw = log_odds if scores.link == "logit" else -np.logaddexp(0.0, -log_odds)
    if calibrator is not None:
        return sigmoid(calibrator.experts.logits(raw))
    return sigmoid(raw) if scores.link == "logit" else np.minimum(np.exp(np.minimum(raw, 0.0)), 1.0)
