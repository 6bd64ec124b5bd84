"""PoolStudy: from a table of scores to a pool that is fitted, tested, saved and used."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from defero.core.checks.arrays import IntArray
from defero.core.display import Preformatted
from defero.core.errors import Argument, InputError, Message, TableError
from defero.core.order import row_order
from defero.core.splits import split_in_order
from defero.core.wording import count_of, join_names
from defero.data.fingerprint import row_fingerprints
from defero.data.recipes.text_encoder import Encoder
from defero.data.tables.bad_rows import STOP, BadCell
from defero.data.tables.cells import BlankCells
from defero.data.tables.read import Table, TableSource
from defero.data.tables.wide import part_named
from defero.pools.copies import equal_rows, mostly_equal, tells_items_apart
from defero.pools.parts import PoolFacts
from defero.pools.record import judge_pool
from defero.pools.router import PoolRouter, is_pool_folder, router_of
from defero.study.pools.pool_cases import PRICE_ROLE, PoolCases, read_pool
from defero.study.pools.pool_evaluation import PoolEvaluation
from defero.study.pools.pool_fees import (
    Fees,
    MemberFees,
    bad_prices,
    fee_columns,
    member_fees,
    present_members,
    prices_of,
    usable_fees,
)
from defero.team.rows import FORGOTTEN, check_rows_known
from defero.team.storage import with_encoder

TEST_SHARE = 0.2


class PoolStudy(Preformatted):
    """Items with the scores of a pool's members, and the pool that is made of them.

    Parameters
    ----------
    team : PoolRouter
    name : str
        What messages call the pool.
    test : PoolCases, optional
        The test part, after `fit`.
    n_train : int

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> task = rng.choice(["maths", "poems"], 300)
    >>> right = {"small": rng.random(300) < 0.6, "large": rng.random(300) < 0.8}
    >>> table = pd.DataFrame({"task": task, **{name: values.astype(int) for name, values in right.items()}})
    >>> study = PoolStudy.fit(table, expert_names=["small", "large"], fees={"small": 1, "large": 10})
    >>> study.evaluate().record.best_single.name
    'large'
    """

    def __init__(
        self, team: PoolRouter, *, name: str = "pool", test: PoolCases | None = None, n_train: int = 0
    ) -> None:
        self.team, self.name, self.test, self.n_train = team, name, test, n_train
        self.notes: list[str] = []

    def __repr__(self) -> str:
        return f"PoolStudy: a pool of {join_names(self.team.expert_names)}."

    @classmethod
    def fit(
        cls,
        table: Table,
        *,
        expert_names: Sequence[str] | None,
        features: Sequence[str] | None = None,
        text: str | Sequence[str] = (),
        text_encoder: Encoder = None,
        key: str | None = None,
        groups: str | None = None,
        split: str | None = None,
        test_share: float | None = None,
        fees: Fees | None = None,
        error_cost: float | None = None,
        blank: Sequence[str] = (),
        random_state: int = 0,
    ) -> "PoolStudy":
        """Learn from four fifths of a table of scores; the rest is the test part.

        Parameters
        ----------
        table : path or DataFrame
            One row per item, one column of scores in [0, 1] per member.
        expert_names : names
            The columns of the scores.
        features, text, text_encoder, key
            As in `read_cases`.
        groups : str, optional
            Column of group ids: all rows of a group go to the same part. By default equal rows stay together.
        split : str, optional
            Column that says train or test.
        test_share : float, optional
            0.2 by default.
        fees : {name: money or "@column"}, optional
            What a call costs; the name "all" stands for everybody who is not named.
        error_cost : float, optional
            What a score of 0 in place of 1 costs, in the same unit: the trade-off of `route` if none is given there.
        blank : values
            Those that mean none, such as "n/a", in every column but the key; `evaluate` and `route` know them too.
        random_state : int
        """
        from defero.estimators.pool.expert_pool import ExpertPool

        texts = (text,) if isinstance(text, str) else tuple(text)
        if error_cost is not None:
            _check_error_cost(error_cost, fees)
        apart = [(one, PRICE_ROLE) for one in dict.fromkeys(fee_columns(fees))]
        apart += [(one, role) for one, role in ((key, "the key"), (groups, "the groups"), (split, "the split")) if one]
        # The names of the members first: a typo in them would make every fee one of an unknown member.
        blanks = BlankCells.of(blank).without(key)
        cases = read_pool(table, expert_names=expert_names, features=features, text=texts, apart=apart, blanks=blanks)
        by_member = member_fees(fees, cases.expert_names)
        train, test = _parts(cases, text=texts, groups=groups, split=split, test_share=test_share, seed=random_state)
        prices = prices_of(by_member, cases.frame, cases.expert_names, source=cases.source, first_row=cases.first_row)
        pool = ExpertPool(text=list(texts), text_encoder=text_encoder, random_state=random_state)
        pool.fit(
            cases.items.iloc[train],
            cases.scores[train],
            prices=None if prices is None else prices[train],
            expert_names=cases.expert_names,
            groups=None if groups is None else cases.frame[groups].astype(str).to_numpy()[train],
        )
        facts = PoolFacts(
            held_out=None if pool.team_.score_facts is None else pool.team_.score_facts.held_out,
            n_items=len(train),
            fees=by_member,
            error_cost=error_cost,
            key=key,
            groups=groups,
            split=split,
            blank=blanks.values,
        )
        study = cls(router_of(pool.team_, facts), test=_take(cases, test), n_train=len(train))
        study.notes += [*cases.notes, *pool.notes_]
        if by_member is not None and error_cost is None:
            study.notes.append(
                Message(
                    "prices do not count yet: items go to the highest expected score. Pass "
                    f"{Argument('error_cost')}, what a point of quality is worth, to fit or route; or a budget to "
                    "route."
                )
            )
        return study

    @classmethod
    def load(cls, folder: str | PathLike[str], *, text_encoder: Encoder = None) -> "PoolStudy":
        """Read the pool in a model folder; `text_encoder` is that of `Team.load`."""
        return cls(with_encoder(PoolRouter.load(Path(folder)), text_encoder), name=str(folder))

    def save(self, folder: str | PathLike[str], *, forget_rows: bool = False) -> None:
        """Write the pool to a model folder; with `forget_rows` without fingerprints of its rows."""
        team = self.team
        if forget_rows:
            team = replace(team, seen=np.zeros(0, dtype=np.uint64), rows_key=FORGOTTEN)
        team.save(Path(folder))
        self.name = str(folder)

    def evaluate(
        self,
        table: Table | None = None,
        *,
        fees: Fees | None = None,
        error_cost: float | None = None,
        absent: Sequence[str] = (),
        blank: Sequence[str] = (),
        all_rows_new: bool = False,
        bad_rows: str = STOP,
    ) -> PoolEvaluation:
        """Judge the pool on items that it has not seen; by default on the test part.

        Parameters
        ----------
        table : path or DataFrame, optional
            Items with scores; rows that the pool was fitted on are left out.
        fees, error_cost
            As in `fit`; by default those of `fit`, also for members that `fees` does not name.
        absent : names
            Members who cannot be asked.
        blank : values
            Those that mean none, beside those of `fit`.
        all_rows_new : bool
            You vouch that no row was used to fit the pool; needed where nobody can check that.
        bad_rows : "stop" or "skip"
            What to do where rows of the table cannot be used. "stop": the error names all of them. "skip": the good
            rows are judged, and <table>.bad-rows.csv lists the others.
        """
        by_member = self.fees(fees)
        cases, n_seen = self.test, 0
        if table is not None:
            apart = [(one, PRICE_ROLE) for one in dict.fromkeys(fee_columns(by_member))]
            recipe = self.team.recipe
            used = None if recipe is None else list(recipe.inputs)
            cases = read_pool(
                table,
                expert_names=self.team.expert_names,
                features=used,
                apart=_present(table, apart),
                bad_rows=bad_rows,
                find_bad=partial(self._bad_cells, fees=by_member, first_row=TableSource.of(table).first_row),
                blanks=self.blanks(blank),
            )
            cases, n_seen = self._fresh(cases, all_rows_new=all_rows_new)
        if cases is None:
            raise InputError("evaluate: this pool was loaded without cases; pass a table with scores.")
        prices, notes = self.prices(cases, fees, by_member)
        available = present_members(absent, self.team.expert_names)
        scored = np.isfinite(cases.scores)
        keep = (scored if available is None else scored & available).any(axis=1)
        record = judge_pool(
            self.team,
            cases.items[keep],
            cases.scores[keep],
            prices=None if prices is None else prices[keep],
            trade_off=self.trade_off(error_cost, fees),
            available=available,
            groups=self._groups(cases)[keep],
        )
        judged = _take(cases, np.flatnonzero(keep))
        if record.curve is not None and not record.has_net_value:
            notes.append(
                Message(f"no net value: pass {Argument('error_cost')}, the money that a point of quality is worth.")
            )
        return PoolEvaluation(
            self.name, cases.source, len(cases) + n_seen, n_seen, judged, record, (*cases.notes, *notes)
        )

    def _bad_cells(self, frame: Any, *, fees: Any, first_row: int) -> list[BadCell]:
        """Return the cells of features and prices that cannot be used; a column that is missing is told later."""
        recipe = self.team.recipe
        known = recipe is not None and set(recipe.inputs) <= set(map(str, frame.columns))
        features = recipe.bad_cells(frame, first_row=first_row) if recipe is not None and known else []
        return [*features, *bad_prices(fees, frame, first_row=first_row)]

    def _groups(self, cases: PoolCases) -> Any:
        """Return groups (n,) of items that belong together: by the column of `fit`, else equal rows."""
        column, recipe = self.team.facts.groups, self.team.recipe
        if column in cases.frame.columns:
            return cases.frame[column].astype(str).to_numpy()
        return equal_rows(cases.items, text=() if recipe is None else recipe.text)

    def blanks(self, blank: Sequence[str] = ()) -> BlankCells:
        """Return values that mean none: those of `fit`, and these."""
        facts = self.team.facts
        values = BlankCells.of(blank).values
        return BlankCells(tuple(dict.fromkeys((*facts.blank, *values)))).without(facts.key)

    def fees(self, fees: Fees | None) -> MemberFees | None:
        """Return the fees of the members: as given, else those of `fit`; members without either have learned prices."""
        return member_fees(fees, self.team.expert_names, learned=self.team.facts.fees, partial=True)

    def trade_off(self, error_cost: float | None, fees: Fees | None = None) -> float | None:
        """Return money per point of quality: as given, else that of `fit`; None where quality alone counts."""
        value = self.team.facts.error_cost if error_cost is None else error_cost
        if value is not None:
            _check_error_cost(value, self.fees(fees) or self.team.prices_learned)
        return value

    def prices(self, cases: PoolCases, fees: Fees | None, by_member: MemberFees | None) -> tuple[Any, list[str]]:
        """Return prices (n, J) of the items; where columns of `fit` are not in the table, those that are expected."""
        usable, notes = usable_fees(by_member, fees, list(map(str, cases.frame.columns)))
        where: dict[str, Any] = {"source": cases.source, "first_row": cases.first_row}
        return prices_of(usable, cases.frame, cases.expert_names, **where), notes

    def report(self, out: str | PathLike[str], table: Table | None = None, **terms: Any) -> PoolEvaluation:
        """Write the page of an evaluation; the other arguments are those of `evaluate`, and `command`."""
        from defero.study.page import check_page
        from defero.study.pools.pool_evaluation import write_pool_page

        command, path = terms.pop("command", ""), Path(out)
        check_page(path, model=None, tables=(table,))
        evaluation = self.evaluate(table, **terms)
        write_pool_page(evaluation, self.team, path, command=command)
        return evaluation

    def route(self, table: Table, out: str | PathLike[str] | None = None, **terms: Any) -> Any:
        """Decide the items of a file; the arguments are those of `pool_routing.route_pool`."""
        from defero.study.pools.pool_routing import route_pool

        return route_pool(self, table, None if out is None else Path(out), **terms)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: what `defero fit --scores --json` prints."""
        facts, judged = self.team.facts, self.evaluate()
        return {
            "model": self.name,
            "rows": {"train": self.n_train, "test": len(judged.record.scores)},
            "features": [] if self.team.recipe is None else self.team.recipe.describe(),
            "held_out": facts.held_out,
            "notes": list(self.notes),
            "test": judged.record.to_dict(),
        }

    def describe(self) -> list[str]:
        """Return what `fit` did, a sentence each."""
        facts = self.team.facts
        n_test = 0 if self.test is None else len(self.test)
        return [
            f"{self.n_train:,} items to learn from, {n_test:,} for the test.",
            *([] if self.team.recipe is None else [f"  {line}" for line in self.team.recipe.describe()[:12]]),
            *([] if facts.held_out is None else [f"Mean held-out score of those chosen: {facts.held_out:.4f}."]),
        ]

    def _fresh(self, cases: PoolCases, *, all_rows_new: bool) -> tuple[PoolCases, int]:
        if not all_rows_new:
            check_rows_known(self.team.rows_key)
        fresh = np.ones(len(cases), dtype=np.bool_)
        if not all_rows_new:
            fresh = ~np.isin(row_fingerprints(cases.items), self.team.seen)
        text = () if self.team.recipe is None else self.team.recipe.text
        kinds = mostly_equal(self.team.seen) and not tells_items_apart(cases.items, text=text)
        if kinds and not fresh.all():
            raise InputError(
                f"{cases.source}: most rows that this pool was fitted on are equal in the columns that it reads, "
                f"so that rows it has seen cannot be told from new ones; pass {Argument('all_rows_new', True)} "
                "where none of these rows was used to fit it, or fit with more columns."
            )
        if not fresh.any():
            raise InputError(
                f"{cases.source}: every row was used to fit this pool; pass other items.", argument="table"
            )
        return _take(cases, np.flatnonzero(fresh)), int((~fresh).sum())


def _check_error_cost(error_cost: float, has_prices: object) -> None:
    if not (np.isfinite(error_cost) and error_cost >= 0):
        raise InputError(f"must be a finite number of at least 0, got {error_cost:g}.", argument="error_cost")
    if not has_prices:
        raise InputError(
            f"is weighed against what a call costs; name the prices with {Argument('fees')}.", argument="error_cost"
        )


def load_study(folder: Path, load: Callable[..., Any], *, text_encoder: Encoder = None) -> Any:
    """Return a `PoolStudy` of a pool's folder, else what `load` reads from it."""
    return (PoolStudy.load if is_pool_folder(folder) else load)(folder, text_encoder=text_encoder)


def _present(table: Table, apart: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the roles of columns that the table has."""
    columns = TableSource.of(table).columns()
    return [(name, role) for name, role in apart if name in columns]


def _take(cases: PoolCases, rows: IntArray) -> PoolCases:
    return replace(cases, frame=cases.frame.iloc[rows], scores=cases.scores[rows])


def _parts(
    cases: PoolCases,
    *,
    text: Sequence[str],
    groups: str | None,
    split: str | None,
    test_share: float | None,
    seed: int,
) -> tuple[IntArray, IntArray]:
    """Return the rows to learn from and the test part."""
    if split is not None:
        parts = [part_named(cell) for cell in cases.frame[split]]
        odd = [cell for cell, part in zip(cases.frame[split], parts, strict=True) if part is None]
        if odd:
            raise InputError(f": {odd[0]!r} names no part; write train or test.", argument="split")
        test = np.array([part == "test" for part in parts])
        if test.all() or not test.any():
            raise InputError(f": column {split} must have rows to learn from and rows to test.", argument="split")
        return np.flatnonzero(~test), np.flatnonzero(test)
    share = TEST_SHARE if test_share is None else test_share
    if not 0 < share < 1:
        raise InputError(f"must lie in (0, 1), got {share}.", argument="test_share")
    marks: Any = equal_rows(cases.items, text=text) if groups is None else cases.frame[groups].astype(str).to_numpy()
    n_groups = len(np.unique(marks))
    if n_groups < 2:
        rows = count_of(len(cases), "row") + " with a score" + ("" if len(cases) == 1 else ", all of one group")
        raise TableError(f"{cases.source}: has {rows}: nothing is left for the test; add rows.")
    strata = np.zeros(len(cases), dtype=np.int64)
    scores = cases.scores[:, np.argsort(cases.expert_names)]
    order = row_order(cases.items, strata, scores=scores, group=None if groups is None else marks)
    train, test_rows = split_in_order(order, strata, (1 - share, share), rng=np.random.default_rng(seed), groups=marks)
    return train, test_rows
