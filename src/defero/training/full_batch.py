"""L-BFGS on all rows: for linear models, whose loss is convex and smooth."""

import math
import warnings
from collections.abc import Callable

import numpy as np
import torch
from scipy.optimize import minimize

from defero.core.checks.arrays import FloatArray
from defero.core.errors import InputError
from defero.losses import DeferralLoss
from defero.nets import DenseNet
from defero.training.examples import Examples, weighted_loss


def fit_full_batch(
    net: DenseNet,
    loss: DeferralLoss,
    examples: Examples,
    *,
    weight_decay: float,
    max_iterations: int,
    on_step: Callable[[float], None],
) -> None:
    """Minimise mean loss + weight_decay / 2 * |weights|^2 (biases are free) in place.

    The rows are gone through in pieces whose gradients add up: memory does not grow with items times experts.

    Parameters
    ----------
    net : DenseNet
        Changed in place.
    loss : DeferralLoss
    examples : Examples
    weight_decay : float
    max_iterations : int
    on_step : callable
        Told the objective after each iteration.
    """
    parameters = list(net.parameters())
    weights = [p for name, p in net.named_parameters() if name.endswith("weight")]
    total = examples.weight.sum()
    last = [float("nan")]

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        _assign(parameters, flat)
        net.zero_grad()
        last[0] = 0.0
        for place, piece in enumerate(examples.pieces()):
            value = weighted_loss(net, loss, piece, total_weight=total)
            if place == 0:  # in one graph with a loss, so that one piece rounds as all rows at once
                value = value + 0.5 * weight_decay * sum((w * w).sum() for w in weights)
            value.backward()
            last[0] += value.item()
        gradient = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in parameters])
        return last[0], gradient.double().cpu().numpy()

    minimum = minimize(
        objective,
        torch.cat([p.detach().reshape(-1) for p in parameters]).double().cpu().numpy(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iterations, "maxfun": 2 * max_iterations, "gtol": 1e-6, "ftol": 1e-9, "maxcor": 20},
        callback=lambda _: on_step(last[0]),
    )
    if not math.isfinite(minimum.fun):
        raise InputError(f"is {minimum.fun} on the training part; it must be a finite number.", argument="loss")
    _assign(parameters, minimum.x)
    if minimum.nit >= max_iterations:
        warnings.warn(
            f"L-BFGS stopped after {max_iterations} iterations with gradient {np.abs(minimum.jac).max():.1e}; "
            "raise max_epochs, or weight_decay where the classes are separable.",
            stacklevel=2,
        )


def _assign(parameters: list[torch.nn.Parameter], flat: FloatArray) -> None:
    start = 0
    with torch.no_grad():
        for p in parameters:
            part = torch.from_numpy(flat[start : start + p.numel()].copy())
            p.copy_(part.reshape(p.shape))
            start += p.numel()
