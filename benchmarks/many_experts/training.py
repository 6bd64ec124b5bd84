"""One run: a network on CIFAR-10 with J simulated experts, and its figures on the test pictures."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from benchmarks.many_experts.losses import register
from benchmarks.many_experts.methods import Method
from benchmarks.many_experts.quick_net import QuickTrunk
from defero.losses import LOSSES, DeferralLoss
from defero.nets import DeferralNet
from defero.nets.named import trunk_by_name
from defero.training import (
    AnswerSource,
    Augmentation,
    DeepFit,
    DeviceFeed,
    LoopSettings,
    RedrawnByClass,
    fit_deep,
    start_machine,
)
from defero_verma2023.measures.measure import measure
from defero_verma2023.measures.team_outputs import TeamOutputs
from defero_verma2023.pools.cifar10 import cifar10_sim1_pool
from defero_verma2023.pools.pool import ExpertPool
from defero_verma2023.training.cifar10_parts import Cifar10Parts
from defero_verma2023.training.muon import muon
from defero_verma2023.training.network_outputs import network_outputs, nothing_said

N_LOOK = 1_000


@dataclass(frozen=True)
class Nets:
    """A trunk by name and how it is trained."""

    trunk: str
    settings: LoopSettings


QUICK = Nets(
    "quick",
    LoopSettings(
        epochs=16,
        batch_size=1000,
        optimiser=muon.__name__,
        learning_rate=0.2,
        momentum=0.6,
        weight_decay=2e-3,
        warm_up=0.1,
        ema_decay=0.98,
        compile_part="trunk",
    ),
)
WIDE = Nets(
    "wrn-28-4",
    replace(QUICK.settings, epochs=18, batch_size=1024, learning_rate=0.05, momentum=0.9, ema_decay=0.999),
)


def run(
    parts: Cifar10Parts, method: Method, *, n_experts: int, seed: int, nets: Nets, cutout: int = 0
) -> dict[str, Any]:
    """Train once and return its figures."""
    register()
    began = time.monotonic()
    n_experts = n_experts if method.experts else 0
    feed = train_feed(parts, answers_of(parts, n_experts, seed=seed), seed=seed, cutout=cutout)
    module = build_net(nets.trunk, method, n_experts, seed=seed)
    fit = fit_deep(module, DeferralLoss(method.loss), feed, settings=nets.settings, seed=seed)
    figures = figures_of(module, parts, method, feed, seed=seed)
    return record_of(method, n_experts, figures, fit, seed=seed, nets=nets, began=began, cutout=cutout)


def answers_of(parts: Cifar10Parts, n_experts: int, *, seed: int) -> AnswerSource:
    """Return the experts' answers to the training pictures, drawn anew in every epoch; none without experts."""
    if not n_experts:
        return nothing_said(len(parts.labels["train"]))
    right = np.stack([np.diagonal(expert.table) for expert in _pool(n_experts).experts], axis=1)
    return RedrawnByClass(torch.from_numpy(right).float(), seed=seed)


def train_feed(parts: Cifar10Parts, answers: AnswerSource, *, seed: int, cutout: int = 0) -> DeviceFeed:
    """Return the training pictures with these answers."""
    labels = torch.from_numpy(parts.labels["train"])
    return DeviceFeed(parts.pictures["train"], labels, answers, seed=seed, augmentation=Augmentation(cutout=cutout))


def figures_of(
    module: DeferralNet, parts: Cifar10Parts, method: Method, train: DeviceFeed, *, seed: int
) -> Mapping[str, Any]:
    """Return what is measured of a trained net on the test pictures, calibrated on the validation pictures."""
    validation, test = (
        _outputs(module, parts, part, method, train, rng=np.random.default_rng([seed, number]))
        for number, part in enumerate(("validation", "test"), start=1)
    )
    return measure(test, calibration=validation if method.probabilities else None, sets=False)


def record_of(
    method: Method,
    n_experts: int,
    figures: Mapping[str, Any],
    fit: DeepFit,
    *,
    seed: int,
    nets: Nets,
    began: float,
    cutout: int = 0,
) -> dict[str, Any]:
    """Return what is written down of a run that began at that time of the clock."""
    wanted = ("class_accuracy", "system_accuracy", "coverage", "ece", "calibrated.system_accuracy", "calibrated.ece")
    return {
        "method": method.name,
        "n_experts": n_experts,
        "seed": seed,
        "net": nets.trunk,
        **{name: figures[name] for name in wanted if name in figures},
        "train_seconds": fit.seconds,
        "first_step_seconds": fit.first_step_seconds,
        "wall_seconds": time.monotonic() - began,
        "images_per_second": float(np.median([line.images_per_second for line in fit.lines])),
        "settings": asdict(nets.settings) | {"cutout": cutout},
    }


def _pool(n_experts: int) -> ExpertPool:
    return cifar10_sim1_pool(n_experts=n_experts, variant="as_published")


def build_net(trunk: str, method: Method, n_experts: int, *, seed: int) -> DeferralNet:
    """Return a net with the weights of a seed."""
    generator, example = torch.Generator().manual_seed(seed), torch.zeros(2, 3, 32, 32)
    branches = method.branches if n_experts else "one"
    trunks = [
        QuickTrunk(generator=generator) if trunk == "quick" else trunk_by_name(trunk, example, generator=generator)
        for _ in range(2 if branches == "two" else 1)
    ]
    return DeferralNet.build(
        trunks[0],
        example,
        n_classes=10,
        n_experts=n_experts,
        expert_trunk=trunks[1] if branches == "two" else None,
        detached=branches == "heads",
        generator=generator,
    )


def _outputs(
    module: DeferralNet, parts: Cifar10Parts, part: str, method: Method, train: DeviceFeed, *, rng: np.random.Generator
) -> TeamOutputs:
    inputs, labels = parts.pictures[part], parts.labels[part]
    feed = DeviceFeed(
        inputs,
        torch.from_numpy(labels),
        nothing_said(len(labels), n_experts=module.n_experts),
        seed=0,
        normalise=train.normalise,
    )
    answers = np.empty((len(labels), 0), dtype=np.int64)
    if module.n_experts:
        answers = _pool(module.n_experts).draw(labels, rng=rng)
    link = LOSSES.find(method.loss).link
    return network_outputs(module, feed, start_machine(LoopSettings()), loss=link, answers=answers, batch_size=N_LOOK)
