"""Where an epoch's answers come from: recorded once, or drawn anew for every epoch; seeds and check sums of a run."""

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from defero.core.checks.arrays import IntArray
from defero.core.errors import InputError
from defero.training.verdicts import Verdicts


def check_sum(*tensors: Tensor | None) -> int:
    """Return one number for the content of some tensors.

    >>> import torch
    >>> check_sum(torch.zeros(3), None) == check_sum(torch.zeros(3), None), check_sum(torch.ones(3)) == check_sum(None)
    (True, False)
    """
    total = 0
    for tensor in tensors:
        if tensor is not None:
            total = zlib.crc32(repr(tuple(tensor.shape)).encode(), total)
            total = zlib.crc32(tensor.detach().cpu().contiguous().numpy().data, total)
    return total


def derived_seed(*parts: int) -> int:
    """Return a seed for torch from whole numbers such as (seed, epoch, rank).

    >>> derived_seed(0, 1) == derived_seed(0, 1), derived_seed(0, 1) == derived_seed(1, 0)
    (True, False)
    """
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0]) >> 1


Draw = Callable[[IntArray, np.random.Generator], IntArray]
"""Labels (n,) in, answers (n, J) out: `lambda labels, rng: pool.draw(labels, rng=rng)`."""


class AnswerSource(ABC):
    """Gives the verdicts of each epoch.

    Recorded answers are the same in every epoch: that is what real data are, and in a long run the experts' heads
    learn them by heart. Drawn anew (the paper's simulations) they teach P(right) itself, however long the run; but
    then nobody's answers are ever the recorded ones.
    """

    @abstractmethod
    def at(self, epoch: int) -> Verdicts:
        """Return the verdicts of an epoch, on the device."""

    @abstractmethod
    def place(self, labels: Tensor) -> None:
        """Make ready for items with these labels, on their device."""

    @abstractmethod
    def check_sum(self) -> int:
        """Return a number that sources of the same answers share."""


class FixedAnswers(AnswerSource):
    """Recorded answers."""

    def __init__(self, verdicts: Verdicts) -> None:
        self.verdicts = verdicts.padded()

    def place(self, labels: Tensor) -> None:
        """Move to the labels' device."""
        if len(self.verdicts) != len(labels):
            raise InputError(
                f"must have one row per item: {len(labels)} items, got {len(self.verdicts)}.", argument="verdicts"
            )
        self.verdicts = self.verdicts.to(labels.device)

    def at(self, epoch: int) -> Verdicts:
        """Return the same verdicts in every epoch."""
        return self.verdicts

    def check_sum(self) -> int:
        """Return that of the verdicts."""
        return check_sum(self.verdicts.correct, self.verdicts.observed, self.verdicts.expert_idx)


class RedrawnAnswers(AnswerSource):
    """Answers drawn anew for every epoch.

    Parameters
    ----------
    draw : callable
        Labels (n,) and a generator in, answers (n, J) out.
    seed : int
        Epoch e draws from a generator of (seed, e): a resumed run sees the same answers.
    """

    def __init__(self, draw: Draw, *, seed: int) -> None:
        self._draw = draw
        self._seed = seed

    def place(self, labels: Tensor) -> None:
        """Take note of the labels and of the device."""
        self._device = labels.device
        self._labels = labels.cpu().numpy().astype(np.int64)

    def at(self, epoch: int) -> Verdicts:
        """Draw the verdicts of an epoch."""
        answers = self._draw(self._labels, np.random.default_rng([self._seed, epoch]))
        return Verdicts(torch.from_numpy(answers == self._labels[:, None])).to(self._device)

    def check_sum(self) -> int:
        """Return the seed; how answers are drawn cannot be looked at."""
        return self._seed


class RedrawnByClass(AnswerSource):
    """The same for experts whose chance of being right depends on the class alone: drawn on the device itself.

    Parameters
    ----------
    right_proba : (K, J)
        P(expert j is right | class k).
    seed : int
    """

    def __init__(self, right_proba: Tensor, *, seed: int) -> None:
        self._right_proba = right_proba
        self._seed = seed

    def place(self, labels: Tensor) -> None:
        """Take note of the labels and of the device."""
        self._labels = labels
        self._right_proba = self._right_proba.to(labels.device)
        self._generator = torch.Generator(labels.device)

    def at(self, epoch: int) -> Verdicts:
        """Draw the verdicts of an epoch."""
        chance = self._right_proba[self._labels]
        self._generator.manual_seed(derived_seed(self._seed, epoch))
        drawn = torch.rand(chance.shape, generator=self._generator, device=chance.device, dtype=chance.dtype)
        return Verdicts(drawn < chance)

    def check_sum(self) -> int:
        """Return that of the chances and the seed."""
        return check_sum(self._right_proba, torch.tensor(self._seed))
