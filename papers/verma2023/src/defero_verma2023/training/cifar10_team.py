"""One network on CIFAR-10, trained end to end with its experts: from scratch, or from a trunk that is given."""

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np
import torch
from torch import Tensor

from defero import InputError
from defero.losses import DeferralLoss
from defero.nets import DeferralNet, net_by_name
from defero.training import (
    AnswerSource,
    Augmentation,
    DeviceFeed,
    LoopSettings,
    RedrawnByClass,
    fit_deep,
    start_machine,
)
from defero_verma2023.measures.team_outputs import TeamOutputs
from defero_verma2023.methods import END_TO_END, LOSSES, check_pool
from defero_verma2023.pools.pool import ExpertPool
from defero_verma2023.runs.trained_team import TrainedTeam
from defero_verma2023.training.cifar10_parts import Cifar10Parts
from defero_verma2023.training.network_outputs import network_outputs, nothing_said

N_CLASSES = 10
CUTOUT = 0
N_LOOK = 1_000
"""Pictures that are looked at together after the training."""


def train_team(
    parts: Cifar10Parts,
    pool: ExpertPool | None,
    method: str,
    *,
    seed: int,
    net: str,
    settings: LoopSettings,
    cutout: int = CUTOUT,
    start: Mapping[str, Tensor] | None = None,
) -> tuple[TrainedTeam, DeferralNet]:
    """Train one network with its experts; return what it says of the validation and the test pictures, and itself.

    The experts' answers to the training pictures are drawn anew in every epoch, as in the paper; those to the other
    pictures once. The last weights are kept: nothing is chosen on the validation part, which is left for calibration.

    Parameters
    ----------
    parts : Cifar10Parts
    pool : ExpertPool, optional
        None for one classifier.
    method : str
        A name of `END_TO_END`.
    seed : int
        Of the weights, the order, the crops and the answers.
    net : str
        A name of `defero.nets.net_by_name`.
    settings : LoopSettings
    cutout : int
        Side of the square that is painted over in training; 0 for none.
    start : mapping, optional
        Weights with which the trunk starts; drawn by the seed without it.
    """
    if method not in END_TO_END:
        raise InputError(f"must be one of {', '.join(END_TO_END)}, got {method!r}.", argument="method")
    check_pool(method, pool)
    n_experts = 0 if pool is None else pool.n_experts
    augmentation = Augmentation(cutout=cutout)
    labels = torch.from_numpy(parts.labels["train"])
    feed = DeviceFeed(
        parts.pictures["train"], labels, _redrawn(pool, len(labels), seed=seed), seed=seed, augmentation=augmentation
    )
    module = net_by_name(
        net,
        torch.zeros(2, 3, 32, 32),
        n_classes=N_CLASSES,
        n_experts=n_experts,
        model_column=method == "moe",
        generator=torch.Generator().manual_seed(seed),
    )
    if start is not None:
        module.trunk.load_state_dict(start)
    fit = fit_deep(module, DeferralLoss(LOSSES[method]), feed, settings=settings, seed=seed)
    validation, test = (
        _outputs(module, parts, part, LOSSES[method], feed, pool, rng=np.random.default_rng([seed, number]))
        for number, part in enumerate(("validation", "test"), start=1)
    )
    facts = asdict(settings) | {"cutout": cutout, "n_train": len(labels), "first_step_seconds": fit.first_step_seconds}
    return TrainedTeam(validation, test, fit.seconds, facts), module


def _redrawn(pool: ExpertPool | None, n_items: int, *, seed: int) -> AnswerSource:
    if pool is None:
        return nothing_said(n_items)
    right = np.stack([np.diagonal(expert.table) for expert in pool.experts], axis=1)
    return RedrawnByClass(torch.from_numpy(right).float(), seed=seed)


def _outputs(
    module: DeferralNet,
    parts: Cifar10Parts,
    part: str,
    loss: str,
    train: DeviceFeed,
    pool: ExpertPool | None,
    *,
    rng: np.random.Generator,
) -> TeamOutputs:
    labels = parts.labels[part]
    nothing = nothing_said(len(labels), n_experts=module.n_experts)
    feed = DeviceFeed(parts.pictures[part], torch.from_numpy(labels), nothing, seed=0, normalise=train.normalise)
    answers = np.empty((len(labels), 0), dtype=np.int64) if pool is None else pool.draw(labels, rng=rng)
    return network_outputs(module, feed, start_machine(LoopSettings()), loss=loss, answers=answers, batch_size=N_LOOK)
