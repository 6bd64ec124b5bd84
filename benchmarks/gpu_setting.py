"""What the runs on a GPU share: the machine, CIFAR-10's pictures, the net, and the experts of simulation 1."""

import platform
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric.__version__ import version as fabric_version
from numpy.typing import NDArray
from torch import Tensor

from defero.nets import DeferralNet, net_by_name
from defero.training.answer_source import AnswerSource, FixedAnswers, RedrawnAnswers, RedrawnByClass
from defero.training.verdicts import Verdicts
from defero_verma2023.pools.cifar10 import cifar10_sim1_pool

K = 10
Pictures = NDArray[np.uint8]


def machine_facts() -> dict[str, Any]:
    """Return the card, the driver, and the versions."""
    cudnn: Any = torch.backends.cudnn
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        card = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        card = f"unknown ({error})"
    return {
        "card": card,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": cudnn.version(),
        "lightning_fabric": fabric_version,
        "numpy": np.__version__,
    }


def read_piece(folders: list[Path], piece: str) -> Pictures | None:
    """Return a piece's pictures (n, 32, 32, 3), or None where no folder has it."""
    for folder in (*folders, *(folder / "cifar10" for folder in folders)):
        if (folder / f"{piece}.npy").is_file():
            return np.load(folder / f"{piece}.npy")
        if (folder / f"{piece}.webp").is_file():
            from PIL import Image

            Image.MAX_IMAGE_PIXELS = None
            mosaic = np.asarray(Image.open(folder / f"{piece}.webp").convert("RGB"))
            return mosaic.reshape(100, 32, 100, 32, 3).transpose(0, 2, 1, 3, 4).reshape(-1, 32, 32, 3)
    return None


def read_cifar10(folders: list[Path], part: str, *, limit: int | None) -> tuple[Tensor, Tensor]:
    """Return the pictures and labels of "train" (those fifths that are there) or "test"."""
    stored = [f / "cifar10_labels.npz" for folder in folders for f in (folder, folder / "cifar10")]
    with np.load(next(path for path in stored if path.is_file())) as arrays:
        labels = arrays[f"y_{part}"].astype(np.int64)
    names = [f"train{number}" for number in range(1, 6)] if part == "train" else ["test"]
    pieces = [(read_piece(folders, name), own) for name, own in zip(names, np.split(labels, len(names)), strict=True)]
    there = [(pictures, own) for pictures, own in pieces if pictures is not None]
    if not there:
        raise SystemExit(f"no pictures of {part} in {', '.join(map(str, folders))}")
    return (
        torch.from_numpy(np.concatenate([pictures for pictures, _ in there])[:limit]),
        torch.from_numpy(np.concatenate([own for _, own in there])[:limit]),
    )


def wide_net(name: str, n_experts: int, *, seed: int) -> DeferralNet:
    """Return WRN-28-4, or another net, with K + J columns."""
    generator = torch.Generator().manual_seed(seed)
    example = torch.zeros(2, 3, 32, 32)
    return net_by_name(name, example, n_classes=K, n_experts=n_experts, generator=generator)


def sim1_answers(labels: Tensor, n_experts: int, *, seed: int, how: str) -> AnswerSource:
    """Return the experts of simulation 1, as published: drawn anew by a thread or by the device, or "fixed"."""
    pool = cifar10_sim1_pool(n_experts=n_experts, variant="as_published")
    if how == "by the device":
        right = np.stack([np.diagonal(expert.table) for expert in pool.experts], axis=1)
        return RedrawnByClass(torch.from_numpy(right).float(), seed=seed)
    if how == "by a thread":
        return RedrawnAnswers(lambda known, rng: pool.draw(known, rng=rng), seed=seed)
    answers = pool.draw(labels.numpy(), rng=np.random.default_rng(seed))
    return FixedAnswers(Verdicts.from_codes(torch.from_numpy(answers), labels))
