"""The paper's two conformal procedures as its authors ran them, for comparison: use `defero.decide.panels` for work.

Where the runs differ from the paper's text, the runs are followed here; each place says so.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from defero import InputError
from defero_verma2023.arrays import BoolArray, IntArray
from defero_verma2023.measures.team_outputs import TeamOutputs

Float32Array = NDArray[np.float32]

BETA_GRID = np.linspace(3.5, 1e-3, 50)
LAMBDA_GRID = np.linspace(0.0, 1.0, 1500)
TUNING_SHARE = 0.3
_SHARE_EPSILON = 1e-5


def outputs_as_run(run: TeamOutputs) -> tuple[Float32Array, BoolArray]:
    """Return the expert scores (n, J) and which items are deferred (n,).

    One-vs-all: sigmoids in single precision, whose saturation at 1 makes ties. Softmax: the softmax over all K + J
    outputs, t_j; the paper's text has t_j / (1 - sum t). Ties between a class and an expert go to the class.
    """
    logits = np.concatenate([run.class_logits, run.expert_logits], axis=1).astype(np.float32)
    if run.link == "ova":
        with np.errstate(over="ignore"):  # exp(-logit) = inf means a sigmoid of 0
            outputs = np.float32(1) / (np.float32(1) + np.exp(-logits))
    elif run.link == "softmax":
        raised = np.exp(logits - logits.max(axis=1, keepdims=True))
        outputs = raised / raised.sum(axis=1, keepdims=True)
    else:
        raise InputError(f"method must be 'ova' or 'softmax', got {run.link!r}.")
    n_classes = run.class_logits.shape[1]
    return outputs[:, n_classes:], outputs.argmax(axis=1) >= n_classes


@dataclass(frozen=True)
class NaiveAsRun:
    """Experts in descending order of score while their sum stays within `limit`."""

    limit: float

    def predict(self, expert_scores: Float32Array) -> BoolArray:
        """Return the sets, (n, J); they may be empty."""
        if expert_scores.shape[1] == 1:
            return np.ones_like(expert_scores, dtype=np.bool_)
        order, sums = _descending_sums(expert_scores)
        mask = np.empty(expert_scores.shape, dtype=np.bool_)
        np.put_along_axis(mask, order, sums <= self.limit, axis=1)
        return mask


def fit_naive(expert_scores: Float32Array, expert_correct: BoolArray, *, alpha: float) -> NaiveAsRun:
    """Calibrate on deferred items.

    Two differences from the text. An item without a right expert is kept, with the sum up to the expert with the
    last index. The quantile is an interpolating one, "higher", at level k / n with k = ceil((n + 1)(1 - alpha)):
    that is the (k + 1)-th smallest of n sums, one rank too high, unless k = n.

    >>> scores = np.tile(np.float32([0.5, 0.25]), (20, 1))
    >>> correct = np.tile([True, False], (20, 1))
    >>> fit_naive(scores, correct, alpha=0.1)
    NaiveAsRun(limit=0.5)
    """
    n_items, n_experts = expert_scores.shape
    rank = math.ceil((n_items + 1) * (1 - alpha))
    if rank > n_items:
        raise InputError(
            f"= {alpha} needs more deferred items than {n_items}; the authors' code stops as well.", argument="alpha"
        )
    order, sums = _descending_sums(expert_scores)
    right = np.take_along_axis(expert_correct, order, axis=1)
    last_right = n_experts - 1 - right[:, ::-1].argmax(axis=1)
    last_index = (order == n_experts - 1).argmax(axis=1)
    stop = np.where(right.any(axis=1), last_right, last_index)
    statistic = np.take_along_axis(sums, stop[:, None], axis=1)[:, 0]
    return NaiveAsRun(float(np.quantile(statistic, rank / n_items, method="higher")))


@dataclass(frozen=True)
class RegularizedAsRun:
    """Experts with (1 + beta) s - beta kappa >= lambda, which is one threshold on s."""

    kappa: float
    beta: float
    lam: float

    @property
    def threshold(self) -> float:
        """The same set on the scale of the scores: s >= (lambda + beta kappa) / (1 + beta)."""
        return (self.lam + self.beta * self.kappa) / (1 + self.beta)

    def predict(self, expert_scores: Float32Array) -> BoolArray:
        """Return the sets, (n, J); they may be empty."""
        return _stretched(expert_scores, self.beta, self.kappa) >= self.lam


def fit_regularized(expert_scores: Float32Array, expert_correct: BoolArray, *, alpha: float) -> RegularizedAsRun:
    """Tune kappa and beta on the first 30 % of the deferred items, find lambda on the rest. Rows in random order.

    kappa is the 1 - alpha quantile, ascending, of the right experts' scores; the text sorts them descending.
    beta is the one with the smallest mean set on the tuning items, the first where several tie; the missed share
    plays no part in this choice.
    """
    n_experts = expert_scores.shape[1]
    n_tuning = math.ceil(TUNING_SHARE * len(expert_scores))
    tuning_scores, tuning_correct = expert_scores[:n_tuning], expert_correct[:n_tuning]
    if not tuning_correct.any() or n_tuning == len(expert_scores):
        raise InputError(f"{len(expert_scores)} deferred items are too few to tune kappa and beta and to find lambda.")
    kappa = float(np.quantile(tuning_scores[tuning_correct], 1 - alpha, method="higher"))
    pivot = critical_score(tuning_scores, tuning_correct, alpha=alpha)
    ascending = np.sort(tuning_scores, axis=None).astype(np.float64)
    sizes = []
    for beta in BETA_GRID:
        lam = grid_lambda(pivot, beta=beta, kappa=kappa)
        left_out = np.searchsorted(_stretched(ascending, beta, kappa), lam, side="left")
        sizes.append((ascending.size - left_out) / n_tuning)
    best = int(np.argmin(sizes))
    if sizes[best] >= n_experts:
        raise InputError("no beta of the grid gives sets smaller than all experts; the authors' code stops as well.")
    beta = float(BETA_GRID[best])
    rest = critical_score(expert_scores[n_tuning:], expert_correct[n_tuning:], alpha=alpha)
    return RegularizedAsRun(kappa, beta, grid_lambda(rest, beta=beta, kappa=kappa))


def critical_score(expert_scores: Float32Array, expert_correct: BoolArray, *, alpha: float) -> float:
    """Return the right expert's score whose loss brings the risk to alpha; -inf if it is there already, inf if never.

    The risk is n / (n + 1) R + 1 / (n + 1), R the mean over n items of 1 - |set and right| / (|right| + 1e-5):
    an item without a right expert counts as a loss of 1, whatever the set. Which score this is does not depend on
    beta, kappa or lambda, so that a search over 50 x 1,500 grid values needs one sort.
    """
    n_items = len(expert_scores)
    n_right = expert_correct.sum(axis=1)
    weight = np.broadcast_to((1 / (n_right + _SHARE_EPSILON))[:, None], expert_correct.shape)[expert_correct]
    scores = expert_scores[expert_correct].astype(np.float64)
    order = np.argsort(scores, kind="stable")
    missed_before = float(np.sum(1 - n_right / (n_right + _SHARE_EPSILON)))
    missed = missed_before + np.concatenate([[0.0], np.cumsum(weight[order])])
    too_much = np.flatnonzero((missed + 1) / (n_items + 1) >= alpha)
    if too_much.size == 0:
        return math.inf
    return float(scores[order[too_much[0] - 1]]) if too_much[0] > 0 else -math.inf


def grid_lambda(critical: float, *, beta: float, kappa: float) -> float:
    """Return the last grid value that still keeps the critical score; 0 if the first one loses it, or none does.

    >>> round(grid_lambda(0.5, beta=0.0, kappa=0.0), 4)
    0.4997
    >>> grid_lambda(-0.5, beta=0.0, kappa=0.0), grid_lambda(1.5, beta=0.0, kappa=0.0)
    (0.0, 0.0)
    """
    if math.isinf(critical):
        return 0.0
    first_loss = int(np.searchsorted(LAMBDA_GRID, (1 + beta) * critical - beta * kappa, side="right"))
    return float(LAMBDA_GRID[first_loss - 1]) if 0 < first_loss < len(LAMBDA_GRID) else 0.0


def vote_as_run(answers: IntArray, mask: BoolArray, expert_scores: Float32Array, *, n_classes: int) -> IntArray:
    """Return the majority's label, the smallest where labels tie; the top expert's answer where the set is empty.

    >>> vote_as_run(np.array([[2, 1], [2, 1]]), np.array([[True, True], [False, False]]),
    ...             np.float32([[0.9, 0.8], [0.9, 0.8]]), n_classes=3).tolist()
    [1, 2]
    """
    rows = np.arange(len(answers))
    ballots = np.zeros((len(answers), n_classes), dtype=np.int64)
    np.add.at(ballots, (rows[:, None], answers), mask)
    return np.where(mask.any(axis=1), ballots.argmax(axis=1), answers[rows, expert_scores.argmax(axis=1)])


def naive_voters_as_run(mask: BoolArray) -> BoolArray:
    """Return whom the naive vote heard: the first experts by index, as many as the set holds, not its members.

    The mask of the sorted experts was applied to the unsorted answers.

    >>> naive_voters_as_run(np.array([[False, True, True]])).tolist()
    [[True, True, False]]
    """
    return np.arange(mask.shape[1]) < mask.sum(axis=1, keepdims=True)


def _descending_sums(expert_scores: Float32Array) -> tuple[IntArray, Float32Array]:
    order = np.argsort(-expert_scores, axis=1, kind="stable")
    return order, np.cumsum(np.take_along_axis(expert_scores, order, axis=1), axis=1, dtype=np.float32)


def _stretched(scores: NDArray[np.floating], beta: float, kappa: float) -> NDArray[np.float64]:
    return (1 + beta) * scores.astype(np.float64) - beta * kappa
