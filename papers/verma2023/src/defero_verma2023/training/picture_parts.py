"""Pictures in three parts, what their experts read of them, and what one run keeps for the next."""

import json
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from defero.datasets import split_groups, split_rows
from defero_verma2023.arrays import IntArray, Parts
from defero_verma2023.pools.pool import ExpertPool

PARTS = ("train", "validation", "test")
Arrays = dict[str, np.ndarray]


STOCK_VARIABLE = "DEFERO_STOCK"


def stock_folder() -> Path | None:
    """Return the folder that DEFERO_STOCK names, where it does."""
    named = os.environ.get(STOCK_VARIABLE)
    return Path(named) if named else None


class Stock:
    """Arrays that are dear to make: made once in a process, and once for all where a folder is given.

    Parameters
    ----------
    folder : Path, optional

    Examples
    --------
    >>> stock = Stock()
    >>> stock.take("ones", {"n": 2}, lambda: {"x": np.ones(2)})["x"].tolist()
    [1.0, 1.0]
    >>> stock.take("ones", {"n": 2}, lambda: {})["x"].tolist()
    [1.0, 1.0]
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._held: dict[str, Arrays] = {}

    def take(self, name: str, facts: Mapping[str, Any], make: Callable[[], Arrays]) -> Arrays:
        """Return what `make` gives, or gave before under this name and with the same facts."""
        digest = zlib.crc32(json.dumps(facts, sort_keys=True, default=str).encode())
        key = f"{name}-{digest:08x}"
        if key not in self._held:
            self._held[key] = self._from_folder(key, make)
        return self._held[key]

    def _from_folder(self, key: str, make: Callable[[], Arrays]) -> Arrays:
        if self.folder is None:
            return make()
        path = self.folder / f"{key}.npz"
        if not path.is_file():
            made = make()
            self.folder.mkdir(parents=True, exist_ok=True)
            new = path.with_suffix(f".{os.getpid()}.npz")
            np.savez(new, allow_pickle=False, **made)
            os.replace(new, path)
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}


@dataclass(frozen=True, eq=False)
class PictureParts:
    """One seed's split of a data set of pictures.

    Attributes
    ----------
    name : str
        Of the experiment.
    pictures : (n, height, width, 3) bytes
        On the device where they are learned from.
    labels : (n,) int
    n_classes : int
        K.
    rows : mapping
        "train", "validation" and "test" -> numbers of pictures.
    seed : int
        Of the split.
    groups : (n,), optional
        Pictures of one group stay together in every split.
    read : mapping
        "human" and "recorded", where there are such -> a function that gives what the experts read: (n,), or (n, J)
        with a column for each expert.
    stock : Stock
        What is kept for the next run.
    """

    name: str
    pictures: Tensor
    labels: IntArray
    n_classes: int
    rows: Mapping[str, IntArray]
    seed: int
    groups: np.ndarray | None = None
    read: Mapping[str, Callable[[], IntArray]] = field(default_factory=dict)
    stock: Stock = field(default_factory=Stock)

    def draw(self, pool: ExpertPool | None, part: str, *, rng: np.random.Generator) -> IntArray:
        """Draw the experts' answers to the pictures of a part, (n_part, J)."""
        rows = self.rows[part]
        if pool is None:
            return np.empty((len(rows), 0), dtype=np.int64)
        human = self._read("human", rows, pool)
        return pool.draw(self.labels[rows], rng=rng, human=human, recorded=self._read("recorded", rows, pool))

    def picture_rows(self, rows: IntArray) -> tuple[Tensor, Tensor]:
        """Return some pictures and their labels."""
        device = self.pictures.device
        return self.pictures[torch.from_numpy(rows).to(device)], torch.from_numpy(self.labels[rows]).to(device)

    def held_out_answers(self, pool: ExpertPool | None, part: str, *, seed: int) -> IntArray:
        """Draw the answers to the validation or the test part: the same for every method of one seed."""
        return self.draw(pool, part, rng=np.random.default_rng([seed, 1_000 + PARTS.index(part)]))

    def folds(self, part: str, n_folds: int, *, rng: np.random.Generator) -> Parts:
        """Deal the places of a part's pictures, 0..n_part-1, out to folds of about one size, each class alike."""
        rows, sizes = self.rows[part], (1 / n_folds,) * n_folds
        if self.groups is None:
            return split_rows(self.labels[rows], sizes, rng=rng)
        return split_groups(self.groups[rows], self.labels[rows], sizes, rng=rng)

    def _read(self, source: str, rows: IntArray, pool: ExpertPool) -> IntArray | None:
        if source not in pool.reads:
            return None
        read = self.read[source]()[rows]
        return read if read.ndim == 1 else read[:, : pool.n_experts]


def on_device(pictures: Tensor) -> Tensor:
    """Move pictures to the GPU where there is one, once for all runs."""
    return pictures.cuda() if torch.cuda.is_available() else pictures


def first_rows(rows: Mapping[str, IntArray], limit: int | None) -> dict[str, IntArray]:
    """Keep at most so many pictures of each part, drawn evenly from it.

    >>> first_rows({"train": np.arange(10)}, 2)["train"].tolist()
    [0, 9]
    """
    if limit is None:
        return dict(rows)
    return {
        part: chosen[np.linspace(0, len(chosen) - 1, min(limit, len(chosen))).astype(np.int64)]
        for part, chosen in rows.items()
    }
