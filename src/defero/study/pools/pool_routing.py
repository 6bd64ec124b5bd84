"""Who of a pool answers each item of a file; tables are read, decided and written piece by piece."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from defero.core.errors import Argument, InputError
from defero.core.results import MODEL as NOBODY
from defero.core.wording import count_of, join_names, money
from defero.data.tables.bad_rows import BadRows, are_skipped
from defero.data.tables.read import Table, TableSource
from defero.pools.choosing import RouteRule
from defero.pools.decision import PoolDecision
from defero.pools.router import PoolRouter
from defero.study.pools.pool_fees import Fees, bad_prices, present_members, prices_of, usable_fees
from defero.study.routing.arrivals import bad_rows_of, key_among
from defero.study.routing.decisions import RoutedFile, decisions_to

if TYPE_CHECKING:
    from defero.study.pools.pool_study import PoolStudy


@dataclass(eq=False, repr=False)
class PoolRouting(RoutedFile):
    """What was decided for the items of a file.

    Attributes
    ----------
    out, expert_names, decisions, bad_rows, bad_list
        As in `RoutedFile`.
    load : Counter
        How many items each member gets; under "" those that nobody gets.
    score, price : float
        Sums of the expected scores and of the prices.
    below_floor : int
        How many items have no member whose expected score reaches the floor.
    notes : sentences
    """

    score: float = 0.0
    price: float = 0.0
    below_floor: int = 0
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        loads = [f"{name or 'nobody'} {count}" for name, count in self.load.most_common()]
        return f"PoolRouting: {count_of(self.rows, 'decision')} ({join_names(loads, most=6)}); to_frame() has them."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: what `defero route --json` prints."""
        answered = max(self.rows - self.load[""], 1)
        return {
            "decisions": None if self.out is None else str(self.out),
            "rows": self.rows,
            "load": {name: self.load[name] for name in self.expert_names},
            "nobody": self.load[""],
            "expected_score": round(self.score / answered, 6),
            "price": None if np.isnan(self.price) else self.price,
            "notes": self.notes,
            "bad_rows": None if self.bad_rows is None else self.bad_rows.to_dict(self.bad_list),
        }

    def lines(self) -> list[str]:
        """Return the figures in words."""
        lines = [f"{count_of(self.rows, 'item')} decided:"]
        for name, count in self.load.most_common():
            lines.append(f"  {name or 'nobody'}: {count:,}")
        price = "" if np.isnan(self.price) or self.price == 0 else f", price {money(self.price)} in total"
        lines.append(f"Expected score {self.score / max(self.rows - self.load[''], 1):.4f}{price}.")
        return lines


def route_pool(
    study: "PoolStudy",
    table: Table,
    out: Path | None,
    *,
    key: str | None = None,
    fees: Fees | None = None,
    error_cost: float | None = None,
    budget: float | None = None,
    floor: float | None = None,
    capacity: Mapping[str, Any] | None = None,
    absent: Sequence[str] = (),
    blank: Sequence[str] = (),
    bad_rows: str = "stop",
    progress: Callable[[int], None] | None = None,
) -> PoolRouting:
    """Decide the items of a file.

    Parameters
    ----------
    study : PoolStudy
    table : path or DataFrame
    out : Path, optional
        The file of decisions; by default they are returned.
    key : str, optional
        Column that is copied to the decisions; by default that of `fit`.
    fees, error_cost
        As in `PoolStudy.fit`; by default those of `fit`, also for members that `fees` does not name.
    budget, floor, capacity
        As in `PoolRouter.route`, for the whole file.
    absent : names
        Members who cannot be asked.
    blank : values
        Those that mean none, beside those of `fit`.
    bad_rows : "stop" or "skip"
        As in `Study.route`.
    progress : callable, optional
        Called with the number of rows decided.
    """
    team, source = study.team, TableSource.of(table, blanks=study.blanks(blank).without(key))
    if team.recipe is None:
        raise InputError(f"{study.name}: was fitted on a matrix, not on a table; call its route in Python.")
    if out is not None and source.path is not None and out.exists() and out.samefile(source.path):
        raise InputError(f"{Argument('out', str(out))}: is the table of cases itself; choose another name.")
    columns = source.columns()
    key = key_among(columns, key, known=team.facts.key, source=source.name)
    available = present_members(absent, team.expert_names)
    by_member, routing = study.fees(fees), PoolRouting(out, team.expert_names)
    by_member, notes = usable_fees(by_member, fees, columns)
    routing.notes += notes
    limited = budget is not None or capacity is not None
    trade_off = _trade_off(study, error_cost, fees, {"budget": budget, "floor": floor})
    rule: dict[str, Any] = {"trade_off": trade_off, "floor": floor, "available": available}
    where: dict[str, Any] = {"source": source.name, "first_row": source.first_row}
    bad_fees = partial(bad_prices, by_member, first_row=source.first_row)
    bad = bad_rows_of(team.recipe, bad_fees, **where, skip=are_skipped(bad_rows))
    rule |= {"budget": budget, "capacity": capacity}
    with decisions_to(out, routing, bad) as put:
        pieces = bad.good(_pieces(team, source, key, bad))
        for piece, features, decision in (_whole if limited else _each)(team, pieces, by_member, rule, where):
            _count(routing, decision)
            put(_columns(team, piece, features, decision, key=key, first_row=source.first_row))
            if progress is not None:
                progress(routing.rows)
    if routing.below_floor:
        share = f"{routing.below_floor:,} of {count_of(routing.rows, 'item')}"
        routing.notes.append(f"{share}: no expected score reaches {floor:g}, so that the highest one was chosen.")
    if routing.bad_rows:
        routing.notes.insert(0, routing.bad_rows.note(routing.bad_list if out is not None else None))
    return routing


def _trade_off(
    study: "PoolStudy", error_cost: float | None, fees: Fees | None, limits: dict[str, float | None]
) -> float | None:
    """Return the trade-off; None where a limit decides instead. A trade-off and a limit together are refused."""
    limited_by = [name for name, value in limits.items() if value is not None]
    if limited_by and error_cost is not None:
        raise InputError(
            f"and {Argument(limited_by[0])} are two rules for the same choice; pass one of them.", argument="error_cost"
        )
    return None if limited_by else study.trade_off(error_cost, fees)


Decided = Iterator[tuple[pd.DataFrame, Any, PoolDecision]]


def _each(team: PoolRouter, pieces: Iterator[pd.DataFrame], fees: Any, rule: dict[str, Any], where: Any) -> Decided:
    """Decide piece by piece."""
    for piece in pieces:
        features = team.features(piece, **where)
        prices = prices_of(fees, piece, team.expert_names, **where)
        yield piece, features, team.route_features(features, RouteRule(prices, **rule))


def _whole(team: PoolRouter, pieces: Iterator[pd.DataFrame], fees: Any, rule: dict[str, Any], where: Any) -> Decided:
    """Decide all items together, and give them piece by piece."""
    frames = list(pieces)
    parts = [team.features(piece, **where) for piece in frames]
    prices = [prices_of(fees, piece, team.expert_names, **where) for piece in frames]
    stacked = None if fees is None else np.concatenate([one for one in prices if one is not None])
    decision = team.route_features(np.concatenate(parts), RouteRule(stacked, **rule))
    start = 0
    for piece, features in zip(frames, parts, strict=True):
        rows = slice(start, start + len(piece))
        start += len(piece)
        own = replace(
            decision,
            expert=decision.expert[rows],
            score=decision.score[rows],
            price=decision.price[rows],
            exception=None if decision.exception is None else decision.exception[rows],
        )
        yield piece, features, own


def _columns(
    team: PoolRouter, piece: pd.DataFrame, features: Any, decision: PoolDecision, *, key: str | None, first_row: int
) -> dict[str, Any]:
    """Lay out the decisions: who, expected score, price, the rule, and every member's expected score."""
    expected = team.model.predict(features)
    rule = np.full(len(decision), decision.rule, dtype=object)
    if decision.exception is not None:
        rule = np.where(decision.exception == "", rule, decision.exception)
    rule[decision.expert == NOBODY] = "nobody can be asked"
    return {
        "case": piece[key].tolist() if key else np.asarray(piece.index + first_row),
        "route": decision.name,
        "score": decision.score.round(6),
        "price": decision.price,
        "reason": rule,
        **{f"score_{name}": expected[:, j].round(6) for j, name in enumerate(team.expert_names)},
    }


def _count(routing: PoolRouting, decision: PoolDecision) -> None:
    counts = dict(zip(routing.expert_names, decision.load.tolist(), strict=True))
    routing.load.update({name: count for name, count in counts.items() if count})
    nobody = int((decision.expert == NOBODY).sum())
    if nobody:
        routing.load[""] += nobody
    routing.score += float(np.nansum(decision.score))
    routing.price += float(decision.price.sum())
    if decision.exception is not None:
        routing.below_floor += int((decision.exception != "").sum())


def _pieces(team: PoolRouter, source: TableSource, key: str | None, bad: BadRows) -> Iterator[pd.DataFrame]:
    assert team.recipe is not None
    if source.path is None:
        return iter([source.read(as_text=[])])
    texts = [*team.recipe.categorical, *([] if key is None else [key])]
    return source.chunks(as_text=texts, on_bad=bad.on_bad)
