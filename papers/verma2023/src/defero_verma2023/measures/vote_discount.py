"""How much each expert's errors go with the others': by how much a Bayes vote must discount their answers."""

import numpy as np

from defero_verma2023.arrays import BoolArray, FloatArray, IntArray

AS_THE_OTHERS = 10
"""Answers as the others' that stand beside each expert's own in the mean and spread of their residuals and in their
discount."""


def vote_discount(answers: IntArray, labels: IntArray, expert_proba: FloatArray) -> FloatArray:
    """Return r_j in [0, 1], (J,), 0 for independent experts, from the answers of all J experts to n held-out items.

    The residual c_j - p_j is what P(expert j is right), (n, J), did not foresee. rho_ij is the correlation of the
    residuals of i and j as far as the items bear it out: drawn to the mean of all pairs, less one standard error, and
    never negative. r_j is the mean of rho_ij over the others, shrunk toward that of all experts by ten answers.

    >>> rng = np.random.default_rng(0)
    >>> labels, one, other = rng.integers(2, size=(3, 10_000))
    >>> vote_discount(np.stack([one, one, other], axis=1), labels, np.full((10_000, 3), 0.5)).round(2).tolist()
    [0.49, 0.49, 0.0]
    """
    n_items, n_experts = answers.shape
    if n_experts == 1:
        return np.zeros(1)
    rho = _borne_out(_standardised(answers == labels[:, None], expert_proba))
    together = n_items * rho.sum(axis=0) + AS_THE_OTHERS * rho.sum() / n_experts
    return np.asarray(together / ((n_experts - 1) * (n_items + AS_THE_OTHERS)))


def _standardised(correct: BoolArray, proba: FloatArray) -> FloatArray:
    """Return each expert's residuals with mean 0 and variance 1, (n, J); 0 where they are never surprising.

    Mean and variance of few answers are luck, so the mean is shrunk toward that of all answers, and the variance is
    drawn to p's own.
    """
    residual, n_items = correct - proba, len(proba)
    mean = (residual.sum(axis=0) + AS_THE_OTHERS * residual.mean()) / (n_items + AS_THE_OTHERS)
    centred = residual - mean
    own, foreseen = (centred**2).mean(axis=0), (proba * (1 - proba)).mean(axis=0)
    variance = np.maximum(own, (n_items * own + AS_THE_OTHERS * foreseen) / (n_items + AS_THE_OTHERS))
    varies = variance > 1e-12
    return np.where(varies, centred / np.sqrt(np.where(varies, variance, 1.0)), 0.0)


def _borne_out(surprise: FloatArray) -> FloatArray:
    """Return each pair's correlation as far as the n items bear it out, (J, J), in [0, 1] and 0 on the diagonal.

    The mean r of a pair's products x of standardised residuals has the variance s^2 / n. With correlations spread
    normally about mu with variance tau^2, a pair's is mu + t (r - mu), t = tau^2 / (tau^2 + s^2 / n), up to a standard
    error of sqrt(t s^2 / n), which is taken off. Clones are rarer and more alike than that: r itself counts as far as
    it is above what chance makes of the largest of so many pairs, sqrt(2 log pairs) standard errors.

    mu is the mean of all pairs less its standard error. tau^2 is the mean of (rho - mu)^2, where
    ((sum of x)^2 - sum of x^2) / (n (n - 1)) stands for rho^2: its expectation, whatever the distribution of x.
    """
    n_items, n_experts = surprise.shape
    off, n_pairs = ~np.eye(n_experts, dtype=np.bool_), n_experts * (n_experts - 1) / 2
    products, squares = surprise.T @ surprise, (surprise**2).T @ surprise**2
    mean = products / n_items
    pooled = mean[off].mean()
    spread = max(float(squares[off].mean() / n_items - pooled**2), 1.0)  # 1: what independence gives
    centre = max(pooled - np.sqrt(spread / (n_items * n_pairs)), 0.0)
    twice = n_items * (n_items - 1)
    apart = products**2 - squares - twice * (2 * centre * mean - centre**2)
    between, error = max(float(apart[off].mean() / twice), 0.0), spread / n_items
    trust = between / (between + error)
    drawn = centre + trust * (mean - centre) - np.sqrt(trust * error)
    largest = np.sqrt(2 * np.log(max(n_pairs, 2)) * error)
    return np.clip(np.maximum(drawn, mean - largest), 0, 1) * off
