"""Net and loss as one module, and how good a team is on a feed."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.results import MODEL
from defero.core.scores import Scores
from defero.decide.rules import MostLikelyRight
from defero.judge import expected_calibration_error
from defero.losses import DeferralLoss
from defero.nets import Logits
from defero.scorers.network import scores_from_logits
from defero.training.feeds import Feed
from defero.training.machine import Machine


class Learner(nn.Module):
    """Inputs, labels and verdicts in; the sum of the surrogate over the batch out.

    Parameters
    ----------
    net : nn.Module
        Maps prepared inputs to `Logits`.
    prepare : nn.Module
        Maps the feed's inputs to what the net reads.
    loss : DeferralLoss
    """

    def __init__(self, net: nn.Module, prepare: nn.Module, loss: DeferralLoss) -> None:
        super().__init__()
        self.net = net
        self.prepare = prepare
        self.loss = loss

    def forward(
        self,
        inputs: Tensor,
        labels: Tensor,
        correct: Tensor,
        observed: Tensor | None = None,
        expert_idx: Tensor | None = None,
    ) -> Tensor:
        """Return the sum, a scalar of float32 whatever the net computes in."""
        logits = self.net(self.prepare(inputs))
        return surrogate(self.loss, logits, labels, correct, observed, expert_idx).sum()


def surrogate(
    loss: DeferralLoss,
    logits: Logits,
    labels: Tensor,
    correct: Tensor,
    observed: Tensor | None,
    expert_idx: Tensor | None,
) -> Tensor:
    """Return the loss of each item, (n,), in float32 whatever the net computes in."""
    experts = logits.experts.float()
    return loss(
        logits.classes.float(),
        experts if expert_idx is None else experts.gather(1, expert_idx),
        labels,
        correct,
        observed=observed,
        model_logit=None if logits.model is None else logits.model.float(),
    )


@dataclass(frozen=True)
class Quality:
    """What an evaluation found.

    Attributes
    ----------
    loss : float
        Mean surrogate.
    system_accuracy : float
        The model or the expert that is asked, who must have answered.
    class_accuracy : float
        The model alone, on all items.
    ece : float
        Mean over the experts of the calibration error of P(right); nan without experts.
    deferred : float
        Share of the items that went to an expert.
    """

    loss: float
    system_accuracy: float
    class_accuracy: float
    ece: float
    deferred: float


def all_logits(net: nn.Module, feed: Feed, machine: Machine, *, batch_size: int) -> Logits:
    """Return the logits of all items in order, float32, on the device; every process gets all of them."""
    was_training = {module: module.training for module in net.modules()}
    net.eval()
    machine.agree_on_buffers(net)
    parts: list[Logits] = []
    try:
        with torch.no_grad(), machine.autocast():
            for inputs in feed.in_order(batch_size, piece=machine.piece):
                parts.append(_each(torch.Tensor.float, net(feed.prepare(inputs))))
    finally:
        for module, training in was_training.items():
            module.training = training
    model = None if parts[0].model is None else torch.cat([p.model for p in parts if p.model is not None])
    joined = Logits(torch.cat([p.classes for p in parts]), torch.cat([p.experts for p in parts]), model)
    return _each(lambda part: machine.together(part)[: len(feed)], joined)


def evaluate(net: nn.Module, loss: DeferralLoss, feed: Feed, machine: Machine, *, batch_size: int = 1024) -> Quality:
    """Judge a net on a feed that was placed on the machine's device."""
    logits = all_logits(net, feed, machine, batch_size=batch_size)
    verdicts = feed.verdicts()
    values = surrogate(loss, logits, feed.labels, verdicts.correct, verdicts.observed, verdicts.expert_idx)
    mean = float(values.double().mean())
    if not math.isfinite(mean):
        return Quality(*[math.nan] * 5)
    correct, observed = verdicts.cells(logits.experts.shape[1])
    model = None if logits.model is None else _numpy(logits.model)
    scores = scores_from_logits(loss.link, _numpy(logits.classes), _numpy(logits.experts), model_logit=model)
    return judge(scores, feed.labels.cpu().numpy(), correct.cpu().numpy(), observed.cpu().numpy(), loss=mean)


def judge(
    scores: Scores, labels: IntArray, correct: BoolArray, observed: BoolArray, *, loss: float = float("nan")
) -> Quality:
    """Judge scores against labels (n,) and who was right, correct (n, J) where observed (n, J).

    >>> scores = Scores.from_probabilities([[0.9, 0.1], [0.6, 0.4]], [[0.8], [0.8]])
    >>> everywhere = np.array([[True], [True]])
    >>> judge(scores, np.array([0, 1]), everywhere, everywhere).system_accuracy
    1.0
    """
    decider = MostLikelyRight().choose(scores.model_proba, np.where(observed, scores.expert_value, -np.inf))
    model_right = scores.class_idx == labels
    deferred = decider != MODEL
    team_right = model_right.copy()
    team_right[deferred] = correct[deferred, decider[deferred]]
    ece = float("nan")
    if correct.shape[1] and observed.any():
        ece = expected_calibration_error(scores.expert_proba, correct, observed=observed)
    return Quality(loss, float(team_right.mean()), float(model_right.mean()), ece, float(deferred.mean()))


def _each(change: Callable[[Tensor], Tensor], logits: Logits) -> Logits:
    model = None if logits.model is None else change(logits.model)
    return Logits(change(logits.classes), change(logits.experts), model)


def _numpy(tensor: Tensor) -> FloatArray:
    return tensor.double().cpu().numpy()
