"""How often the team is right: what it said, its accuracy, its recall, and how far to trust such a share."""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import FloatArray
from defero.core.errors import InputError, listing
from defero.core.labels import Labels, as_column
from defero.core.results import Decision
from defero.metrics.arguments import check_length, chosen_experts, numbers
from defero.metrics.recorded import answer_columns, asked_answers, check_same_form, complete_labels


def system_labels(expert: ArrayLike | Decision, model_labels: ArrayLike, answers: ArrayLike) -> Labels:
    """Return what the team said of each item: the model's label or the chosen expert's answer.

    Parameters
    ----------
    expert : (n,) int, or a Decision
        -1 where the model answers, else the expert's index.
    model_labels : (n,)
        The model's own labels, names or class numbers.
    answers : (n, J)
        The experts' answers in the same form. No answer is -1 in an integer array, NaN in a float array, None
        or NaN in an object array; where -1 is a class, pass floats or objects.

    Returns
    -------
    (n,)
        The team's labels.

    Examples
    --------
    >>> system_labels([0, -1, 1], ["a", "b", "a"], [["b", "a"], ["a", "a"], [None, "b"]]).tolist()
    ['b', 'b', 'b']
    """
    columns = answer_columns(answers)
    by_model = complete_labels("model_labels", model_labels, n_items=len(columns))
    deferred, asked = asked_answers(chosen_experts(expert), columns)
    check_same_form("answers", asked, "model_labels", by_model)
    said = by_model.astype(np.result_type(by_model, asked))
    said[deferred] = asked
    return said


def system_accuracy(
    labels: ArrayLike,
    model_labels: ArrayLike,
    answers: ArrayLike,
    expert: ArrayLike | Decision,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the share of items that the team gets right, sum_i w_i [said_i = y_i] / sum_i w_i.

    Parameters
    ----------
    labels : (n,)
        The truth, names or class numbers.
    model_labels : (n,)
        The model's own labels in the same form.
    answers : (n, J)
        The experts' answers in the same form; see `system_labels`.
    expert : (n,) int, or a Decision
        -1 where the model answers, else the expert's index.
    sample_weight : (n,), optional
        Not negative; 1 for each item where nothing is said.

    Returns
    -------
    float
        nan where there are no items or all weights are 0.

    Examples
    --------
    >>> system_accuracy([0, 1, 1], [0, 0, 0], [[0, 0], [1, 0], [0, 0]], [-1, 0, 1])
    0.6666666666666666
    """
    said = system_labels(expert, model_labels, answers)
    truth = complete_labels("labels", labels, n_items=len(said))
    check_same_form("labels", truth, "what the team said", said)
    return _weighted_share(said == truth, sample_weight)


def recall_per_class(labels: ArrayLike, said: ArrayLike, classes: ArrayLike) -> FloatArray:
    """Return for each class the share of its items that were called so, (K,), in the order of `classes`.

    Parameters
    ----------
    labels : (n,)
        The truth, each one of `classes`.
    said : (n,)
        What was said, for example by `system_labels`.
    classes : (K,)
        Distinct.

    Returns
    -------
    (K,)
        nan for a class without items.

    Examples
    --------
    >>> recall_per_class(["a", "a", "b"], ["a", "b", "b"], ["a", "b", "c"]).tolist()
    [0.5, 1.0, nan]
    """
    truth, told = as_column(labels, name="labels"), as_column(said, name="said")
    kinds = as_column(classes, name="classes")
    check_length("said", told, n_items=len(truth))
    if len(set(kinds.tolist())) != len(kinds):
        raise InputError(f"classes must be distinct, got {listing(kinds.tolist())}.")
    is_class = truth[:, None] == kinds[None, :]
    strange = np.flatnonzero(~is_class.any(axis=1))
    if strange.size:
        item = int(strange[0])
        raise InputError(
            f"labels must be among the classes {listing(kinds.tolist())}, got {truth[item]!r} for item {item}."
        )
    check_same_form("said", told, "labels", truth)
    hits, items = is_class[told == truth].sum(axis=0), is_class.sum(axis=0)
    return np.divide(hits, items, out=np.full(len(kinds), np.nan), where=items > 0)


def wilson_interval(successes: float, total: float, *, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval for a share: the p whose z-test does not reject successes / total.

    With s = successes / total and z the normal quantile of (1 + level) / 2, the ends are
    (s + z^2 / (2 total) -+ z sqrt(s (1 - s) / total + z^2 / (4 total^2))) / (1 + z^2 / total).

    Parameters
    ----------
    successes, total : float
        0 <= successes <= total.
    level : float
        How often such intervals hold the true share, in (0, 1).

    Returns
    -------
    (low, high)
        Inside [0, 1]; (nan, nan) where total is 0.

    Examples
    --------
    >>> low, high = wilson_interval(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    if not 0 < level < 1:
        raise InputError(f"level must lie in (0, 1), got {level}; for a 95% interval pass 0.95.")
    if not (0 <= successes <= total and math.isfinite(total)):
        raise InputError(f"successes must lie in 0..total, got {successes} of {total}.")
    if total == 0:
        return math.nan, math.nan
    z = -NormalDist().inv_cdf((1 - level) / 2)  # from the lower tail, which stays exact as level nears 1
    share, spread = successes / total, z * z / total
    centre = share + spread / 2
    half = math.sqrt(spread * (share * (1 - share) + spread / 4))
    low = max(0.0, (centre - half) / (1 + spread))
    # With nothing but successes the end is 1 in theory, and 1 - 1e-16 in floats.
    high = 1.0 if successes == total else min(1.0, (centre + half) / (1 + spread))
    return low, high


def _weighted_share(is_right: ArrayLike, sample_weight: ArrayLike | None) -> float:
    right = np.asarray(is_right, dtype=np.float64)
    if sample_weight is None:
        return float(right.mean()) if right.size else math.nan
    weight = numbers("sample_weight", sample_weight, n_items=len(right))
    if weight.size and (weight.min() < 0 or not np.isfinite(weight).all()):
        item = int(np.argmax((weight < 0) | ~np.isfinite(weight)))
        raise InputError(f"sample_weight must be finite and not negative, got {weight[item]:g} for item {item}.")
    return float(right @ weight / weight.sum()) if weight.sum() > 0 else math.nan
