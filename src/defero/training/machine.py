"""What a training runs on: a device, a precision, and the processes that share it. Fabric, imported late."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from defero.core.errors import InputError
from defero.training.feeds import Rank
from defero.training.loop_settings import LoopSettings


class Machine:
    """A launched Fabric, and what the loop asks of it.

    Parameters
    ----------
    fabric : lightning_fabric.Fabric
    """

    def __init__(self, fabric: Any) -> None:
        self.fabric = fabric
        self.device: torch.device = fabric.device
        self.piece = Rank(fabric.global_rank, fabric.world_size)

    @property
    def leads(self) -> bool:
        """Is this the process that writes files and speaks?"""
        return self.piece.rank == 0

    def ready(
        self, learner: nn.Module, optimiser: torch.optim.Optimizer, *, mode: str, trunks: tuple[nn.Module, ...] = ()
    ) -> tuple[Any, torch.optim.Optimizer]:
        """Wrap a learner and its optimiser, compiled where the mode says so: all of it, or these parts of it alone."""
        if mode == "auto":
            mode = "default" if self.device.type == "cuda" else "off"
        if mode != "off" and trunks:
            for trunk in trunks:
                trunk.compile(mode=mode, dynamic=False)
        elif mode != "off":
            compiled: Any = torch.compile(learner, mode=mode, dynamic=False)
            return self.fabric.setup(compiled, optimiser)
        return self.fabric.setup(learner, optimiser)

    def autocast(self) -> AbstractContextManager[None]:
        """Compute in the settings's precision."""
        return self.fabric.autocast()

    def together(self, rows: Tensor) -> Tensor:
        """Join every process's rows, (m, ...) to (world * m, ...)."""
        if self.piece.world == 1:
            return rows
        parts = [torch.empty_like(rows) for _ in range(self.piece.world)]
        torch.distributed.all_gather(parts, rows.contiguous())
        return torch.cat(parts)

    def total(self, value: Tensor) -> Tensor:
        """Add up a number over the processes."""
        return value if self.piece.world == 1 else self.fabric.all_reduce(value, reduce_op="sum")

    def agreed(self, value: Any) -> Any:
        """Return the leading process's value in every process."""
        return value if self.piece.world == 1 else self.fabric.broadcast(value)

    def agree_on_buffers(self, net: nn.Module) -> None:
        """Give every process the leading one's batch statistics; parameters are the same already."""
        if self.piece.world > 1:
            for buffer in net.buffers():
                torch.distributed.broadcast(buffer, src=0)

    def seed(self, seed: int) -> None:
        """Seed what a net draws from, at every step: `torch.manual_seed` takes a hundred times longer."""
        torch.default_generator.manual_seed(seed)
        if self.device.type == "cuda":
            torch.cuda.default_generators[self.device.index or 0].manual_seed(seed)

    def finish(self) -> None:
        """Wait for the device."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def start_machine(settings: LoopSettings, *, device: str | None = None, fabric: Any = None) -> Machine:
    """Return the machine: the processes that `torchrun` started, the Fabric that is handed in, or this process alone.

    Parameters
    ----------
    settings : LoopSettings
        Says the precision.
    device : str, optional
        "cpu" or "cuda"; a GPU where there is one by default.
    fabric : lightning_fabric.Fabric, optional
        One that was launched, for other ways to run; the settings's precision is then not looked at.
    """
    if fabric is not None:
        return Machine(fabric)
    try:
        from lightning_fabric import Fabric
    except ImportError as error:
        raise InputError("deep networks need lightning-fabric: install defero with its train extra.") from error
    kind = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu")).type
    precision: Any = settings.precision
    if precision == "auto":
        precision = "bf16-mixed" if kind == "cuda" else "32"
    world, here = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    started = Fabric(
        accelerator=kind,
        devices=here,
        num_nodes=world // here,
        strategy="ddp" if world > 1 else "auto",
        precision=precision,
    )
    started.launch()
    return Machine(started)


@contextmanager
def fast_kernels(device: torch.device) -> Iterator[None]:
    """On a GPU let cuDNN measure which convolution is fastest and use TF32 where 32 bits are asked for; then undo."""
    if device.type != "cuda":
        yield
        return
    before = torch.backends.cudnn.benchmark, torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = True, True
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = before[0], before[2]
        torch.set_float32_matmul_precision(before[1])
