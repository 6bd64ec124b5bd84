"""What makes two runs the same one: settings, check sums of the data, and seeds derived from one seed."""

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import nn

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
