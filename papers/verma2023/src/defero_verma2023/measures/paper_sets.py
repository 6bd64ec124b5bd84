"""The two statistics of Verma, Barrejon and Nalisnick (2023), section 5 and appendix B, as the text has them.

Kept for comparison; docs/explanation/panels.md says how they relate to `ExpertSetPredictor`. The paper does not say
what happens to items that no expert gets right, for which its statistics are not defined: they are left out here.
"""

import math
import warnings
from typing import NamedTuple

import numpy as np

from defero import InputError
from defero.decide.panels import TARGETS, ConformalSets, conformal_quantile
from defero_verma2023.arrays import BoolArray, FloatArray

BETAS = np.linspace(3.5, 1e-3, 50)
LAMBDAS = np.linspace(0.0, 1.0, 1500)
TUNING_SHARE = 0.3
SLACK = 1e-9
"""For rounding where a rank is computed: 100 * (1 - 0.95) is 5.000000000000004."""


class NaiveExpertSets(ConformalSets[float]):
    """Add experts from the top while the sum of their scores stays under a quantile (Eq. 14).

    With pi the order of falling scores and E the rank of the lowest right expert, S = sum_{e <= E} s_{pi_e};
    q is the conformal quantile of S, and the set holds pi_1, pi_2, ... while the running sum is at most q. Then
    every right expert is in the set with probability at least 1 - alpha, given that one exists. Experts with equal
    scores keep their order.

    The paper states its aim for the one best expert; what is observed, and so promised, is who was right.

    Parameters
    ----------
    alpha : float
        In (0, 1).

    Examples
    --------
    >>> naive = NaiveExpertSets(0.5).fit([[0.75, 0.5, 0.25]] * 3, [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> naive.thresholds_[None], naive.predict([[0.25, 0.5, 0.75]]).mask.tolist()
    (1.25, [[False, True, True]])
    """

    def _calibrate(self, expert_proba: FloatArray, right: BoolArray) -> float:
        sums = _running_sums(expert_proba)
        return conformal_quantile(np.where(right, sums, -np.inf).max(axis=1, initial=-np.inf), alpha=self.alpha)

    def _inside(self, expert_proba: FloatArray, cut: float) -> BoolArray:
        return _running_sums(expert_proba) <= cut


class RegularizedCut(NamedTuple):
    """What `RegularizedExpertSets` finds: the two parameters, and lambda, +inf where no lambda keeps the promise."""

    beta: float
    kappa: float
    lambda_: float


class RegularizedExpertSets(ConformalSets[RegularizedCut]):
    """Sets {j: s_j + beta (s_j - kappa) > 1 - lambda} whose missed share is controlled (Eq. 15, appendix B).

    lambda is the smallest of 1,500 equally spaced values in [0, 1] with n / (n + 1) mean missed share +
    1 / (n + 1) <= alpha. Then the expected share of right experts left out is at most alpha.

    Parameters
    ----------
    alpha : float
        In (0, 1).
    beta : float, optional
        At least 0. Else the one of 50 values from 3.5 to 0.001 whose sets are smallest on average; the first of
        several.
    kappa : float, optional
        Else the lower alpha-quantile of the right experts' scores, so that at most a share alpha of them is lower.
    exact : bool
        Take lambda from the whole line, without a grid. The sets do not depend on beta and kappa then.
    random_state : int
        Deals out the 30 % of the rows on which the missing ones of beta and kappa are chosen; the others calibrate
        lambda. With both given all rows calibrate.

    Notes
    -----
    Read as follows where the text leaves a choice. Algorithm 1 takes the "1 - alpha quantile" of scores sorted in
    falling order: that is the lower alpha-quantile, as section 5 describes it; no finite-sample correction is made.
    The rows on which beta's sets are sized are not named: the same 30 %, with lambda found on them. Where no lambda
    of the grid keeps the promise, the infimum of nothing is +inf: the full set, with a warning. And an exact lambda
    is an infimum that the strict inequality does not attain: its limit from above, >=, is meant.

    Examples
    --------
    >>> given = RegularizedExpertSets(0.5, beta=1.0, kappa=0.5, exact=True)
    >>> cut = given.fit([[0.75, 0.5]] * 3, [[1, 0], [0, 1], [1, 1]]).thresholds_[None]
    >>> cut.lambda_, given.predict([[0.75, 0.5]]).mask.tolist()
    (0.5, [[True, True]])
    """

    def __init__(
        self,
        alpha: float,
        beta: float | None = None,
        kappa: float | None = None,
        *,
        exact: bool = False,
        random_state: int = 0,
    ) -> None:
        super().__init__(alpha)
        if beta is not None and not 0 <= beta < math.inf:
            raise InputError(f"must be a number of at least 0, got {beta}.", argument="beta")
        if kappa is not None and not math.isfinite(kappa):
            raise InputError(f"must be a finite number, got {kappa}.", argument="kappa")
        self.beta, self.kappa = beta, kappa
        self.exact, self.random_state = exact, random_state

    def _calibrate(self, expert_proba: FloatArray, right: BoolArray) -> RegularizedCut:
        beta, kappa = self.beta, self.kappa
        rest = np.arange(len(expert_proba))
        if beta is None or kappa is None:
            shuffled = np.random.default_rng(self.random_state).permutation(len(expert_proba))
            n_tuning = round(TUNING_SHARE * len(shuffled))
            tuning, rest = shuffled[:n_tuning], shuffled[n_tuning:]
            kappa = lower_quantile(expert_proba[tuning][right[tuning]], alpha=self.alpha) if kappa is None else kappa
            beta = self._smallest_sets(expert_proba[tuning], right[tuning], kappa) if beta is None else beta
        lambda_ = self._lambda(_stretched(expert_proba[rest], beta, kappa), right[rest])
        return RegularizedCut(beta, kappa, lambda_)

    def _inside(self, expert_proba: FloatArray, cut: RegularizedCut) -> BoolArray:
        if cut.lambda_ == math.inf:
            return np.ones(expert_proba.shape, dtype=np.bool_)
        stretched = _stretched(expert_proba, cut.beta, cut.kappa)
        return 1 - stretched <= cut.lambda_ if self.exact else 1 - stretched < cut.lambda_

    def _warn_of_full_sets(self) -> None:
        for stratum, cut in self.thresholds_.items():
            if cut.lambda_ == math.inf:
                where = "" if stratum is None else f" in stratum {stratum}"
                warnings.warn(
                    f"no lambda keeps the promise{where} (beta={cut.beta:g}, kappa={cut.kappa:g}, "
                    f"alpha={self.alpha:g}): full sets there. Give more rows, a larger alpha, or exact=True.",
                    UserWarning,
                    stacklevel=3,
                )

    def _lambda(self, stretched: FloatArray, right: BoolArray) -> float:
        if self.exact:
            # On the scale of lambda, where the sets are compared: 1 - (1 - x) need not be x.
            return -TARGETS.find("missed-share").threshold(stretched - 1, right, alpha=self.alpha)
        return grid_lambda(stretched, right, alpha=self.alpha)

    def _smallest_sets(self, expert_proba: FloatArray, right: BoolArray, kappa: float) -> float:
        if self.exact:
            return float(BETAS[0])
        cuts = [
            RegularizedCut(float(beta), kappa, self._lambda(_stretched(expert_proba, float(beta), kappa), right))
            for beta in BETAS
        ]
        sizes = [self._inside(expert_proba, cut).sum() for cut in cuts]
        return cuts[int(np.argmin(sizes))].beta


def lower_quantile(values: FloatArray, *, alpha: float) -> float:
    """Return the ceil((1 - alpha) m)-th largest of m values; at most a share alpha lies below. 0 for no values.

    >>> lower_quantile(np.array([0.1, 0.2, 0.3, 0.4]), alpha=0.25)
    0.2
    """
    if len(values) == 0:
        return 0.0
    rank = max(1, math.ceil((1 - alpha) * len(values) - SLACK))
    return float(np.sort(values)[len(values) - rank])


def grid_lambda(stretched: FloatArray, right: BoolArray, *, alpha: float) -> float:
    """Return the smallest lambda of the grid that keeps the missed share, +inf if none does.

    A right expert with value v is missed where 1 - v >= lambda, so the grid point below which it is missed is found
    by one search per expert.

    >>> grid_lambda(np.array([[0.5]] * 3), np.array([[True]] * 3), alpha=0.3) > 0.5
    True
    """
    has_right = right.any(axis=1)
    n_right = right[has_right].sum(axis=1)
    first_inside = np.searchsorted(LAMBDAS, (1 - stretched)[right], side="right")
    leaving = np.bincount(first_inside, weights=np.repeat(1 / n_right, n_right), minlength=len(LAMBDAS) + 1)
    missed = leaving.sum() - np.cumsum(leaving)[: len(LAMBDAS)]
    holds = missed + 1 <= alpha * (len(n_right) + 1) + SLACK
    return float(LAMBDAS[np.argmax(holds)]) if holds.any() else math.inf


def _stretched(expert_proba: FloatArray, beta: float, kappa: float) -> FloatArray:
    return (1 + beta) * expert_proba - beta * kappa


def _running_sums(expert_proba: FloatArray) -> FloatArray:
    """(n, J): for each expert, the sum of the scores down to theirs."""
    order = np.argsort(-expert_proba, axis=1, kind="stable")
    sums = np.empty_like(expert_proba)
    np.put_along_axis(sums, order, np.cumsum(np.take_along_axis(expert_proba, order, axis=1), axis=1), axis=1)
    return sums
