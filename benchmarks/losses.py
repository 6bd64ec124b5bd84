"""Losses on the CPU beside two plain formulations, and what a fit through the estimator costs.

Plain by experts: vectors over the items, a loop in Python over the experts. Plain by items: the same loss, with each
expert's column of costs first built item by item, as the published loops do it before every step.
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from benchmarks.plain_loop import Zeros, plain_answers, plain_costs, plain_ova
from defero.datasets import wedge
from defero.estimators.deferral import DeferralClassifier
from defero.estimators.recipe import Recipe
from defero.losses import asymmetric_loss, decoupled_loss, ova_loss, softmax_loss

N_ITEMS, K = 1_024, 10
EXPERTS = (1, 4, 16, 64, 256)
LOSSES = {"softmax": softmax_loss, "ova": ova_loss, "decoupled": decoupled_loss, "asymmetric": asymmetric_loss}


def best_seconds(call: Callable[[], object], *, times: int = 5) -> float:
    """Return the CPU seconds of the best of several runs, after one that does not count."""
    call()
    seconds = []
    for _ in range(times):
        before = time.process_time()
        call()
        seconds.append(time.process_time() - before)
    return min(seconds)


def backward(value: Tensor) -> None:
    """Compute the gradients of a mean."""
    torch.autograd.backward(value.mean())


def ours(name: str, logits: Tensor, labels: Tensor, correct: Tensor) -> None:
    """Go forward and back through one of our losses."""
    logits.grad = None
    class_logits, expert_logits = torch.split(logits, [K, correct.shape[1]], dim=1)
    backward(LOSSES[name](class_logits, expert_logits, labels, correct))


def plain_by_experts(logits: Tensor, labels: Tensor, columns: list[Tensor], *, zeros: Zeros = "kept") -> None:
    """Do the same for one-vs-all in a loop over the experts, whose columns of costs are given."""
    logits.grad = None
    backward(plain_ova(logits, labels, columns, zeros=zeros))


def plain_by_items(logits: Tensor, labels: Tensor, answers: list[list[int]]) -> None:
    """Do the same, with the columns built item by item."""
    columns = [plain_costs(column, labels)[0] for column in answers]
    plain_by_experts(logits, labels, columns, zeros="overwritten")


def plain_with_draws(logits: Tensor, labels: Tensor, n_experts: int) -> None:
    """Do the same, with the experts asked item by item as well: the whole of what a published step does on the host."""
    plain_by_items(logits, labels, [plain_answers(labels) for _ in range(n_experts)])


def of_losses() -> dict[str, float]:
    """Return milliseconds of a forward and a backward pass, and how many times the plain ones cost."""
    figures = {}
    rng = np.random.default_rng(0)
    labels = torch.from_numpy(rng.integers(K, size=N_ITEMS))
    for n_experts in EXPERTS:
        logits = torch.from_numpy(rng.normal(size=(N_ITEMS, K + n_experts))).float().requires_grad_()
        answers = torch.from_numpy(rng.integers(K, size=(N_ITEMS, n_experts)))
        correct = answers == labels[:, None]
        columns = [column.float() for column in correct.T]
        listed = answers.T.tolist()
        for name in LOSSES:
            seconds = best_seconds(partial(ours, name, logits, labels, correct))
            figures[f"{name}, J = {n_experts}: ms"] = round(1000 * seconds, 3)
            if name == "ova":
                in_a_loop = best_seconds(partial(plain_by_experts, logits, labels, columns))
                by_items = best_seconds(partial(plain_by_items, logits, labels, listed))
                asked = best_seconds(partial(plain_with_draws, logits, labels, n_experts))
                figures[f"ova in a loop over experts, J = {n_experts}: times ours"] = round(in_a_loop / seconds, 1)
                figures[f"ova with costs item by item, J = {n_experts}: times ours"] = round(by_items / seconds, 1)
                figures[f"... and experts asked item by item, J = {n_experts}: times ours"] = round(asked / seconds, 1)
    return figures


def of_fits() -> dict[str, float]:
    """Return the CPU seconds of a linear fit and of an epoch of a small network, on 50,000 x 384 with 16 experts."""
    rng = np.random.default_rng(0)
    cases = wedge(50_000, random_state=0)
    features = rng.normal(size=(50_000, 384))
    features[:, : cases.features.shape[1]] = cases.features
    labels = np.asarray(cases.labels)
    others = np.unique(labels)
    right = rng.random((50_000, 16)) < np.linspace(0.3, 0.9, 16)
    answers = np.where(right, labels[:, None], rng.choice(others, size=(50_000, 16)))
    for net in ("linear", "mlp"):  # what is imported at the first fit is not a cost of fitting
        _fit_seconds(
            DeferralClassifier(net, loss="ova", recipe=Recipe(max_epochs=1)), features[:99], labels[:99], answers[:99]
        )
    linear = _fit_seconds(DeferralClassifier("linear", loss="ova", random_state=0), features, labels, answers)
    short, long = (
        _fit_seconds(
            DeferralClassifier(
                "mlp", loss="ova", recipe=Recipe(hidden=(128,), batch_size=512, max_epochs=epochs), random_state=0
            ),
            features,
            labels,
            answers,
        )
        for epochs in (1, 5)
    )
    return {
        "linear fit, 50,000 x 384, 16 experts: s, at most 5 promised": round(linear, 2),
        "an epoch of 384-128-(K+J) at batch 512: s, at most 1 promised": round((long - short) / 4, 2),
        "the same with one epoch, set-up included: s": round(short, 2),
    }


def _fit_seconds(
    team: DeferralClassifier,
    features: np.ndarray,
    labels: np.ndarray,
    answers: np.ndarray,
) -> float:
    before = time.process_time()
    team.fit(features, labels, experts=answers)
    return time.process_time() - before


def run() -> dict[str, float]:
    """Return all figures, on one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return of_losses() | of_fits()
    finally:
        torch.set_num_threads(before)
