"""PoolEvaluation: a pool on items that it has not seen, in figures, in sentences, and as a page."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from defero.core.display import Preformatted
from defero.core.wording import count_of, money, signed_money
from defero.data.model_folder import library_versions
from defero.data.recipes.columns import CategoricalColumn
from defero.data.tables.cells import texts
from defero.data.whole_files import write_whole
from defero.pools.record import PoolRecord
from defero.pools.router import PoolRouter
from defero.study.pools.pool_cases import PoolCases


@dataclass(frozen=True, eq=False, repr=False)
class PoolEvaluation(Preformatted):
    """A pool on items that it has not seen.

    Attributes
    ----------
    model, table : str
    rows : int
        Rows of the table with a score.
    seen_by_fit : int
        Of these, those that the pool was fitted on; they are left out.
    cases : PoolCases
        The items that are judged.
    record : PoolRecord
    notes : sentences
    """

    model: str
    table: str
    rows: int
    seen_by_fit: int
    cases: PoolCases
    record: PoolRecord
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Return the figures as a text of a few lines."""
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: what `defero evaluate --json` prints."""
        return {
            "model": self.model,
            "table": self.table,
            "rows": self.rows,
            "seen_by_fit": self.seen_by_fit,
            "test": self.record.to_dict(),
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """Return the figures in words."""
        record = self.record
        if record.one_score_each:
            return self._log_lines()
        ways = [record.pool, record.best_single, record.random, record.cheapest, record.oracle]
        names = ["the pool", f"best single, {record.best_single.name}", "random", "", "oracle"]
        if record.cheapest is not None:
            names[3] = f"cheapest, {record.cheapest.name}"
        width = max(map(len, names))
        lines = [f"On {record.compared_items()} that the pool has not seen:", ""]
        for name, way in zip(names, ways, strict=True):
            if way is not None:
                cost = "" if np.isnan(way.cost) else f"  {money(way.cost)} an item"
                net = way.net_value(record.decision.trade_off)
                value = "" if np.isnan(net) else f"  net value {money(net)}"
                lines.append(f"  {name:<{width}}  score {way.quality:.4f}{cost}{value}")
        gain, low, high = record.gain
        interval = "" if np.isnan(low) else f" [{low:+.4f}, {high:+.4f}]"
        lines += ["", f"The pool minus the best single member: {gain:+.4f}{interval}."]
        if record.has_net_value:
            lines.append(self._net_line())
        if not np.isnan(record.area):
            lines.append(f"Over the zero router, averaged over costs: {record.area:+.4f}.")
        everything = "" if record.compared.all() else ", all items"
        lines.append(f"Promised {record.promised:.4f}, kept {float(np.nanmean(record.kept)):.4f}{everything}.")
        if record.n_unanswered:
            left_out = count_of(record.n_unanswered, "item")
            lines.append(f"{left_out} left out: no member with a score there has a known price.")
        if record.free is not None:
            lines += ["A member without a score for an item could not be chosen for it.", record.free.sentence()]
        return lines

    def _log_lines(self) -> list[str]:
        """Return what a log with one score for each item can tell."""
        members = [row for row in self.record.members() if row["scores"]]
        width = max(len(row["name"]) for row in members)
        return [
            f"On {count_of(len(self.record.scores), 'item')} that the pool has not seen:",
            "",
            *(
                f"  {row['name']:<{width}}  score {row['quality']:.4f} on {row['scores']:,} of its own"
                for row in members
            ),
            "",
            *self.record.log_sentences(),
        ]

    def _net_line(self) -> str:
        """Say what the net value is, and how far the pool is above the best single member."""
        trade_off, (gain, low, high) = self.record.decision.trade_off, self.record.net_gain
        paid = self.record.paid_sentence()
        sentence = paid or f"Net value of an item: {money(trade_off)} times the score, minus the price."
        if np.isnan(gain):  # the price of the best single member is not known
            return sentence
        size = max(abs(gain), abs(low), abs(high)) if np.isfinite(low) else abs(gain)
        ends = "" if np.isnan(low) else f" [{signed_money(low, like=size)}, {signed_money(high, like=size)}]"
        return f"{sentence} The pool minus the best single member by score, net: {signed_money(gain, like=size)}{ends}."


def write_pool_page(evaluation: PoolEvaluation, team: PoolRouter, out: Path, *, command: str) -> None:
    """Write the page, whole or not at all."""
    from defero.report.pool_page import pool_page

    columns = () if team.recipe is None else team.recipe.columns
    kinds = {
        column.name: [cell or "blank" for cell in texts(evaluation.cases.frame[column.name])]
        for column in columns
        if isinstance(column, CategoricalColumn)
    }
    facts = {
        "Model": evaluation.model,
        "Table": f"{evaluation.table}, {evaluation.rows:,} rows with scores, {evaluation.seen_by_fit:,} of them "
        "left out as the pool was fitted on them",
        "Made": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        "Versions": ", ".join(f"{name} {version}" for name, version in library_versions().items()),
        "Command": command,
    }
    page = pool_page(evaluation.record, kinds, facts, notes=evaluation.notes)
    write_whole(out, page.encode("utf-8"))
