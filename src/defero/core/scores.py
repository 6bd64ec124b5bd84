"""Scores: how likely each class is, and how likely each expert is right. Columns K and J meet in this file only."""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import (
    FloatArray,
    IntArray,
    check_shape,
    class_probabilities,
    float_matrix,
    probabilities,
    read_only,
    set_frozen,
)
from defero.core.errors import InputError
from defero.core.wording import Tabular

Link = Literal["logit", "log", "weight", "share"]
"""How a raw expert score becomes a probability: sigmoid(raw), exp(raw) (may pass 1), no probability at all but one of
J+1 weights that add up to 1 (raw is its logarithm), or the number itself, limited to [0, 1]."""

_AT_ONCE = 1 << 14
"""So many numbers stay in the processor's cache from one step to the next."""
_LARGEST_EXPONENT = 700.0  # exp(709.8) is the last finite one
_FEW_COLUMNS = 16
"""Up to so many columns are compared one with the other: numpy's reduction of short rows takes ten times as long."""


def _with_lazy_proba(cls: type["Scores"]) -> type["Scores"]:
    """Make `expert_proba` of computed scores when it is first asked for; given ones are as they were given."""
    lazy = cached_property(lambda scores: read_only(_proba_of_raw(scores.expert_raw, scores.link)))
    name = "expert_proba"
    lazy.__set_name__(cls, name)
    setattr(cls, name, lazy)
    return cls


@_with_lazy_proba
@dataclass(frozen=True, eq=False, repr=False)
class Scores(Tabular):
    """What a model believes of n items.

    Attributes
    ----------
    class_proba : (n, K)
        P(y = k | x); rows add up to 1. No columns where experts have only scores: there is no model then.
    expert_proba : (n, J)
        P(expert j is right | x), or the expected score, inside [0, 1].
    model_proba : (n,)
        P(the model's own label is right | x) on the experts' scale: what a decision compares them with.
        For one-vs-all it is the largest class sigmoid, not the largest normalised class probability.
    expert_raw : (n, J)
        The raw score, which calibration needs.
    link : "logit", "log", "weight" or "share"
        How `expert_raw` becomes `expert_proba`.
    class_names, expert_names : tuple of str, optional
        Names of the columns of `to_frame`; numbers if None.
    """

    class_proba: FloatArray
    expert_proba: FloatArray
    model_proba: FloatArray
    expert_raw: FloatArray
    link: Link
    class_names: tuple[str, ...] | None = None
    expert_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        no_classes = np.shape(self.class_proba)[1:] == (0,)
        class_proba = np.asarray(self.class_proba) if no_classes else class_probabilities(self.class_proba)
        expert_proba = probabilities("expert_proba", self.expert_proba)
        expert_raw = float_matrix("expert_raw", self.expert_raw)
        n_items = len(class_proba)
        check_shape("model_proba", self.model_proba, (n_items,), like=" like class_proba")
        model_proba = probabilities("model_proba", np.atleast_2d(self.model_proba))[0]
        check_shape("expert_proba", expert_proba, (n_items, "J"), like=" like class_proba")
        check_shape("expert_raw", expert_raw, expert_proba.shape, like=" of expert_proba")
        if self.link not in get_args(Link):
            raise InputError(f"must be one of {', '.join(get_args(Link))}, got {self.link!r}.", argument="link")
        set_frozen(self, class_proba=class_proba, expert_proba=expert_proba)
        set_frozen(self, expert_raw=expert_raw, model_proba=model_proba)

    @classmethod
    def from_probabilities(cls, class_proba: ArrayLike, expert_proba: ArrayLike) -> "Scores":
        """Build from anybody's probabilities.

        >>> scores = Scores.from_probabilities([[0.9, 0.1], [0.5, 0.5]], [[0.8], [0.8]])
        >>> scores.model_proba.tolist()
        [0.9, 0.5]
        """
        classes = probabilities("class_proba", class_proba)
        experts = probabilities("expert_proba", expert_proba)
        return cls(classes, experts, classes.max(axis=1, initial=0.0), logit(experts), "logit")

    @classmethod
    def computed(
        cls,
        class_proba: FloatArray,
        model_proba: FloatArray,
        expert_raw: FloatArray,
        link: Link,
        *,
        expert_proba: FloatArray | None = None,
    ) -> "Scores":
        """Build from fresh arrays that are probabilities by construction; they are neither checked nor copied.

        NaN and infinity, which damaged weights give, are still an error. Without `expert_proba` it is made from
        `expert_raw` when it is first asked for: a decision may need the raw scores alone.
        """
        arrays = {"class_proba": class_proba, "model_proba": model_proba, "expert_raw": expert_raw}
        if expert_proba is not None:
            arrays["expert_proba"] = expert_proba
        # The sum of an array is finite only if all of it is; it costs a fraction of one step of the computation.
        if not all(np.isfinite(array.sum()) for array in arrays.values()):
            proba = _proba_of_raw(expert_raw, link) if expert_proba is None else expert_proba
            return cls(class_proba, proba, model_proba, expert_raw, link)
        scores = object.__new__(cls)
        for name, array in arrays.items():
            object.__setattr__(scores, name, read_only(array))
        for name, value in (("link", link), ("class_names", None), ("expert_names", None)):
            object.__setattr__(scores, name, value)
        return scores

    @classmethod
    def concatenated(cls, blocks: Sequence["Scores"]) -> "Scores":
        """Return the scores of several blocks of items as one.

        >>> one = Scores.from_probabilities([[0.9, 0.1]], [[0.8]])
        >>> Scores.concatenated([one, one]).model_proba.tolist()
        [0.9, 0.9]
        """
        if len(blocks) == 1:
            return blocks[0]
        any_expert_proba = any("expert_proba" in vars(one) for one in blocks)
        return cls.computed(
            np.concatenate([one.class_proba for one in blocks]),
            np.concatenate([one.model_proba for one in blocks]),
            np.concatenate([one.expert_raw for one in blocks]),
            blocks[0].link,
            expert_proba=np.concatenate([one.expert_proba for one in blocks]) if any_expert_proba else None,
        )

    def __len__(self) -> int:
        return len(self.class_proba)

    def headline(self) -> str:
        """Return the sizes."""
        return f"Scores: {len(self):,} items, {self.n_classes} classes, {self.n_experts} experts; link {self.link!r}."

    def columns(self, most: int | None = None) -> dict[str, Any]:
        """Return p_model, one p_class_... per class and one p_expert_... per expert, by name or by number."""
        class_names, expert_names = (
            self.class_names or range(self.n_classes),
            self.expert_names or range(self.n_experts),
        )
        classes = {f"p_class_{name}": self.class_proba[:most, k] for k, name in enumerate(class_names)}
        experts = {f"p_expert_{name}": self.expert_proba[:most, j] for j, name in enumerate(expert_names)}
        return {"p_model": self.model_proba[:most], **classes, **experts}

    def take(self, rows: slice | IntArray) -> "Scores":
        """Return the scores of some items.

        >>> Scores.from_probabilities([[0.9, 0.1], [0.5, 0.5]], [[0.8], [0.7]]).take(slice(1, 2)).expert_proba.tolist()
        [[0.7]]
        """
        classes, experts, raw = self.class_proba[rows], self.expert_proba[rows], self.expert_raw[rows]
        return replace(
            self, class_proba=classes, expert_proba=experts, model_proba=self.model_proba[rows], expert_raw=raw
        )

    def named(self, class_names: Iterable[Any], expert_names: Sequence[str]) -> "Scores":
        """Return the same scores with the names of their classes and experts.

        >>> scores = Scores.from_probabilities([[0.9, 0.1]], [[0.8]]).named(["ill", "well"], ["ann"])
        >>> list(scores.columns())
        ['p_model', 'p_class_ill', 'p_class_well', 'p_expert_ann']
        """
        names = {"class_names": tuple(map(str, class_names)), "expert_names": tuple(expert_names)}
        scores = copy(self)  # checked already
        for name, value in names.items():
            object.__setattr__(scores, name, value)
        return scores

    @property
    def n_classes(self) -> int:
        """K."""
        return self.class_proba.shape[1]

    @property
    def n_experts(self) -> int:
        """J."""
        return self.expert_raw.shape[1]

    @property
    def class_idx(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """(n,): the model's own answer, as a class number; -1 where there is no model."""
        return np.argmax(self.class_proba, axis=1) if self.n_classes else np.full(len(self), -1)

    @property
    def model_value(self) -> FloatArray:
        """(n,): what the model's answer is worth, P(right); -inf where there is no model."""
        return self.model_proba if self.n_classes else np.full(len(self), -np.inf)

    @property
    def expert_value(self) -> FloatArray:
        """(n, J): the number that ranks experts. It passes 1 where the softmax estimate does (link "log")."""
        if self.link == "log":
            return np.exp(np.minimum(self.expert_raw, _LARGEST_EXPONENT))
        return self.expert_proba

    def above_one(self) -> float:
        """Return the share of expert estimates above 1, a known fault of the softmax loss; nan without experts."""
        return float(np.mean(self.expert_value > 1)) if self.expert_proba.size else float("nan")


def logit(proba: FloatArray) -> FloatArray:
    """Return log-odds, finite at 0 and 1 too: +-745, beyond which a sigmoid is 0 or 1 in double precision.

    >>> logit(np.array([0.0, 0.5, 1.0])).tolist()
    [-745.0, 0.0, 745.0]
    """
    with np.errstate(divide="ignore"):
        return np.clip(np.log(proba) - np.log1p(-proba), -745.0, 745.0)


def sigmoid(logits: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(-logits)) without overflow.

    >>> sigmoid(np.array([-1e4, 0.0, 1e4])).tolist()
    [0.0, 0.5, 1.0]
    """
    if np.size(logits) <= _AT_ONCE:
        return _sigmoid(logits)
    proba = np.empty(logits.shape, dtype=np.result_type(logits, np.float32))
    values, results = logits.reshape(-1), proba.reshape(-1)
    for start in range(0, values.size, _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        results[block] = _sigmoid(values[block])
    return proba


def _sigmoid(logits: FloatArray) -> FloatArray:
    if np.min(logits, initial=0.0) > -_LARGEST_EXPONENT:
        divisor = np.exp(np.negative(logits))
        divisor += 1.0
        return np.reciprocal(divisor, out=divisor if np.ndim(divisor) else None)
    # exp(min(x, 0)) is 1 or exp(-|x|): exact, and faster than a choice between the two.
    return np.exp(np.minimum(logits, 0.0)) / (1.0 + np.exp(-np.abs(logits)))


def softmax(logits: FloatArray) -> FloatArray:
    """Return exp(logits) normalised to rows that add up to 1.

    >>> softmax(np.array([[1e4, 1e4]])).tolist()
    [[0.5, 0.5]]
    """
    raised = logits - row_max(logits)[:, None]
    np.exp(raised, out=raised)
    raised /= _row_sum(raised)[:, None]
    return raised


def row_max(matrix: FloatArray) -> FloatArray:
    """Return the largest number of each row, (n,); there is at least one column.

    >>> row_max(np.array([[1.0, 3.0], [2.0, 0.0]])).tolist()
    [3.0, 2.0]
    """
    if 0 < matrix.shape[1] <= _FEW_COLUMNS:
        return reduce(np.maximum, matrix.T)
    largest: FloatArray = matrix.max(axis=1)
    return largest


def _row_sum(matrix: FloatArray) -> FloatArray:
    if 0 < matrix.shape[1] <= _FEW_COLUMNS:
        return reduce(np.add, matrix.T)
    total: FloatArray = matrix.sum(axis=1)
    return total


def _proba_of_raw(expert_raw: FloatArray, link: Link) -> FloatArray:
    """Return the probabilities (n, J) that raw scores stand for."""
    if link == "share":
        return np.minimum(np.maximum(expert_raw, 0.0), 1.0)
    return sigmoid(expert_raw) if link == "logit" else np.exp(np.minimum(expert_raw, 0.0))
