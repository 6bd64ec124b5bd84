"""A column of free text as the vectors of a fixed encoder, or a few scores once its numbers have been given slopes.

The encoder itself is not saved: a model folder holds its name, and numbers by which it is recognised.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.codec import Count
from defero.core.errors import Argument, InputError
from defero.data.recipes.text_column import Texts
from defero.data.recipes.text_encoder import TextEncoder

PROBE = "The quick brown fox jumps over the lazy dog."
"""An encoder is recognised by the first numbers of this text's vector."""
_PROBE_NUMBERS = 8
_TOLERANCE = 1e-2
MOST_NUMBERS = 65_536


@dataclass(frozen=True)
class EmbeddedColumn:
    """A column of text: d numbers for each text, or a few scores of them.

    Attributes
    ----------
    name : str
    encoder : str
        Name of the `TextEncoder`.
    width : int
        d.
    scale : float
        Mean length of the training vectors; vectors are divided by it.
    probe : tuple of float
        First numbers of the vector of `PROBE`.
    slopes : tuple of d tuples, or None
        What each number adds to each of the scores; None: the numbers stay columns of their own.
    bias : tuple
        What each score starts from.
    missing : bool
        Training had blanks: a 0/1 column tells where they are.
    source : TextEncoder, optional
        Encodes the texts. Not saved: without it no text can be read.
    """

    kind: ClassVar[str] = "embedding"
    name: str
    encoder: str
    width: Count
    scale: float
    probe: tuple[float, ...]
    slopes: tuple[tuple[float, ...], ...] | None = None
    bias: tuple[float, ...] = ()
    missing: bool = False
    source: TextEncoder | None = field(default=None, compare=False, repr=False, metadata={"saved": False})

    def __post_init__(self) -> None:
        if not 1 <= self.width <= MOST_NUMBERS or not 0 < self.scale < np.inf:
            raise ValueError(f"an encoder of {self.width!r} numbers and the scale {self.scale!r}")
        rows = self.slopes
        if rows is not None and (len(rows) != self.width or any(len(row) != len(self.bias) for row in rows)):
            raise ValueError(f"slopes that are not of {self.width} numbers and {len(self.bias)} scores")
        if self.source is not None and not isinstance(self.source, TextEncoder):
            raise ValueError("an encoder that was saved")

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns this one becomes."""
        what, count = ("vector", self.width) if self.slopes is None else ("score", len(self.bias))
        return tuple(f"{self.name}={what}{k}" for k in range(count)) + (f"{self.name}=missing",) * self.missing

    def sentence(self) -> str:
        """Return one sentence: how the column is used."""
        marked = "; blanks are marked" if self.missing else ""
        scores = "" if self.slopes is None else f", summed up in {len(self.bias)} score{'s' * (len(self.bias) > 1)}"
        return f"{self.name}: {self.width} numbers of the text encoder {self.encoder}{scores}{marked}."

    def vectors(self, cells: Texts) -> FloatArray:
        """Return the scaled vectors of (n,) texts, (n, d); zeros where a text is blank."""
        if self.source is None:
            raise InputError(
                f": the column {self.name} is read by the text encoder {self.encoder!r}, which is not saved with the "
                "model; pass ",
                Argument("text_encoder", self.encoder),
                ", or the same function if it was one.",
                argument="text_encoder",
            )
        if not any(cell is not None for cell in cells):
            return np.zeros((len(cells), self.width))
        vectors = self.source.encode(cells)
        if vectors.shape[1] != self.width:
            raise InputError(
                f": the text encoder {self.source.name!r} gives {vectors.shape[1]} numbers for each text; the model "
                f"was fitted with {self.width}.",
                argument="text_encoder",
            )
        return vectors.astype(np.float64) / self.scale

    def encode(self, cells: Texts) -> FloatArray:
        """Turn (n,) texts, None where blank, into (n, outputs)."""
        numbers = self.vectors(cells)
        if self.slopes is not None:
            numbers = numbers @ self._slope_matrix + np.array(self.bias)
        if not self.missing:
            return numbers
        return np.column_stack([numbers, [float(cell is None) for cell in cells]])

    def unusual(self, block: FloatArray) -> BoolArray:
        """Return which rows of `encode` (n, outputs) are blank although no training row was, (n,)."""
        if self.missing:
            return np.zeros(len(block), dtype=np.bool_)
        return (block == (np.array(self.bias) if self.slopes is not None else 0.0)).all(axis=1)

    def unseen(self, cells: Texts) -> int:
        """Return 0: an encoder reads every text."""
        return 0

    def with_source(self, encoder: TextEncoder) -> "EmbeddedColumn":
        """Return the column with an encoder that reads texts as that of training did; raise if it does not."""
        vector = encoder.encode([PROBE])[0].astype(np.float64)
        close = _TOLERANCE * (self.scale / np.sqrt(self.width))
        if len(vector) != self.width or not np.allclose(vector[: len(self.probe)], self.probe, atol=close):
            raise InputError(
                f": {encoder.name!r} is not the text encoder that the column {self.name} was fitted with, "
                f"{self.encoder!r} with {self.width} numbers: its vectors are different.",
                argument="text_encoder",
            )
        return replace(self, source=encoder)

    @cached_property
    def _slope_matrix(self) -> FloatArray:
        return np.array(self.slopes, dtype=np.float64).reshape(self.width, len(self.bias))


def learn_embedded(name: str, cells: Texts, encoder: TextEncoder) -> EmbeddedColumn | str:
    """Learn a column from (n,) texts, None where blank; return the reason where it cannot be used."""
    if len(set(cells)) == 1:
        return "blank in every row" if cells[0] is None else "the same in every row"
    vectors = encoder.encode(cells)
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    scale = float(lengths[lengths > 0].mean()) if lengths.any() else 1.0
    probe = encoder.encode([PROBE])[0][:_PROBE_NUMBERS]
    return EmbeddedColumn(
        name,
        encoder.name,
        vectors.shape[1],
        scale,
        tuple(probe.astype(np.float64).tolist()),
        missing=None in cells,
        source=encoder,
    )
