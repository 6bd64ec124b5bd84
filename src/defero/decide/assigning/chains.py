"""Chains of moves: an item goes from one decider to another, who hands one on in turn.

The deciders are J experts and the model, node J. In a transportation problem an assignment is the best one with its
loads if no closed chain of moves gains anything; the best chain from one decider to another changes the loads by one
at the least loss. Repairing loads by best chains therefore keeps an assignment optimal.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray

_ROWS_AT_ONCE = 50_000


@dataclass(frozen=True, eq=False)
class Bounds:
    """Fewest and most items of each of J experts and of the model, (J + 1,) each."""

    lower: IntArray
    upper: IntArray


class Chains:
    """An assignment that is changed by chains of moves.

    Parameters
    ----------
    value : (n, J)
        Gain of asking each expert over the model; -inf where they cannot be asked.
    node : (n,) int
        Who has each item: an expert, or J for the model. It is changed in place.
    bounds : Bounds
    tolerance : float
        Gains up to this are rounding.
    """

    def __init__(self, value: FloatArray, node: IntArray, bounds: Bounds, *, tolerance: float) -> None:
        self.value, self.node, self.bounds, self.tolerance = value, node, bounds, tolerance
        self.n_nodes = value.shape[1] + 1
        self.load = np.bincount(node, minlength=self.n_nodes)
        self.gain = np.full((self.n_nodes, self.n_nodes), -np.inf)
        """Best gain of moving one item from a decider (row) to another (column)."""
        order = np.argsort(node, kind="stable")
        self.rows = np.split(order, np.cumsum(self.load)[:-1])
        for start in range(self.n_nodes):
            self._look(start)

    def meet_bounds(self, *, most: int | None = None) -> bool:
        """Move items by the best chains until every load is within its bounds; return whether that was possible.

        At most `most` chains are moved.
        """
        moved = 0
        while most is None or moved < most:
            over, under = self.load > self.bounds.upper, self.load < self.bounds.lower
            if not over.any() and not under.any():
                return True
            # A decider with too many gives to one with too few, or to anybody who has room.
            chain = self._chain(over, under)
            if chain is None and over.any():
                chain = self._chain(over, self.load < self.bounds.upper)
            elif chain is None:
                chain = self._chain(self.load > self.bounds.lower, under)
            if chain is None:
                return False
            self._move(chain)
            moved += 1
        return False

    def improve(self, *, most: int) -> bool:
        """Move items by chains that gain, at most `most` times; return whether none is left."""
        for _ in range(most):
            chain = self._chain(self.load > self.bounds.lower, self.load < self.bounds.upper, least=self.tolerance)
            if chain is None:
                return True
            self._move(chain)
        return False

    def _chain(self, leave: BoolArray, join: BoolArray, least: float = -np.inf) -> list[int] | None:
        """Return the best chain from a decider that may give to one that may take, or a closed chain that gains.

        None where no chain gains more than `least`.
        """
        gain, came_from = np.where(leave, 0.0, -np.inf), np.full(self.n_nodes, -1)
        for _ in range(self.n_nodes):
            through = gain[:, None] + self.gain
            best = through.argmax(axis=0)
            better = through[best, np.arange(self.n_nodes)] > gain + self.tolerance
            if not better.any():
                break
            gain = np.where(better, through[best, np.arange(self.n_nodes)], gain)
            came_from = np.where(better, best, came_from)
        else:
            return _closed(came_from, int(np.flatnonzero(better)[0]))
        # An item that stays where it is is no chain: the ends differ.
        ends = np.where(join & (came_from >= 0), gain, -np.inf)
        end = int(ends.argmax())
        if not ends[end] > least:
            return None
        chain = [end]
        while came_from[chain[0]] >= 0:
            if len(chain) > self.n_nodes:
                return _closed(came_from, end)
            chain.insert(0, int(came_from[chain[0]]))
        return chain

    def _move(self, chain: list[int]) -> None:
        """Move items along a chain, several at a time where they gain the same."""
        first, last = chain[0], chain[-1]
        steps = list(pairwise(chain))
        movers = [self._movers(start, end) for start, end in steps]
        count = min(len(one) for one in movers)
        if first != last:
            count = min(count, self._room(first, last))
        for (_, end), rows in zip(steps, movers, strict=True):
            self.node[rows[:count]] = end
        for (start, _), rows in zip(steps, movers, strict=True):
            self.rows[start] = np.setdiff1d(self.rows[start], rows[:count], assume_unique=True)
        for (_, end), rows in zip(steps, movers, strict=True):
            self.rows[end] = np.concatenate([self.rows[end], rows[:count]])
        for one in set(chain):
            self.load[one] = len(self.rows[one])
            self._look(one)

    def _room(self, first: int, last: int) -> int:
        """Return how many items may go from one decider to another: what mends both, or else what both allow."""
        load, lower, upper = self.load, self.bounds.lower, self.bounds.upper
        give = load[first] - (upper[first] if load[first] > upper[first] else lower[first])
        take = (lower[last] if load[last] < lower[last] else upper[last]) - load[last]
        return max(1, int(min(give, take)))

    def _movers(self, start: int, end: int) -> IntArray:
        rows = self.rows[start]
        gain = self._column(rows, end) - self._column(rows, start)
        return rows[gain >= self.gain[start, end] - self.tolerance]

    def _column(self, rows: IntArray, node: int) -> FloatArray:
        return np.zeros(len(rows)) if node == self.n_nodes - 1 else self.value[rows, node]

    def _look(self, start: int) -> None:
        """Find the best gain of moving one of a decider's items to each other one."""
        best = np.full(self.n_nodes, -np.inf)
        for piece in range(0, len(self.rows[start]), _ROWS_AT_ONCE):
            rows = self.rows[start][piece : piece + _ROWS_AT_ONCE]
            own = self._column(rows, start)
            best[:-1] = np.maximum(best[:-1], (self.value[rows] - own[:, None]).max(axis=0))
            best[-1] = max(best[-1], -own.min())
        best[start] = -np.inf
        self.gain[start] = best


def _closed(came_from: IntArray, node: int) -> list[int]:
    """Return the closed chain that a node was reached from."""
    for _ in range(len(came_from)):
        node = int(came_from[node])
    chain = [node]
    while True:
        chain.insert(0, int(came_from[chain[0]]))
        if chain[0] == node:
            return chain


def least_prices(chains: Chains) -> tuple[FloatArray, float, float]:
    """Return what one more question to each expert saves (J,), and bounds on what any question more saves.

    With p_b the price of decider b, no item would rather move: p_b - p_a >= gain of a move from a to b. What any
    question costs is the price of an expert without limits; the price of others lies above where their most, and below
    where their fewest questions bind. These are bounds on differences, so that the least price of each is a longest
    path, and exactly what one more question saves.

    Parameters
    ----------
    chains : Chains
        An assignment that no chain improves.

    Returns
    -------
    expert : (J,)
        Beyond what any question costs; negative where the fewest questions bind.
    least, most : float
        What one more question to anybody saves, and what one less loses. With `most` the prices are a dual solution.
    """
    model, level = chains.n_nodes - 1, chains.n_nodes
    bound = np.full((level + 1, level + 1), -np.inf)
    bound[:level, :level] = chains.gain
    load, lower, upper = (array[:-1] for array in (chains.load, chains.bounds.lower, chains.bounds.upper))
    bound[level, :model] = np.where(load > lower, 0.0, -np.inf)
    bound[:model, level] = np.where(load < upper, 0.0, -np.inf)
    bound[model, level] = 0.0
    if chains.load[model] > chains.bounds.lower[model]:
        bound[level, model] = 0.0
    price = _from_above(bound, _longest(bound, level))
    any_question = float(_longest(bound, model)[level])
    own = price[:model]
    own = np.where((load == 0) & (lower == 0), np.maximum(own, 0.0), own)  # no limit keeps them from fewer than none
    return own, max(any_question, 0.0), max(-float(price[model]), 0.0)


def _longest(bound: FloatArray, start: int) -> FloatArray:
    """Return the longest path from a node to each other one; -inf where there is none."""
    length = np.full(len(bound), -np.inf)
    length[start] = 0.0
    for _ in range(len(bound)):
        through = (length[:, None] + bound).max(axis=0)
        if not (through > length).any():
            break
        length = np.maximum(length, through)
    return length


def _from_above(bound: FloatArray, price: FloatArray) -> FloatArray:
    """Fill in prices that nothing bounds from below: the most that the others allow, then the least, at last 0."""
    price = np.where(np.isfinite(price), price, np.inf)
    missing = np.isinf(price)
    for _ in range(int(missing.sum())):
        most = np.where(np.isfinite(bound), price - bound, np.inf).min(axis=1)
        price[missing] = np.minimum(price, most)[missing]
    missing = np.isinf(price)
    price[missing] = -np.inf
    for _ in range(int(missing.sum())):
        least = (price[:, None] + bound).max(axis=0)
        price[missing] = np.maximum(price, least)[missing]
    return np.where(np.isfinite(price), price, 0.0)
