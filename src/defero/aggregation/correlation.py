"""How much each vote should count where experts err together."""

import numpy as np
from numpy.typing import ArrayLike

from defero.aggregation.arguments import answer_numbers, expert_probabilities, label_numbers
from defero.core.checks import BoolArray, FloatArray
from defero.core.labels import MISSING


def vote_discount(answers: ArrayLike, labels: ArrayLike, expert_proba: ArrayLike) -> FloatArray:
    """Estimate each expert's effective weight in a vote, on held-out data.

    With c_j in {0, 1} (was j right?) the residual c_j - p_j is what expert_proba did not foresee. r_ij is the
    correlation of the residuals of i and j over the m_ij items that both answered, rho_ij =
    max(0, r_ij - 1 / sqrt(m_ij)) takes off one standard error, so that few shared items count for
    little, and

        w_j = 1 / (1 + sum_{i != j} rho_ij).

    Independent experts keep about 1; J identical ones get about 1/J each, so that together they have one vote.

    Limits: it looks at being wrong together, not at giving the same wrong answer; one number per expert stands for
    all items and all panels, so in a panel without the clones a clone counts for too little; negative
    correlation is not rewarded; pairs with few shared items pass for independent, and so does an expert whose
    residual never varies.

    Parameters
    ----------
    answers : (n, J) int
        Class numbers of held-out items, -1 where missing.
    labels : (n,) int
        The truth, as class numbers.
    expert_proba : (J,) or (n, J)
        P(expert j is right | x).

    Returns
    -------
    (J,) weights in (0, 1], for `weighted_vote` and `bayes_vote`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels, one, other = rng.integers(2, size=(3, 10_000))
    >>> vote_discount(np.stack([one, one, other], axis=1), labels, [0.5, 0.5, 0.5]).round(2).tolist()
    [0.5, 0.5, 1.0]
    """
    array = np.asarray(answers)
    highest = int(array.max()) + 1 if array.size and array.dtype.kind in "iu" else 1
    given = answer_numbers(answers, n_classes=max(highest, 1))
    truth = label_numbers(labels, n_items=len(given))
    proba = expert_probabilities(expert_proba, n_items=len(given), n_experts=given.shape[1])
    observed = given != MISSING
    residual = np.where(observed, (given == truth[:, None]) - proba, 0.0)
    correlation, shared = _pairwise(residual, observed)
    excess = np.maximum(correlation - 1 / np.sqrt(np.maximum(shared, 1)), 0)
    np.fill_diagonal(excess, 0)
    return 1 / (1 + excess.sum(axis=0))


def _pairwise(residual: FloatArray, observed: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return (J, J) correlations over shared items, 0 where they are not defined, and how many items are shared."""
    seen = observed.astype(np.float64)
    shared = seen.T @ seen
    count = np.maximum(shared, 1)
    mean = residual.T @ seen / count  # [i, j]: of expert i, over the items shared with j
    variance = (residual**2).T @ seen / count - mean**2
    covariance = residual.T @ residual / count - mean * mean.T
    spread = np.maximum(variance * variance.T, 0)
    varies = (variance > 1e-12) & (variance.T > 1e-12)  # the difference of two squares is rarely an exact 0
    root = np.sqrt(np.where(varies, spread, 1.0))
    return np.where(varies, np.clip(covariance / root, -1, 1), 0.0), shared
