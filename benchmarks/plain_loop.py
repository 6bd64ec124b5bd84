"""The plain formulation that ours is measured beside: one item and one expert at a time, in Python.

It is written from a description of how such loops commonly are, the authors' of the paper included: experts are asked
item by item, a list of costs is built item by item, the loss goes over the experts in a loop, the data come from a
DataLoader, and the net runs as it is written, in 32 bits.
"""

import math
import random
import time
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.utils.data import DataLoader, Dataset

N_CLASSES = 10
Zeros = Literal["kept", "overwritten"]
FIELD = 6
"""Experts know classes 0..5, as in the published runs of simulation 1."""


class PlainPictures(Dataset[tuple[Tensor, int]]):
    """Pictures one by one: pad, crop, flip, normalise, each by itself."""

    def __init__(self, pictures: Tensor, labels: Tensor) -> None:
        self.pictures = pictures.permute(0, 3, 1, 2).float() / 255
        self.labels = labels.tolist()
        self.mean = self.pictures.mean(dim=(0, 2, 3))[:, None, None]
        self.std = self.pictures.std(dim=(0, 2, 3))[:, None, None]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, item: int) -> tuple[Tensor, int]:
        padded = pad(self.pictures[item][None], (4, 4, 4, 4), mode="reflect")[0]
        top, left = random.randint(0, 8), random.randint(0, 8)
        picture = padded[:, top : top + 32, left : left + 32]
        if random.random() < 0.5:
            picture = picture.flip(2)
        return (picture - self.mean) / self.std, self.labels[item]


def plain_answers(labels: Tensor) -> list[int]:
    """Ask one expert, item by item."""
    answers = []
    for i in range(len(labels)):
        label = labels[i].item()
        knows = label < FIELD and random.random() < 0.7
        answers.append(int(label) if knows else random.randint(0, N_CLASSES - 1))
    return answers


def plain_costs(answers: list[int], labels: Tensor, *, alpha: float = 1.0) -> tuple[Tensor, Tensor]:
    """Build two columns for one expert, item by item: who was right, and what the classifier's loss weighs then.

    The second is for a cost alpha that the published runs leave at 1; it is built all the same, as they do.
    """
    right, weight = [0.0] * len(answers), [0.0] * len(answers)
    for i in range(len(answers)):
        if answers[i] == labels[i].item():
            right[i], weight[i] = 1.0, alpha
        else:
            right[i], weight[i] = 0.0, 1.0
    return torch.tensor(right, device=labels.device), torch.tensor(weight, device=labels.device)


def plain_ova(outputs: Tensor, labels: Tensor, columns: list[Tensor], *, zeros: Zeros) -> Tensor:
    """One-vs-all in a loop over the experts, of (n, K + J) outputs; base 2 and the mean, as in the published runs.

    Those also overwrite outputs that are exactly 0, in place and before each logistic: `zeros="overwritten"`.
    """

    def logistic(values: Tensor, sign: int) -> Tensor:
        if zeros == "overwritten":
            values = values.clone()
            values[values == 0] = -sign * math.inf
        return torch.log2(1 + torch.exp(-sign * values))

    rows = torch.arange(len(labels), device=labels.device)
    total = logistic(outputs[rows, labels], 1) - logistic(outputs[rows, labels], -1)
    for k in range(N_CLASSES):
        total = total + logistic(outputs[:, k], -1)
    for j, correct in enumerate(columns):
        column = outputs[:, N_CLASSES + j]
        total = total + correct * logistic(column, 1) + (1 - correct) * logistic(column, -1)
    return total.mean()


def plain_rate(
    net: nn.Module,
    pictures: Tensor,
    labels: Tensor,
    *,
    n_experts: int,
    labels_on: str,
    device: torch.device,
    batch_size: int = 1024,
    seconds: float = 12.0,
) -> dict[str, Any]:
    """Train for some seconds in the plain way and return images per second.

    `labels_on` is where the loops of Python find the labels: "device" is the common way (everything is moved there
    first), "host" spares each look its trip to the device.
    """
    on_gpu = device.type == "cuda"
    loader: Any = DataLoader(
        PlainPictures(pictures, labels),
        batch_size=batch_size,
        shuffle=True,
        drop_last=True,
        num_workers=12 if on_gpu else 1,
        pin_memory=on_gpu,
    )
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    net.train()
    started, n_steps, warm, losses = 0.0, 0, 4, 0.0
    for _ in range(10_000):
        for batch, here in loader:
            if n_steps == warm:
                if on_gpu:
                    torch.cuda.synchronize()
                started = time.monotonic()
            batch, there = batch.to(device, non_blocking=True), here.to(device, non_blocking=True)
            seen = there if labels_on == "device" else here
            columns = [plain_costs(plain_answers(seen), seen)[0].to(device) for _ in range(n_experts)]
            logits = net(batch)
            loss = plain_ova(torch.cat([logits.classes, logits.experts], dim=1), there, columns, zeros="overwritten")
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            losses += loss.item()
            n_steps += 1
            if n_steps > warm + 3 and time.monotonic() - started > seconds:
                elapsed = time.monotonic() - started
                rate = (n_steps - warm) * batch_size / elapsed
                return {"images_per_second": rate, "steps": n_steps - warm, "mean_loss": losses / n_steps}
    raise AssertionError("the clock stands still")
