"""Heads: all experts' heads together, from features to P(expert is right) and how sure that is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, flags, frozen, index_numbers, item_weights
from defero.core.errors import InputError
from defero.core.scores import sigmoid
from defero.heads.head import FULL_FEATURES, Head, fit_each
from defero.heads.log_loss import ExpertLogLoss
from defero.heads.population import fit_prior
from defero.heads.prior import HeadPrior

_PRODUCTS_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class Heads:
    """The heads of J experts with d weights each, and the population they come from.

    Attributes
    ----------
    prior : HeadPrior
    weights : (J, d)
    covariance : (J, d, d), or (J, d) variances where d > 64
    n_answers : (J,) int

    Examples
    --------
    >>> prior = HeadPrior(np.zeros(1), np.ones(1), np.array([1.0, 0.0]), np.array([1.0, 0.5]), np.zeros((2, 2)))
    >>> nobody = Heads.none(prior)
    >>> from defero.heads import fit_head
    >>> one = nobody.with_head(fit_head(np.zeros((0, 1)), [], prior))  # has answered nothing
    >>> one.proba([[0.0], [3.0]]).round(3).tolist()  # sigmoid(1) is 0.731
    [[0.7], [0.66]]
    """

    prior: HeadPrior
    weights: FloatArray
    covariance: FloatArray
    n_answers: IntArray

    def __post_init__(self) -> None:
        n_experts, d = len(self.weights), len(self.prior.mean)
        shapes = {"weights": (n_experts, d), "covariance": (n_experts, *_shape(d)), "n_answers": (n_experts,)}
        for name, shape in shapes.items():
            value = getattr(self, name)
            if value.shape != shape or not np.isfinite(value).all():
                raise InputError(f"must be finite numbers of shape {shape}, got shape {value.shape}.", argument=name)
            object.__setattr__(self, name, frozen(value))

    @classmethod
    def none(cls, prior: HeadPrior) -> "Heads":
        """Return the heads of no experts."""
        d = len(prior.mean)
        return cls(prior, np.empty((0, d)), np.empty((0, *_shape(d))), np.empty(0, dtype=np.int64))

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.weights)

    def log_odds(self, phi: ArrayLike) -> FloatArray:
        """Return the log-odds of `proba`, m / sqrt(1 + pi s^2 / 8), (n, J), with m = phi . w and s its `logit_sd`.

        The mean of sigmoid(z) over z ~ N(m, s^2) to within 0.02 (MacKay 1992): who is little known is near 1/2.
        """
        design = self.prior.design(phi)
        return (design @ self.weights.T) / np.sqrt(1.0 + np.pi * self._variance(design) / 8.0)

    def proba(self, phi: ArrayLike) -> FloatArray:
        """Return P(expert j is right | x), the mean over what their head may be, (n, J)."""
        return sigmoid(self.log_odds(phi))

    def logit_sd(self, phi: ArrayLike) -> FloatArray:
        """Return the standard deviation of phi . w_j, sqrt(phi' C_j phi), (n, J)."""
        return np.sqrt(self._variance(self.prior.design(phi)))

    def take(self, experts: Sequence[int]) -> "Heads":
        """Return the heads of some experts, in this order."""
        chosen = np.array(list(experts), dtype=np.int64)
        return replace(
            self,
            weights=self.weights[chosen],
            covariance=self.covariance[chosen],
            n_answers=self.n_answers[chosen],
        )

    def with_head(self, head: Head) -> "Heads":
        """Return the heads with one more at the end; the others are as they were."""
        return replace(
            self,
            weights=np.concatenate([self.weights, head.weights[None]]),
            covariance=np.concatenate([self.covariance, head.covariance[None]]),
            n_answers=np.append(self.n_answers, head.n_answers),
        )

    def arrays(self) -> dict[str, Any]:
        """Return what a model folder keeps, by name: of the symmetric covariances one half."""
        return {
            **{f"prior.{name}": value for name, value in self.prior.arrays().items()},
            "weights": self.weights,
            "covariance": self.covariance if self.covariance.ndim == 2 else _halves(self.covariance),
            "n_answers": self.n_answers,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "Heads":
        """Return the heads that `arrays()` described, bit for bit."""
        prior = {name.removeprefix("prior."): value for name, value in arrays.items() if name.startswith("prior.")}
        read = HeadPrior.from_arrays(prior)
        d = len(read.mean)
        try:
            covariance = np.asarray(arrays["covariance"], dtype=np.float64)
            return cls(
                read,
                np.asarray(arrays["weights"], dtype=np.float64),
                covariance if d > FULL_FEATURES else _whole(covariance, d),
                np.asarray(arrays["n_answers"], dtype=np.int64),
            )
        except (KeyError, TypeError, IndexError) as error:
            raise InputError(
                f"must be what arrays() returns, got something else: {error!r}.", argument="arrays"
            ) from error

    def _variance(self, design: FloatArray) -> FloatArray:
        """Return phi' C_j phi, (n, J)."""
        if self.covariance.ndim == 2:
            return design**2 @ self.covariance.T
        # One product of matrices: the items' pairs of features with each expert's half covariance.
        first, second = np.tril_indices(design.shape[1])
        pairs = _halves(self.covariance) * np.where(first == second, 1.0, 2.0)
        variance = np.empty((len(design), self.n_experts))
        for rows in _pieces(len(design), max(1, _PRODUCTS_AT_ONCE // len(first))):
            variance[rows] = (design[rows][:, first] * design[rows][:, second]) @ pairs.T
        return np.maximum(variance, 0.0)  # rounding


def fit_heads(
    phi: ArrayLike,
    item_idx: ArrayLike,
    expert_idx: ArrayLike,
    correct: ArrayLike,
    *,
    n_experts: int,
    prior: HeadPrior | None = None,
    weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Heads:
    """Fit the head of each of J experts from m answers: few keep near the population, many speak for themselves.

    Parameters
    ----------
    phi : (n, d - 1)
        Features of the items.
    item_idx, expert_idx : (m,) int
        Which item, and whose answer.
    correct : (m,) bool
        Was it right?
    n_experts : int
        J; those without answers get the prior.
    prior : HeadPrior, optional
        By default `fit_prior` learns it from these answers.
    weight, groups : optional
        As in `fit_prior`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> expert = np.repeat([0, 1], [300, 3])  # the second has answered three times
    >>> right = np.concatenate([rng.random(300) < 0.75, np.zeros(3, dtype=bool)])
    >>> heads = fit_heads(np.zeros((303, 0)), np.arange(303), expert, right, n_experts=3)
    >>> heads.proba(np.zeros((1, 0))).round(2).tolist()
    [[0.69, 0.17, 0.45]]
    """
    if prior is None:
        prior = fit_prior(phi, item_idx, expert_idx, correct, n_experts=n_experts, weight=weight, groups=groups)
    design = prior.design(phi)
    items = index_numbers("item_idx", item_idx, below=len(design))
    answers = ExpertLogLoss.of(
        design,
        items,
        index_numbers("expert_idx", expert_idx, below=n_experts, n_items=len(items)),
        flags("correct", correct, n_items=len(items)),
        n_experts=n_experts,
        weight=item_weights("weight", weight, n_items=len(items)),
    )
    weights, covariance = fit_each(answers, prior)
    return Heads(prior, weights, covariance, answers.counts)


def _shape(d: int) -> tuple[int, ...]:
    return (d, d) if d <= FULL_FEATURES else (d,)


def _halves(covariance: FloatArray) -> FloatArray:
    """Return the lower triangles of (J, d, d) as rows, (J, d (d + 1) / 2)."""
    first, second = np.tril_indices(covariance.shape[1])
    return np.ascontiguousarray(covariance[:, first, second])


def _whole(halves: FloatArray, d: int) -> FloatArray:
    """Return the symmetric matrices (J, d, d) of these triangles."""
    first, second = np.tril_indices(d)
    if halves.ndim != 2 or halves.shape[1] != len(first):
        raise InputError(
            f"must have {len(first)} columns, half of {d} x {d}, got shape {halves.shape}.", argument="covariance"
        )
    whole = np.empty((len(halves), d, d))
    whole[:, first, second] = whole[:, second, first] = halves
    return whole


def _pieces(n: int, size: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, n, size)]
