"""A named pool: experts whose laws are tables, over the label, a person's label, or recorded answers."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from defero import InputError
from defero.simulate import ExpertLaw, simulate_pool
from defero_verma2023.arrays import FloatArray, IntArray
from defero_verma2023.pools.checks import check_generator, numbers_below
from defero_verma2023.pools.tables import TOLERANCE, draw_from_table, probability_rows

Variant = Literal["as_written", "as_published"]
Source = Literal["label", "human", "recorded"]


@dataclass(frozen=True, eq=False)
class PoolExpert:
    """One expert: what it reads of an item, and what it then says.

    Attributes
    ----------
    name : str
    reads : {"label", "human", "recorded"}
        The true class, a person's label, or an answer recorded elsewhere (a network's, say).
    table : (K, K)
        P(answer | class read).
    """

    name: str
    reads: Source
    table: FloatArray

    def __post_init__(self) -> None:
        if self.reads not in get_args(Source):
            raise InputError(f"must be one of {', '.join(get_args(Source))}, got {self.reads!r}.", argument="reads")
        table = probability_rows(f"table of {self.name}", self.table).copy()
        table.flags.writeable = False
        object.__setattr__(self, "table", table)


@dataclass(frozen=True, eq=False)
class ExpertPool:
    """Several experts over the same K classes.

    Attributes
    ----------
    name : str
    experts : J PoolExpert
        Their names differ, their tables have one size.

    Examples
    --------
    >>> from defero_verma2023.pools.cifar10 import cifar10_sim1_pool
    >>> pool = cifar10_sim1_pool(n_experts=2, variant="as_published")
    >>> pool.draw(np.array([0, 9, 9]), rng=np.random.default_rng(0)).shape
    (3, 2)
    >>> pool.expected_accuracy(np.full(10, 0.1)).round(3).tolist()
    [0.478, 0.478]
    """

    name: str
    experts: tuple[PoolExpert, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "experts", tuple(self.experts))
        if not self.experts:
            raise InputError(f"of the pool {self.name} must be at least one, got none.", argument="experts")
        sizes = {len(expert.table) for expert in self.experts}
        if len(sizes) > 1:
            raise InputError(
                f"of the pool {self.name} must share the classes, got K in {sorted(sizes)}.", argument="experts"
            )
        if len(set(self.expert_names)) < len(self.experts):
            raise InputError(
                f"of the pool {self.name} must have different names, got {self.expert_names}.", argument="experts"
            )

    @cached_property
    def expert_names(self) -> tuple[str, ...]:
        """Names of the J experts."""
        return tuple(expert.name for expert in self.experts)

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.experts[0].table)

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.experts)

    @property
    def reads(self) -> frozenset[Source]:
        """What `draw` needs: "human" and "recorded" are arguments of the same name."""
        return frozenset(expert.reads for expert in self.experts)

    def take(self, experts: Iterable[int]) -> "ExpertPool":
        """Return the pool of some experts; `take(range(J))`, the first J, draws the same answers for them.

        >>> from defero_verma2023.pools.ham10000 import ham10000_pool
        >>> ham10000_pool(variant="as_written").take([0, 7]).expert_names
        ('random', 'mlp_mixer')
        """
        chosen = numbers_below("experts", list(experts), end=self.n_experts, what="expert")
        return ExpertPool(self.name, tuple(self.experts[j] for j in chosen))

    def draw(
        self,
        labels: ArrayLike,
        *,
        rng: np.random.Generator,
        human: ArrayLike | None = None,
        recorded: ArrayLike | None = None,
    ) -> IntArray:
        """Draw every expert's answers.

        Parameters
        ----------
        labels : (n,) int
            The true class numbers 0..K-1.
        rng : numpy.random.Generator
            Each expert has a stream of its own, as in `simulate_pool`.
        human : (n,) or (n, J) int, optional
            A person's label, the same for every expert that reads one, or one column per expert.
        recorded : (n,) int, optional
            Answers for the expert that takes recorded ones.

        Returns
        -------
        (n, J) int64
        """
        check_generator(rng)
        label_idx = self._class_numbers("labels", labels)
        human_columns = self._columns("human", human, len(label_idx))
        recorded_columns = self._columns("recorded", recorded, len(label_idx))
        read = {"label": [label_idx] * self.n_experts, "human": human_columns, "recorded": recorded_columns}
        laws = [_bound(expert.table, read[expert.reads][j]) for j, expert in enumerate(self.experts)]
        return simulate_pool(label_idx, laws, rng=rng)

    def expected_accuracy(
        self,
        class_shares: ArrayLike,
        *,
        human_confusion: ArrayLike | None = None,
        recorded_confusion: ArrayLike | None = None,
    ) -> FloatArray:
        """Return each expert's P(right), in closed form.

        P(right) = sum over y of share_y * sum over r of P(r is read | y) * table[r, y].

        Parameters
        ----------
        class_shares : (K,)
            P(y), summing to 1.
        human_confusion, recorded_confusion : (K, K), optional
            P(what is read | y); without it the experts that read it have nan.

        Returns
        -------
        (J,)
        """
        shares = self._class_shares(class_shares)
        read = {
            "label": np.eye(self.n_classes),
            "human": self._confusion("human_confusion", human_confusion),
            "recorded": self._confusion("recorded_confusion", recorded_confusion),
        }
        return np.array([shares @ (read[expert.reads] * expert.table.T).sum(axis=1) for expert in self.experts])

    def _columns(self, source: Source, value: ArrayLike | None, n_items: int) -> list[IntArray]:
        if (value is not None) != (source in self.reads):
            readers = [expert.name for expert in self.experts if expert.reads == source]
            needs = f"is needed: {', '.join(readers)} read it" if readers else "must be left out: no expert reads it"
            raise InputError(f"{source} {needs} in the pool {self.name}.")
        if value is None:
            return []
        array = np.asarray(value)
        allowed = {(n_items,), (n_items, self.n_experts)} if source == "human" else {(n_items,)}
        if array.shape not in allowed:
            shapes = " or ".join(str(shape) for shape in sorted(allowed, key=len))
            raise InputError(f"{source} must have shape {shapes}, got {array.shape}.")
        if array.ndim == 1:
            return [self._class_numbers(source, array)] * self.n_experts
        return [self._class_numbers(source, column) for column in array.T]

    def _class_numbers(self, name: str, value: ArrayLike) -> IntArray:
        return numbers_below(name, value, end=self.n_classes, what="class")

    def _class_shares(self, value: ArrayLike) -> FloatArray:
        shares = np.asarray(value, dtype=np.float64)
        if shares.shape != (self.n_classes,):
            raise InputError(f"class_shares must have shape ({self.n_classes},), one per class, got {shares.shape}.")
        if not ((shares >= 0).all() and abs(shares.sum() - 1) <= TOLERANCE):
            raise InputError(f"class_shares must be probabilities that sum to 1, got a sum of {shares.sum():g}.")
        return shares

    def _confusion(self, name: str, value: ArrayLike | None) -> FloatArray:
        if value is None:
            return np.full((self.n_classes, self.n_classes), np.nan)
        table = probability_rows(name, value)
        if len(table) != self.n_classes:
            raise InputError(f"{name} must be a table of {self.n_classes} classes, got {len(table)}.")
        return table


def check_variant(variant: Variant) -> None:
    """Refuse a variant that is none."""
    if variant not in get_args(Variant):
        raise InputError(f"must be one of {', '.join(get_args(Variant))}, got {variant!r}.", argument="variant")


def _bound(table: FloatArray, read_idx: IntArray) -> ExpertLaw:
    def law(labels: IntArray, /, *, rng: np.random.Generator) -> IntArray:
        return draw_from_table(read_idx, table, rng=rng)

    return law
