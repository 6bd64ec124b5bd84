"""What a trained network says of items that it was not trained on, in the form in which teams are measured."""

import torch
from torch import Tensor

from defero.nets import DeferralNet
from defero.training import DeviceFeed, FixedAnswers, Machine, Verdicts, all_logits
from defero_verma2023.arrays import FloatArray, IntArray
from defero_verma2023.measures.team_outputs import TeamOutputs


def network_outputs(
    module: DeferralNet, feed: DeviceFeed, machine: Machine, *, loss: str, answers: IntArray, batch_size: int
) -> TeamOutputs:
    """Look at the items of a feed.

    Parameters
    ----------
    module : DeferralNet
    feed : DeviceFeed
        Of n items, with their labels.
    machine : Machine
    loss : str
        What the net was trained with.
    answers : (n, J) int
        The experts'.
    batch_size : int
        Items that are looked at together.
    """
    feed.place(machine.device)
    logits = all_logits(module, feed, machine, batch_size=batch_size)
    model = None if logits.model is None else as_numpy(logits.model)
    labels = feed.labels.cpu().numpy()
    return TeamOutputs(loss, as_numpy(logits.classes), as_numpy(logits.experts), answers, labels, model)


def nothing_said(n_items: int, *, n_experts: int = 0) -> FixedAnswers:
    """Return answers for a feed that nothing is learned from, or for a net without experts."""
    return FixedAnswers(Verdicts(torch.zeros(n_items, n_experts, dtype=torch.bool)))


def as_numpy(tensor: Tensor) -> FloatArray:
    """Return a tensor's numbers, widened.

    >>> as_numpy(torch.tensor([0.5])).dtype
    dtype('float64')
    """
    return tensor.double().cpu().numpy()
