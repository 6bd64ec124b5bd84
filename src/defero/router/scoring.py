"""From what a caller has to the scores that a router decides by."""

from typing import TYPE_CHECKING, Any

import numpy as np

from defero.core.checks import BoolArray, FloatArray, float_matrix
from defero.core.errors import InputError
from defero.core.scores import Scores, logit
from defero.core.wording import join_names
from defero.data.recipes.pictures import PictureFiles
from defero.scorers.given import ArrayScorer, FunctionScorer
from defero.scorers.team import TeamScorer

if TYPE_CHECKING:
    from defero.router.chain import Router


def feature_matrix(router: "Router", X: Any, *, source: str, first_row: int) -> Any:
    """Return the matrix that the scorer takes; see `Router.features`."""
    if isinstance(router.scorer, ArrayScorer | FunctionScorer):
        return X
    if router.recipe is not None:
        if not hasattr(X, "columns"):
            raise InputError(
                f"X must be a DataFrame with the columns of fit ({join_names(router.recipe.inputs)}), "
                f"got {type(X).__name__}."
            )
        return router.recipe.apply(X, source=source, first_row=first_row)
    if router.item_shape is not None:
        return items_of_shape(X, router.item_shape, source=source)
    matrix: FloatArray = float_matrix(source, X)
    if matrix.shape[1] != router.n_features:
        raise InputError(f"{source} has {matrix.shape[1]} features, but fit saw {router.n_features}.")
    return matrix


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


def honest_scores(router: "Router", features: Any) -> Scores:
    """Return calibrated scores of n items, an expert of whom nothing is known as good as the others on average."""
    scores = router.scorer.score(features)
    expected = len(router.classes), len(router.expert_names)
    if (scores.n_classes, scores.n_experts) != expected:
        raise InputError(
            f"expected {expected[0]} class and {expected[1]} expert columns, "
            f"got {scores.n_classes} and {scores.n_experts}."
        )
    honest = scores if router.calibrator is None else router.calibrator.apply(scores)
    return fill_with_pool_mean(honest, _known(router))


def _known(router: "Router") -> BoolArray:
    """Tell of whom something is known, (J,): they answered, or have a head, which says what the population does."""
    answered = router.answer_counts > 0
    team = router.scorer
    return answered | (team.order >= team.n_own) if isinstance(team, TeamScorer) else answered


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
    return Scores(scores.class_proba, proba, scores.model_proba, raw, scores.link)
