"""One file with everything a run needs to go on: tensors and a line of JSON, no pickle, written whole or not at all.

Its identity tells whether two runs are the same one: settings, check sums of the data, the seed.
"""

import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from defero.core.errors import InputError
from defero.losses import DeferralLoss
from defero.training.deep.feeds.feed import Feed
from defero.training.deep.loop_settings import LoopSettings


@dataclass(frozen=True)
class RunIdentity:
    """What a run depends on.

    Attributes
    ----------
    settings : values by name
    data : check sums by what they are of
    """

    settings: Mapping[str, Any]
    data: Mapping[str, int]

    @classmethod
    def of(
        cls,
        net: nn.Module,
        loss: DeferralLoss,
        train: Feed,
        held_out: Feed | None,
        *,
        settings: LoopSettings,
        seed: int,
    ) -> "RunIdentity":
        """Return the identity of a run that is about to begin; every number that it learns from is looked at."""
        change = train.augmentation
        values = {
            **settings.what_counts(),
            "seed": seed,
            "loss": loss.name,
            "augmentation": None if change is None else asdict(change),
        }
        shapes = {name: tuple(tensor.shape) for name, tensor in net.state_dict().items()}
        data = {"the layers of the net": zlib.crc32(repr(shapes).encode()), **train.check_sums()}
        if held_out is not None:
            data |= {f"{what} held out": value for what, value in held_out.check_sums().items()}
        return cls(values, data)

    def check(self, stored: Mapping[str, Any], path: Path) -> None:
        """Refuse the checkpoint of another run, and say in what it differs."""
        for what, ours in self.settings.items():
            theirs = stored["settings"].get(what)
            if theirs != ours:
                raise _another(path, f"{what} was {theirs!r} and is now {ours!r}")
        for what, mark in self.data.items():
            if stored["data"].get(what) != mark:
                raise _another(path, f"{what} are no longer the same")


def _another(path: Path, difference: str) -> InputError:
    return InputError(
        f"{path} is a checkpoint of another run: {difference}; take another folder for checkpoints, or remove "
        "the file to start anew."
    )


FILE = "checkpoint.safetensors"
FORMAT = 2


def make_folder(folder: Path) -> None:
    """Make a folder for checkpoints, or say now, and not after the first epochs, that nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return
        reason = "it may not be written in"
    except OSError as error:
        reason = f"it cannot be made: {error.strerror}"
    raise InputError(f"must be a folder to write in, got {folder}; {reason}.", argument="checkpoints")


def write_checkpoint(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write beside the old file, make sure that it is on the disk, then put it in the old one's place."""
    # Copies: safetensors takes neither channels-last tensors nor two that share memory.
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    content = save(plain, metadata={"facts": json.dumps({"format": FORMAT, **facts})})
    new = path.with_suffix(".new")
    try:
        with new.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def read_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors, on the CPU, and the facts."""
    try:
        with safe_open(path, framework="pt") as stored:
            facts = json.loads((stored.metadata() or {}).get("facts", "{}"))
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 - no mapping
        version = facts.get("format")
    except (SafetensorError, ValueError, AttributeError, RecursionError) as error:
        raise not_a_checkpoint(path, error) from error
    if version != FORMAT:
        raise InputError(f"{path} must be a checkpoint of format {FORMAT}, got {version}; remove it to start anew.")
    return tensors, facts


def not_a_checkpoint(path: Path, error: Exception) -> InputError:
    """Return the error for a file that is damaged or was written by another program."""
    why = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return InputError(f"{path} is no checkpoint of a training ({why}); remove it to start anew.")


def named(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Put a prefix before every name.

    >>> list(named("net", {"weight": torch.zeros(1)}))
    ['net.weight']
    """
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return those with a prefix, without it.

    >>> list(under("net", {"net.weight": torch.zeros(1), "best.weight": torch.zeros(1)}))
    ['weight']
    """
    return {name.removeprefix(f"{prefix}."): t for name, t in tensors.items() if name.startswith(f"{prefix}.")}


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return an optimiser's state as "number of the parameter.name"."""
    state = optimiser.state_dict()["state"]
    return {
        f"{number}.{name}": value
        for number, values in state.items()
        for name, value in values.items()
        if isinstance(value, Tensor)
    }


def load_optimiser(optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Put stored tensors back, each in the memory layout of its parameter."""
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for place, tensor in tensors.items():
        number, name = place.split(".", 1)
        parameter = parameters[int(number)]
        laid_out = torch.empty_like(parameter).copy_(tensor) if tensor.shape == parameter.shape else tensor
        state.setdefault(int(number), {})[name] = laid_out
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
