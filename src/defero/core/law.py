"""The law of answers: what is said about a case given its class.

Everybody who answers one item shares a hidden difficulty u ~ N(0, 1), and where there are more than two classes a decoy
z ~ W_x(. | y), the wrong answer that is near at hand:

    P(j right | x, y, u) = sigmoid(s u + a_jy(x)),    mean over u = p_jy(x)
    P(m | x, y, z, j wrong) = c 1[m = z] + (1 - c) W_x(m | y),    W_x(m | y) in proportion to W(m | y) eta_m(x)^t

The first answer counts in full, later ones count less: they repeat what made the first one right or wrong. Who errs
says what the model too finds likely, by the power t of its probabilities eta. Given y the
two factors separate, so an item costs O(Q K) for each answer, with Q nodes of u.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Annotated

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray, check_shape, set_frozen
from defero.core.codec import Within
from defero.core.errors import InputError
from defero.core.scores import logit, sigmoid, softmax

EPS = 1e-6
"""Probabilities are clipped to [EPS, 1 - EPS]: nobody, expert or model, is beyond contradiction."""
MOST_DIFFICULTY = 8.0
"""Beyond this standard deviation of the log-odds everybody is right together or wrong together."""
MOST_DECOY = 0.95
MOST_LEAN = 2.0
_N_NODES = 9
_GRID = np.linspace(-60.0, 60.0, 6_001)


@lru_cache(maxsize=1)
def _gauss() -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of a standard normal number, (Q,) each."""
    x, w = np.polynomial.hermite_e.hermegauss(_N_NODES)
    return x, w / w.sum()


@dataclass(frozen=True, eq=False)
class Law:
    """How the answers to one item hang together, beyond what each expert alone is worth.

    Attributes
    ----------
    errors : (K, K)
        W: P(a wrong answer is m | y = k), of all experts together: 0 on the diagonal, rows sum to 1.
    difficulty : float
        s: how much harder some items are for everybody, as a standard deviation of log-odds. 0: not at all.
    decoy : float
        c: the share of wrong answers that are the same one.
    lean : float
        t: how far wrong answers lean to what the model finds likely. 0: not at all.
    trust : float
        b in [0, 1]: who looks best to ask is less good than they look, so that of whom the team chooses to ask the
        log-odds of being right count b times.
    temper : float
        g: what is reported after n answers is the posterior, drawn toward the prior: what the answers and the model
        add to it counts to the power max(1, n + tau)^-g. Decisions use the posterior.
    model_counts : float
        tau in [0, 1]: the model errs where people err, so it counts as so many answers of the n.
    prior : (K,), optional
        How frequent the classes are: tempering leads back to it. Equally by default.
    copies : (J,) int, optional
        A number for each expert; those with the same number answer alike and count once.

    Examples
    --------
    >>> Law.independent(3).errors.tolist()
    [[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
    """

    errors: FloatArray
    difficulty: Annotated[float, Within(0, MOST_DIFFICULTY)] = 0.0
    decoy: Annotated[float, Within(0, MOST_DECOY)] = 0.0
    lean: Annotated[float, Within(0, MOST_LEAN)] = 0.0
    trust: Annotated[float, Within(0, 1)] = 1.0
    temper: Annotated[float, Within(0, 2)] = 0.0
    model_counts: Annotated[float, Within(0, 1)] = 0.0
    prior: Annotated[FloatArray, Within(0, 1)] | None = None
    copies: Annotated[IntArray, Within(0)] | None = None

    def __post_init__(self) -> None:
        errors = np.asarray(self.errors, dtype=np.float64)
        n_classes = len(errors)
        check_shape("errors", errors, (n_classes, n_classes))
        off = ~np.eye(n_classes, dtype=np.bool_)
        if n_classes > 1 and (
            np.diag(errors).any() or not (errors[off] > 0).all() or not np.allclose(errors.sum(axis=1), 1)
        ):
            raise InputError(
                "must be 0 on the diagonal, positive elsewhere, and sum to 1 in each row.", argument="errors"
            )
        if self.prior is not None:
            check_shape("prior", self.prior, (n_classes,))
        most_of = {
            "difficulty": MOST_DIFFICULTY,
            "decoy": MOST_DECOY,
            "lean": MOST_LEAN,
            "trust": 1.0,
            "temper": 2.0,
            "model_counts": 1.0,
        }
        for name, most in most_of.items():
            if not 0 <= getattr(self, name) <= most:
                raise InputError(f"must lie between 0 and {most:g}, got {getattr(self, name)}.", argument=name)
        set_frozen(self, errors=errors)
        if self.copies is not None:  # numbered anew from 0: a table of who was heard has a column for each number
            set_frozen(self, copies=np.unique(self.copies, return_inverse=True)[1])

    @classmethod
    def independent(cls, n_classes: int) -> "Law":
        """Return the law of experts who err independently, and alike on the other classes."""
        return cls(uniform_errors(n_classes))

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.errors)

    @cached_property
    def uniform(self) -> bool:
        """Whether wrong answers fall on the other classes alike."""
        return bool(np.allclose(self.errors, uniform_errors(self.n_classes), rtol=0, atol=1e-12))

    @property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """S u and the weights of the nodes, (Q,) each; one node without a difficulty."""
        if self.difficulty == 0:
            return np.zeros(1), np.ones(1)
        u, w = _gauss()
        return self.difficulty * u, w

    def at_nodes(self, right: FloatArray) -> FloatArray:
        """Return the log-odds of being right at each difficulty, (..., Q), whose mean probability is `right`."""
        shift, _ = self.nodes
        return self._middle(right)[..., None] + shift

    def _middle(self, right: FloatArray) -> FloatArray:
        """Return a with mean over u of sigmoid(s u + a) = right: from a table, and one step of Newton's method."""
        log_odds = logit(np.clip(right, EPS, 1 - EPS))
        if self.difficulty == 0:
            return log_odds
        shift, weight = self.nodes
        a = np.interp(log_odds, _table(self.difficulty), _GRID)
        p = sigmoid(a[..., None] + shift)
        miss = p @ weight - sigmoid(log_odds)
        return np.asarray(a - miss / np.maximum((p * (1 - p)) @ weight, 1e-300))

    def when_asked(self, right: FloatArray) -> FloatArray:
        """Return P(right) of those whom a team chooses to ask, in the shape of P(right) of anybody."""
        return right if self.trust == 1 else sigmoid(self.trust * logit(np.clip(right, EPS, 1 - EPS)))

    def tempered(self, log_posterior: FloatArray, n_heard: FloatArray) -> FloatArray:
        """Return what is reported for a posterior (n, K) after so many answers (n,)."""
        n_classes = self.n_classes
        base = np.full(n_classes, -np.log(n_classes)) if self.prior is None else np.log(np.clip(self.prior, EPS, 1.0))
        power = np.maximum(1.0, n_heard + self.model_counts) ** -self.temper
        return softmax(base + power[:, None] * (log_posterior - base))

    def take(self, experts: IntArray) -> "Law":
        """Return the law of some experts, in this order."""
        return self if self.copies is None else replace(self, copies=self.copies[experts])

    def with_newcomer(self) -> "Law":
        """Return the law with one more expert at the end, who is nobody's copy."""
        if self.copies is None:
            return self
        return replace(self, copies=np.append(self.copies, self.copies.max(initial=-1) + 1))


@lru_cache(maxsize=64)
def _table(difficulty: float) -> FloatArray:
    """Return the log-odds of the mean probability at each a of the grid: it rises with a."""
    u, weight = _gauss()
    z = _GRID[:, None] + difficulty * u
    log_right = np.log(np.exp(-np.logaddexp(0.0, -z)) @ weight)
    log_wrong = np.log(np.exp(-np.logaddexp(0.0, z)) @ weight)
    return np.asarray(log_right - log_wrong)


def uniform_errors(n_classes: int) -> FloatArray:
    """Return errors that are uniform over the other classes, (K, K).

    >>> uniform_errors(3).tolist()
    [[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
    """
    return (1.0 - np.eye(n_classes)) / max(n_classes - 1, 1)
