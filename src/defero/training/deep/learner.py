"""Net and loss as one module: compiled together, and wrapped together where several processes share a training."""

from torch import Tensor, nn

from defero.losses import DeferralLoss
from defero.nets import Logits


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
