"""CIFAR-10's one classifier of a seed: trained once, kept, and there for all that starts from it."""

from collections.abc import Callable
from dataclasses import asdict, replace

import torch
from torch import Tensor

from defero.training import LoopSettings
from defero_verma2023.methods import ONE_CLASSIFIER
from defero_verma2023.runs.provenance import made_here
from defero_verma2023.runs.trained_team import TrainedTeam, pack_team, unpack_team
from defero_verma2023.training.cifar10_parts import Cifar10Parts
from defero_verma2023.training.cifar10_team import CUTOUT, train_team
from defero_verma2023.training.picture_parts import Arrays

_TRUNK = "trunk."


def one_classifier(parts: Cifar10Parts, *, seed: int, net: str, settings: LoopSettings) -> TrainedTeam:
    """Return what the classifier of a seed says: it is the same for all experiments, as nobody's answers are in it.

    It tells on what and by which command it was trained, which may have been in another process. Kept apart from the
    weights, it is a small file, and enough for two stages.
    """

    def make() -> Arrays:
        both = _with_trunk(parts, seed=seed, net=net, settings=settings)
        return {name: array for name, array in both.items() if not name.startswith(_TRUNK)}

    return unpack_team(_kept(parts, "classifier", make, seed=seed, net=net, settings=settings))


def classifier_trunk(parts: Cifar10Parts, *, seed: int, net: str, settings: LoopSettings) -> dict[str, Tensor]:
    """Return the weights of that classifier's trunk."""
    both = _with_trunk(parts, seed=seed, net=net, settings=settings)
    return {
        name.removeprefix(_TRUNK): torch.from_numpy(array) for name, array in both.items() if name.startswith(_TRUNK)
    }


def _with_trunk(parts: Cifar10Parts, *, seed: int, net: str, settings: LoopSettings) -> Arrays:
    def make() -> Arrays:
        team, module = train_team(parts, None, ONE_CLASSIFIER, seed=seed, net=net, settings=settings)
        trunk = {_TRUNK + name: tensor.cpu().numpy() for name, tensor in module.trunk.state_dict().items()}
        return pack_team(replace(team, made=made_here())) | trunk

    return _kept(parts, "trunk", make, seed=seed, net=net, settings=settings)


def _kept(
    parts: Cifar10Parts, what: str, make: Callable[[], Arrays], *, seed: int, net: str, settings: LoopSettings
) -> Arrays:
    pictures = parts.pictures["train"]
    facts = asdict(settings) | {"net": net, "cutout": CUTOUT, "pictures": list(pictures.shape)}
    return parts.stock.take(f"cifar10-{what}-{seed}", facts, make)
