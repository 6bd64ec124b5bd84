"""Muon for the kernels of convolutions, SGD for the rest: fewer epochs to the same accuracy.

A kernel (o, i, h, w) is read as a matrix (o, ihw), and its momentum is replaced by the nearest matrix whose singular
values are all about 1: directions that plain gradients hardly move get their turn (Jordan et al. 2024). A kernel keeps
the length it starts with, and a step turns it by the learning rate times that length; where a normalisation follows,
the length means nothing anyway.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, overload

import torch
from torch import Tensor, nn

from defero.training import OPTIMISERS, LoopSettings

ROUNDS = 5
"""Rounds of the iteration."""
_A, _B, _C = 3.4445, -4.7750, 2.0315  # a quintic with a steep rise at 0, which leaves singular values in 0.7 .. 1.2


def orthogonal_factor(matrices: Tensor, *, rounds: int = ROUNDS) -> Tensor:
    """Return, roughly, U V' for each matrix U S V' of a stack (m, o, i).

    By Newton-Schulz with a quintic polynomial: products of matrices alone, in bf16 on a GPU.

    >>> factor = orthogonal_factor(torch.diag(torch.tensor([3.0, 0.5]))[None])[0]
    >>> bool(((factor.diagonal() > 0.6) & (factor.diagonal() < 1.3)).all())
    True
    """
    factor = matrices.to(torch.bfloat16 if matrices.is_cuda else matrices.dtype)
    tall = factor.shape[1] > factor.shape[2]
    if tall:
        factor = factor.mT
    factor = factor / factor.norm(dim=(1, 2), keepdim=True).clamp_min(1e-7)
    for _ in range(rounds):
        gram = factor @ factor.mT
        factor = torch.baddbmm(factor, torch.baddbmm(gram, gram, gram, beta=_B, alpha=_C), factor, beta=_A)
    return (factor.mT if tall else factor).to(matrices.dtype)


class Muon(torch.optim.Optimizer):
    """Muon for 4-dimensional parameters; SGD with Nesterov's momentum for all others.

    Parameters
    ----------
    parameters : iterable of parameters
    lr : float
        For a kernel the share of its length by which it turns in one step; for the others that of SGD.
    momentum : float
    weight_decay : float
        Of the others; a kernel's length is kept instead.
    """

    def __init__(
        self, parameters: Iterable[nn.Parameter], *, lr: float, momentum: float = 0.9, weight_decay: float = 0.0
    ) -> None:
        learned = list(parameters)
        kernels = [parameter for parameter in learned if parameter.ndim == 4]
        others = [parameter for parameter in learned if parameter.ndim != 4]
        groups: list[dict[str, Any]] = [
            {"params": kernels, "kernels": True, "weight_decay": 0.0},
            {"params": others, "kernels": False, "weight_decay": weight_decay},
        ]
        super().__init__([group for group in groups if group["params"]], {"lr": lr, "momentum": momentum})

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Take one step; return what the closure does, where there is one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            learned: list[Tensor] = [parameter for parameter in group["params"] if parameter.grad is not None]
            if not learned:
                continue
            ahead = self._looked_ahead(learned, group)
            if group["kernels"]:
                _turn(learned, ahead, [self.state[kernel]["length"] for kernel in learned], float(group["lr"]))
            else:
                torch._foreach_add_(learned, ahead, alpha=-float(group["lr"]))
        return loss

    def _looked_ahead(self, learned: list[Tensor], group: dict[str, Any]) -> list[Tensor]:
        """Return gradient + momentum * (momentum * buffer + gradient), and keep the buffers."""
        gradients = [parameter.grad for parameter in learned if parameter.grad is not None]
        if group["weight_decay"]:
            gradients = list(torch._foreach_add(gradients, learned, alpha=group["weight_decay"]))
        for parameter in learned:
            if not self.state[parameter]:
                self.state[parameter]["buffer"] = torch.zeros_like(parameter)
                if group["kernels"]:
                    self.state[parameter]["length"] = parameter.norm()
        buffers = [self.state[parameter]["buffer"] for parameter in learned]
        torch._foreach_mul_(buffers, group["momentum"])
        torch._foreach_add_(buffers, gradients)
        return list(torch._foreach_add(gradients, buffers, alpha=group["momentum"]))


def _turn(kernels: list[Tensor], directions: list[Tensor], lengths: list[Tensor], rate: float) -> None:
    """Turn each kernel by the rate, those with as many outputs together: few launches, and no wait for the GPU."""
    alike: dict[int, list[int]] = defaultdict(list)
    for place, kernel in enumerate(kernels):
        alike[kernel.shape[0]].append(place)
    for n_outputs, places in alike.items():
        matrices = [_as_matrix(kernels[place], like=kernels[place]) for place in places]
        widest = max(matrix.shape[1] for matrix in matrices)
        stack = directions[places[0]].new_zeros(len(places), n_outputs, widest)  # columns of zeros change nothing
        torch._foreach_copy_(
            _parts(stack, matrices), [_as_matrix(directions[place], like=kernels[place]) for place in places]
        )
        factors = orthogonal_factor(stack)
        step = rate * torch.stack([lengths[place] for place in places]) / factors.norm(dim=(1, 2)).clamp_min(1e-7)
        torch._foreach_sub_(matrices, _parts(factors * step[:, None, None], matrices))
    norms = torch.stack(torch._foreach_norm(kernels)).clamp_min(1e-7)  # a kernel of zeros has no length, and stays
    torch._foreach_mul_(kernels, list((torch.stack(lengths) / norms).unbind()))


def _as_matrix(tensor: Tensor, *, like: Tensor) -> Tensor:
    """Return a tensor (o, i, h, w) as (o, ihw), columns in the order in which those of a kernel lie in memory.

    The kernel itself is not copied, so that what is done to the matrix is done to it.
    """
    if not like.is_contiguous() and like.is_contiguous(memory_format=torch.channels_last):
        tensor = tensor.permute(0, 2, 3, 1)
    return tensor.reshape(len(tensor), -1)


def _parts(stack: Tensor, matrices: list[Tensor]) -> list[Tensor]:
    return [part[:, : matrix.shape[1]] for part, matrix in zip(stack.unbind(), matrices, strict=True)]


def muon(learned: list[nn.Parameter], settings: LoopSettings) -> Muon:
    """Return Muon with a loop's settings; importing this file makes it known by its name."""
    return Muon(learned, lr=settings.learning_rate, momentum=settings.momentum, weight_decay=settings.weight_decay)


OPTIMISERS.register("muon", muon)
