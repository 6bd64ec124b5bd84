"""The heads of several teams learned in one training, as heads that send no gradient into the trunk allow.

The trunk learns from the classes alone, and each expert's column from that expert's answers alone: with the weights
to start from and the answers of separate runs, every team ends as in a run of its own, and so does one classifier.
"""

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from benchmarks.many_experts.methods import METHODS
from benchmarks.many_experts.training import Nets, answers_of, build_net, figures_of, record_of, train_feed
from defero.losses import DeferralLoss
from defero.nets import DeferralNet
from defero.nets.deferral_net import DeferralHead
from defero.training import AnswerSource, Verdicts, fit_deep
from defero_verma2023.training.cifar10_parts import Cifar10Parts

ALONE, HEADS = METHODS["classifier"], METHODS["heads"]


class SideBySide(AnswerSource):
    """The answers of several sources, their experts one after the other."""

    def __init__(self, sources: Sequence[AnswerSource]) -> None:
        self.sources = sources

    def place(self, labels: Tensor) -> None:
        """Make every source ready."""
        for source in self.sources:
            source.place(labels)

    def at(self, epoch: int) -> Verdicts:
        """Return the verdicts of an epoch, (n, sum of J)."""
        return Verdicts(torch.cat([source.at(epoch).correct for source in self.sources], dim=1))

    def check_sum(self) -> int:
        """Return that of all sources."""
        return hash(tuple(source.check_sum() for source in self.sources))


def run_heads_together(
    parts: Cifar10Parts, *, n_experts: Sequence[int], seed: int, nets: Nets
) -> tuple[dict[str, Any], ...]:
    """Train once; return the record of one classifier, and one with the heads of each number of experts."""
    began = time.monotonic()
    feed = train_feed(parts, SideBySide([answers_of(parts, n, seed=seed) for n in n_experts]), seed=seed)
    joined = joined_net(nets.trunk, n_experts, seed=seed)
    fit = fit_deep(joined, DeferralLoss(HEADS.loss), feed, settings=nets.settings, seed=seed)
    methods = (ALONE, *[HEADS] * len(n_experts))
    records = []
    for method, team in zip(
        methods, (DeferralNet(joined.trunk, joined.head), *teams_of(joined, n_experts)), strict=True
    ):
        figures = figures_of(team, parts, method, feed, seed=seed)
        records.append(record_of(method, team.n_experts, figures, fit, seed=seed, nets=nets, began=began))
    together = {"trained_together": [0, *n_experts]}
    return tuple(record | together for record in records)


def joined_net(trunk: str, n_experts: Sequence[int], *, seed: int) -> DeferralNet:
    """Return a net with the heads of all teams, each with the weights with which a run of its own starts."""
    net = build_net(trunk, HEADS, sum(n_experts), seed=seed)
    apart = [_expert_head(build_net(trunk, HEADS, n, seed=seed)) for n in n_experts]
    _write(_expert_head(net), torch.cat([head.weight for head in apart]), torch.cat([head.bias for head in apart]))
    return net


def teams_of(joined: DeferralNet, n_experts: Sequence[int]) -> tuple[DeferralNet, ...]:
    """Return the net of each team; all share the trunk and the classes' head."""
    every = _expert_head(joined)
    teams, start = [], 0
    for n in n_experts:
        head = DeferralHead(every.in_features, 0, n).to(every.weight.device)
        _write(head, every.weight[start : start + n], every.bias[start : start + n])
        teams.append(DeferralNet(joined.trunk, joined.head, None, head))
        start += n
    return tuple(teams)


def _expert_head(net: DeferralNet) -> DeferralHead:
    assert net.expert_head is not None
    return net.expert_head


@torch.no_grad()
def _write(head: DeferralHead, weight: Tensor, bias: Tensor) -> None:
    head.weight.copy_(weight)
    head.bias.copy_(bias)
