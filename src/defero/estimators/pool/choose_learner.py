"""Choose a learner by what its choices are worth on items it was not fitted on; calibrate its expected scores there."""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import nnls

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.wording import join_names
from defero.estimators.pool.learners import LEARNERS, Learner
from defero.estimators.pool.pool_data import PoolData
from defero.pools.models import Part, ScoreModel

FEWEST_SCORES = 30
"""With fewer, a member's expected scores are uncertain, and a note says so."""


def score_notes(n_scores: IntArray, expert_names: tuple[str, ...]) -> list[str]:
    """Return a sentence on the members without a score, and one on those with few.

    >>> score_notes(np.array([200, 12, 0]), ("gpt", "phi", "qwen"))[1]
    'few scores to learn from: phi 12. Their expected scores are shrunk toward the average and are uncertain.'
    """
    counts = dict(zip(expert_names, n_scores.tolist(), strict=True))
    none = [name for name, count in counts.items() if not count]
    few = [f"{name} {count}" for name, count in counts.items() if 0 < count < FEWEST_SCORES]
    verb, counted = ("have", "count as average members") if len(none) > 1 else ("has", "counts as the average member")
    notes = []
    if none:
        notes.append(
            f"{join_names(none)} {verb} no score to learn from and {counted}: only a lower price speaks for them."
        )
    if few:
        notes.append(
            f"few scores to learn from: {join_names(few)}. Their expected scores are shrunk toward the average and are "
            "uncertain."
        )
    return notes


def with_average_members(covariance: FloatArray, learned: BoolArray) -> FloatArray:
    """Return the covariance (J, J) of all members, from that of the learned ones; the others are their average.

    The own variance of an average member is at least the mean variance of the learned ones.

    >>> with_average_members(np.array([[0.2, 0.1], [0.1, 0.3]]), np.array([True, True, False])).round(2).tolist()
    [[0.2, 0.1, 0.15], [0.1, 0.3, 0.2], [0.15, 0.2, 0.25]]
    """
    if learned.all():
        return covariance
    mix = np.empty((len(covariance), len(learned)))
    mix[:, learned], mix[:, ~learned] = np.eye(len(covariance)), 1.0 / len(covariance)
    spread = mix.T @ covariance @ mix
    new = np.flatnonzero(~learned)
    spread[new, new] = np.maximum(spread[new, new], np.diag(covariance).mean())
    return spread


BLEND = "blend"
FEW_SCORES = 200
"""Up to so many scores of the median member, shrunk heads are tried."""
ENOUGH_FOR_TREES, MOST_TREE_COLUMNS = 400, 64
_PRIOR_SCORES = 50.0
"""The calibration of a member starts at the identity with the weight of so many scores."""


@dataclass(frozen=True, eq=False)
class ChosenLearner:
    """A model with its held-out expectations.

    Attributes
    ----------
    name : str
        The learner.
    model : ScoreModel
        Fitted on all items, and calibrated.
    held_out : (n, J)
        Expected scores of items that the model was not fitted on, calibrated.
    values : dict
        Mean held-out score of those whom each learner would choose, less their fees where there are any.
    """

    name: str
    model: ScoreModel
    held_out: FloatArray
    values: dict[str, float] = field(default_factory=dict)


def candidates(data: PoolData) -> list[str]:
    """Return the learners that "auto" tries on these data, the simplest first."""
    n_scores = float(np.median(np.isfinite(data.scores).sum(axis=0)))
    names = ["table"]
    if len(data.others):
        names += ["ridge", "knn"]
    # On directions of texts, trees took 60 times the time of the others and chose no better.
    few_columns = data.tree_columns.n_columns <= MOST_TREE_COLUMNS and not data.has_texts
    if few_columns and n_scores >= ENOUGH_FOR_TREES:
        names += ["trees"]
    if n_scores < FEW_SCORES and data.n_members > 1:
        names += ["heads"]
    return names


def choose(data: PoolData, name: str | Learner, fees: FloatArray | None = None) -> ChosenLearner:
    """Fit the learner of this name, or with "auto" the best one.

    Parameters
    ----------
    data : PoolData
    name : str or function
    fees : (n, J), optional
        What a call costs in points of quality, price / trade-off: learners are compared by score minus fee. NaN where a
        price is not known; there the member is not chosen.
    """
    if not isinstance(name, str):
        learners: dict[str, Learner] = {getattr(name, "__name__", "own"): name}
    else:
        known = candidates(data) if name == "auto" else [name]
        learners = {one: LEARNERS.find(one, also=("auto",)) for one in known}
    held = {one: _held_out(data, learner) for one, learner in learners.items()}
    parts_of: dict[str, list[tuple[str, float]]] = {one: [(one, 1.0)] for one in held}
    if len(held) > 2:
        weights = _blend_weights(held, data.scores)
        held[BLEND] = _held_out_blend(held, data)
        parts_of[BLEND] = [(one, w) for one, w in weights.items() if w > 0]
    chosen, values = _best(held, data.scores, fees)
    parts: list[Part] = []
    weights_of_parts: list[float] = []
    for one, w in parts_of[chosen]:
        fitted = learners[one](data)
        parts += fitted
        weights_of_parts += [w] * len(fitted)
    slope, offset = calibration(held[chosen], data.scores)
    model = ScoreModel.of(parts, weights_of_parts).calibrated(slope, offset)
    return ChosenLearner(chosen, model, np.clip(held[chosen] * slope + offset, 0.0, 1.0), values)


def _held_out(data: PoolData, learner: Learner) -> FloatArray:
    """Return the expected scores (n, J) of each part from the other parts."""
    expected = np.empty(data.scores.shape)
    folds = np.unique(data.fold)
    if len(folds) < 2:  # all items belong together: nothing can be held out
        return ScoreModel.of(*_once(learner(data))).linear_values(data.features)
    for f in folds:
        out = data.fold == f
        fitted = ScoreModel.of(*_once(learner(data.take(np.flatnonzero(~out)))))
        expected[out] = fitted.linear_values(data.features[out])
    return expected


def _held_out_blend(held: dict[str, FloatArray], data: PoolData) -> FloatArray:
    """Return the blend (n, J) of held-out expectations; the weights of each part come from the other parts."""
    blend = np.zeros(data.scores.shape)
    folds = np.unique(data.fold)
    for f in folds:
        out = data.fold == f
        learned = ~out if len(folds) > 1 else out
        weights = _blend_weights({one: values[learned] for one, values in held.items()}, data.scores[learned])
        blend[out] = sum((w * held[one][out] for one, w in weights.items()), blend[out])
    return blend


def _once(parts: list[Part]) -> tuple[list[Part], list[float]]:
    return parts, [1.0] * len(parts)


def gained(expected: FloatArray, scores: FloatArray, fees: FloatArray | None = None) -> FloatArray:
    """Return the score, less the fee, of the one for whom it is expected to be highest, (n,); nan for nobody.

    Only those with a score, and with a known fee, can be chosen.

    >>> gained(np.array([[0.6, 0.9]]), np.array([[1.0, 0.0]]), np.array([[0.1, 0.5]])).tolist()
    [0.9]
    """
    paid = scores if fees is None else scores - fees
    expected = np.clip(expected, 0.0, 1.0) - (0.0 if fees is None else fees)
    priced = np.isfinite(paid)
    best = np.where(priced, expected, -np.inf).argmax(axis=1)
    return np.where(priced.any(axis=1), paid[np.arange(len(scores)), best], np.nan)


def _best(
    held: dict[str, FloatArray], scores: FloatArray, fees: FloatArray | None = None
) -> tuple[str, dict[str, float]]:
    """Return the learner to take, and the value of each.

    The first is the simplest: another one must gain more than one standard error over it. Of those within one standard
    error of the highest value, the one with the least squared error.
    """
    gains = {one: gained(expected, scores, fees) for one, expected in held.items()}
    values = {one: float(np.nanmean(gain)) for one, gain in gains.items()}
    simplest = next(iter(held))
    above = [
        one for one in held if one != simplest and values[one] - values[simplest] > _error(gains[one] - gains[simplest])
    ]
    if not above:
        return simplest, values
    top = max(above, key=lambda one: values[one])
    near = [one for one in above if values[top] - values[one] <= _error(gains[top] - gains[one])]
    loss = {one: float(np.nanmean((scores - np.clip(held[one], 0.0, 1.0)) ** 2)) for one in near}
    return min(near, key=lambda one: loss[one]), values


def _error(difference: FloatArray) -> float:
    known = difference[np.isfinite(difference)]
    return float(known.std() / np.sqrt(max(len(known), 1)))


def _blend_weights(held: dict[str, FloatArray], scores: FloatArray) -> dict[str, float]:
    """Return weights of at least 0 with the least squared error of the differences between members."""
    scored = np.isfinite(scores)
    counts = np.maximum(scored.sum(axis=1, keepdims=True), 1)

    def centered(values: FloatArray) -> FloatArray:
        known = np.where(scored, values, 0.0)
        return (known - np.where(scored, known.sum(axis=1, keepdims=True) / counts, 0.0))[scored]

    design = np.column_stack([centered(expected) for expected in held.values()])
    # The triangle R of a QR decomposition has R'R = A'A: the same squared error in as many rows as there are learners.
    half, triangle = np.linalg.qr(design)
    weights, _ = nnls(triangle, half.T @ centered(scores))
    total = weights.sum()
    weights = weights / total if total > 0 else np.full(len(held), 1.0 / len(held))
    return dict(zip(held, weights.tolist(), strict=True))


def calibration(expected: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return slope and offset (J,) with which expectations meet the scores; with few scores near 1 and 0."""
    scored = np.isfinite(scores)
    n = scored.sum(axis=0)
    value = np.where(scored, expected, 0.0)
    center = value.sum(axis=0) / np.maximum(n, 1)
    gap = np.where(scored, scores - expected, 0.0)
    spread = np.where(scored, expected - center, 0.0)
    variance = max(float((spread**2).sum() / max(n.sum(), 1)), 1e-6)
    slope = 1.0 + (spread * gap).sum(axis=0) / ((spread**2).sum(axis=0) + _PRIOR_SCORES * variance)
    slope = np.maximum(slope, 0.0)  # a higher expectation never means less
    shift = gap.sum(axis=0) / (n + _PRIOR_SCORES)
    return slope, shift + center * (1.0 - slope)


def chosen_map(expected: FloatArray, scores: FloatArray) -> tuple[float, float]:
    """Return (a, b): the expected score of the one with the highest is a + b s, as the held-out scores say."""
    if expected.shape[1] < 2:
        return 0.0, 1.0
    best = expected.argmax(axis=1)
    rows = np.arange(len(best))
    slope, offset = calibration(expected[rows, best][:, None], scores[rows, best][:, None])
    return float(offset[0]), float(slope[0])


def score_covariance(expected: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the covariance (J, J) of the scores around their expectations, pair by pair where both are known."""
    scored = np.isfinite(scores).astype(np.float64)
    gap = np.where(scored > 0, scores - expected, 0.0)
    both = np.maximum(scored.T @ scored, 1.0)
    covariance = gap.T @ gap / both
    covariance[np.diag_indices_from(covariance)] = np.maximum(np.diag(covariance), 1e-4)
    return covariance
