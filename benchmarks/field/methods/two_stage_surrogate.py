"""The two-stage surrogate with consistency bounds (Mao, Mohri, Mohri and Zhong, NeurIPS 2023)."""

import numpy as np
import torch
from torch import Tensor

from benchmarks.field.method import Choice
from benchmarks.field.methods.first_stage import FirstStage, fit_first_stage, log_proba
from benchmarks.field.methods.small_training import mlp, train
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray


def two_stage_loss(router_logits: Tensor, cost: Tensor, *, observed: Tensor | None = None) -> Tensor:
    r"""Cross entropy of the team, weighted by what each decider does not cost.

    .. math:: \sum_{j = 0}^{J} (1 - \bar c_j)\, \big(-\log \mathrm{softmax}(r_0, \ldots, r_J)_j\big)

    The classifier h is trained before and does not change; decider 0 is h with c_0 = 1[h(x) != y], and c_j =
    1[m_j != y] + fee_j (the logarithmic member of the paper's family, score-based setting). `rescaled` brings costs
    into [0, 1], as the paper assumes: a cost above 1 would have a negative weight, and the loss no minimum.

    Minimiser: softmax(r)_j = (1 - E c_j) / sum_i (1 - E c_i), so that the largest r has the least expected cost.

    An expert who did not answer is left out of the sum and of the normaliser: the same r are best for every pattern of
    answers, as long as who answers does not depend on being right given x.

    Parameters
    ----------
    router_logits : (n, 1 + J)
        r; the first column is the model's.
    cost : (n, 1 + J)
        In [0, 1].
    observed : (n, 1 + J) bool, optional
        The model is always observed.

    Returns
    -------
    (n,) values; the caller averages.
    """
    logits = router_logits
    if observed is not None:
        logits = logits.masked_fill(~observed, torch.finfo(logits.dtype).min / 2)
    each = (1 - cost) * -logits.log_softmax(dim=1)
    return (each if observed is None else each.masked_fill(~observed, 0.0)).sum(dim=1)


def rescaled(error: FloatArray, fees: FloatArray) -> FloatArray:
    """Return costs (error + fee) / (1 + largest fee), all in [0, 1]: (n, 1 + J) from errors and fees (1 + J,).

    >>> rescaled(np.array([[0.0, 1.0]]), np.array([0.0, 0.25])).tolist()
    [[0.0, 1.0]]
    """
    return (error + fees) / (1.0 + fees.max())


class TwoStageSurrogate:
    """A small network r over (x, log h(x)) on top of a fixed classifier.

    Costs are a part of the loss, so that other fees are another training. A fee for each case enters by its mean.
    """

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: FloatArray, y: IntArray, experts: IntArray) -> "TwoStageSurrogate":
        """Fit the classifier; the team is fitted once its fees are known."""
        n_classes = int(max(y.max(), experts.max(initial=0))) + 1
        self.first_: FirstStage = fit_first_stage(X, y, n_classes=n_classes, seed=self.random_state)
        model_wrong = self.first_.unseen_proba.argmax(axis=1) != y
        self._error = np.column_stack([model_wrong, experts != y[:, None]]).astype(np.float64)
        self._observed = np.column_stack([np.ones(len(y), dtype=bool), experts >= 0])
        self._inputs = np.column_stack([X, log_proba(self.first_.unseen_proba)])
        self._routers: dict[tuple[float, ...], torch.nn.Module] = {}
        self.team(np.zeros(experts.shape[1]))
        return self

    def team(self, fees: FloatArray) -> torch.nn.Module:
        """Return the team of these fees (J,), trained when it is first asked for."""
        key = tuple(np.round(fees, 9).tolist())
        if key not in self._routers:
            torch.manual_seed(self.random_state)
            module = mlp(self._inputs.shape[1], self._error.shape[1])
            inputs = torch.as_tensor(self._inputs, dtype=torch.float32)
            cost = torch.as_tensor(rescaled(self._error, np.append(0.0, fees)), dtype=torch.float32)
            observed = torch.as_tensor(self._observed)
            train(
                module,
                lambda rows: two_stage_loss(module(inputs[rows]), cost[rows], observed=observed[rows]),
                groups=np.arange(len(inputs)),
                seed=self.random_state,
            )
            self._routers[key] = module
        return self._routers[key]

    def decide(self, X: FloatArray, *, fees: FloatArray, available: BoolArray) -> Choice:
        """Choose the decider of the largest r; it promises nothing, as only ratios are learned."""
        proba = self.first_.proba(X)
        inputs = torch.as_tensor(np.column_stack([X, log_proba(proba)]), dtype=torch.float32)
        team = self.team(fees.mean(axis=0))
        with torch.no_grad():
            logits = team(inputs).numpy()
        logits[:, 1:][~available] = -np.inf
        return Choice(logits.argmax(axis=1) - 1, proba.argmax(axis=1))
