"""Scoring: from features to what a team believes of each item."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, float_matrix
from defero.core.errors import InputError
from defero.core.labels import Labels
from defero.core.order import HashArray, row_hashes
from defero.core.scores import Scores, logit, sigmoid
from defero.core.wording import join_names
from defero.data.recipes.inputs import NumberedColumns, as_table, texts_in
from defero.data.recipes.pictures import PictureFiles
from defero.data.recipes.recipe import FeatureRecipe
from defero.learn.calibrator import Calibrator
from defero.learn.scorer import SkillScorer
from defero.scorers.given import GivenScorer

if TYPE_CHECKING:
    from defero.team.team import Team

FIRST_NUMBERS = 64
"""So many numbers of an embedding tell cases apart that share work."""
AT_ONCE = 4096
"""So many items are scored at a time. In pieces of 50,000 half of the time goes into fetching memory."""


def features_of(team: "Team", X: Any, *, source: str, first_row: int) -> Any:
    """Return the matrix that the scorer takes; see `Team.features`."""
    if isinstance(team.scorer, GivenScorer):
        return X
    if team.recipe is not None:
        return team.recipe.apply(_frame(team, X, source=source), source=source, first_row=first_row)
    if team.item_shape is not None:
        return items_of_shape(X, team.item_shape, source=source)
    if np.ndim(X) == 1 and team.usual is None and len(X) == team.n_features:  # one item
        X = np.asarray(X)[None]
    single = isinstance(X, np.ndarray) and X.dtype == np.float32 and X.ndim == 2 and team.usual is None
    matrix: FloatArray = X if single else float_matrix(source, X)  # its scorer checks that it is finite
    _check_width(matrix.shape[1], team.n_features, source=source)
    return matrix if team.usual is None else team.usual.clip(matrix)


def _frame(team: "Team", X: Any, *, source: str) -> Any:
    """Return the table that a recipe takes: X, or an array with numbered columns if fit had one."""
    if hasattr(X, "columns"):
        return X
    if isinstance(team.recipe, FeatureRecipe) and (isinstance(X, Mapping) or texts_in(X) is not None):
        return as_table(X, team.recipe)
    if not isinstance(team.recipe, FeatureRecipe) or team.facts.columns is not None:
        names = join_names(team.recipe.inputs) if team.recipe is not None else "none"
        raise InputError(
            f"must be a DataFrame with the columns of fit ({names}), got {type(X).__name__}.", argument="X"
        )
    table = NumberedColumns(X)
    _check_width(len(table.columns), team.recipe.n_inputs, source=source)
    return table


def _check_width(n_columns: int, n_fitted: int | None, *, source: str) -> None:
    if n_columns != n_fitted:
        raise InputError(f"{source} has {n_columns} features, but fit saw {n_fitted}.")


def outside(team: "Team", features: Any) -> BoolArray | None:
    """Return which columns make a case unusual, (n, columns), from its `features`; None for other input."""
    if isinstance(team.recipe, FeatureRecipe):
        return team.recipe.unusual(features)
    return None if team.usual is None else team.usual.outside(features)


def names_of(team: "Team", outside: BoolArray) -> Labels:
    """Return the names of the columns that make each case unusual, (n,), joined by "; "."""
    names = np.full(len(outside), "", dtype=object)
    if not outside.any():
        return names
    columns = (
        team.recipe.inputs
        if isinstance(team.recipe, FeatureRecipe)
        else [f"column {place}" for place in range(outside.shape[1])]
    )
    for row in np.flatnonzero(outside.any(axis=1)).tolist():
        names[row] = "; ".join(columns[place] for place in np.flatnonzero(outside[row]).tolist())
    return names


def score_features(team: "Team", features: Any) -> Scores:
    """Return calibrated scores of n items whose `features` are at hand; see `Team.score_features`."""
    blocks = _feature_blocks(team, features)
    return Scores.concatenated([score_block(team, block, outside(team, block)) for block in blocks])


def scored(team: "Team", X: Any, *, source: str, first_row: int) -> tuple[Any, Scores, Labels | None]:
    """Return features, scores and what is unusual; see `Team.scored`."""
    features = features_of(team, X, source=source, first_row=first_row)
    scores, marks = [], []
    for block in _feature_blocks(team, features):
        unusual = outside(team, block)
        scores.append(score_block(team, block, unusual))
        marks += [] if unusual is None else [unusual]
    return features, Scores.concatenated(scores), names_of(team, np.concatenate(marks)) if marks else None


def blocks_of(team: "Team", X: Any) -> tuple[Iterator[tuple[Any, BoolArray | None]], int | None]:
    """Return features of some thousand items at a time with what is unusual of them (None: nothing), and n.

    n is None where all items are one block.
    """
    features = team.features(X)
    n_items = None if _at_once(team, features) else len(features)
    return ((block, outside(team, block)) for block in _feature_blocks(team, features)), n_items


def cases_of(team: "Team", X: Any, features: Any, *, start: int = 0) -> Callable[[IntArray], HashArray]:
    """Return what tells cases apart: from the numbers of some rows of `features` to a hash of each.

    That is the case's key where the table X has the column that was the key in `fit`, else its features; a fixed list
    of items has no more than their places.
    """
    key = team.facts.spec.key
    if key is not None and hasattr(X, "columns") and key in X.columns:
        return lambda rows: row_hashes(np.asarray(X[key])[rows + start, None])
    if isinstance(features, PictureFiles):
        return lambda rows: row_hashes(features.take(rows).identities())
    if hasattr(features, "iloc"):
        return lambda rows: row_hashes(features.iloc[rows])
    if isinstance(features, np.ndarray) and features.ndim == 2 and features.dtype.kind in "biuf":
        n_columns = FIRST_NUMBERS if features.dtype == np.float32 else features.shape[1]
        return lambda rows: row_hashes(features[rows, :n_columns])
    return lambda rows: (rows + start).astype(np.uint64)


def _feature_blocks(team: "Team", features: Any) -> Iterator[Any]:
    """Yield features of some thousand items at a time, so that what is computed of them stays in the cache."""
    if _at_once(team, features):
        yield features
        return
    for start in range(0, max(len(features), 1), AT_ONCE):
        yield features[start : start + AT_ONCE]


def _at_once(team: "Team", features: Any) -> bool:
    """Return whether items cannot be taken apart: pictures in files, and what a function or a list scores."""
    return not isinstance(features, np.ndarray) or isinstance(team.scorer, GivenScorer)


def score_block(team: "Team", features: Any, outside: BoolArray | None) -> Scores:
    """Return the scores of some items, of which it is known what is unusual, (n, columns)."""
    scores = team.scorer.score(features)
    expected = len(team.classes), len(team.expert_names)
    if (scores.n_classes, scores.n_experts) != expected:
        raise InputError(
            f"expected {expected[0]} class and {expected[1]} expert columns, "
            f"got {scores.n_classes} and {scores.n_experts}."
        )
    calibrated = scores if team.calibrator is None else team.calibrator.apply(scores)
    filled = fill_with_pool_mean(calibrated, _known(team))
    if outside is None or team.calibrator is None or not outside.any():
        return filled
    return team.calibrator.bound(filled, np.logical_or.reduce(outside, axis=1))


def _known(team: "Team") -> BoolArray:
    """Return whose skill is known, (J,): they answered, or have a head, which knows the average expert."""
    answered = team.answer_counts > 0
    scorer = team.scorer
    return answered | (scorer.order >= scorer.n_own if isinstance(scorer, SkillScorer) else team.scored_only)


def sd_of_features(team: "Team", features: Any) -> FloatArray:
    """Return the standard deviations of P(right), (n, J), after calibration; see `Team.expert_sd`."""
    scores = team.scorer.score(features)
    if not isinstance(team.scorer, SkillScorer) or scores.link == "weight":
        return np.full(scores.expert_proba.shape, np.nan)
    middle, logit_sd = team.scorer.logit_posterior(features)
    known = np.isfinite(logit_sd)
    spread, middle = np.where(known, logit_sd, 0.0), np.where(known, middle, 0.0)
    low, high = (_proba(scores, middle + step * spread, team.calibrator) for step in (-1.0, 1.0))
    mean = _proba(scores, None, team.calibrator)
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
        return sigmoid(calibrator.expert_log_odds(raw))
    return sigmoid(raw) if scores.link == "logit" else np.minimum(np.exp(np.minimum(raw, 0.0)), 1.0)
