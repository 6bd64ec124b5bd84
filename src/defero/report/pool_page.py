"""The report of a pool: one HTML page without scripts that needs no network."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from defero.core.wording import money, signed_money
from defero.judge.intervals import score_interval
from defero.judge.record.figures import Cell, Figure, FigureTable
from defero.judge.record.scores import ScoreRecord
from defero.plotting.curves import PoolFrontierDisplay
from defero.report.page import render, typeset
from defero.report.pictures import Picture, picture

MOST_KINDS = 30


def pool_page(
    record: ScoreRecord, kinds: Mapping[str, Sequence[str]], facts: Mapping[str, str], *, notes: Sequence[str] = ()
) -> str:
    """Return the page as text.

    Parameters
    ----------
    record : ScoreRecord
    kinds : {column: (n,) values}
        Categorical columns of the items: who gets which kinds.
    facts : {name: value}
        Model, table, versions and the like, for the foot of the page.
    notes : sentences
    """
    return render(
        "pool.html",
        record=record,
        sentence=sentence(record),
        notes=notes,
        ways=None if record.one_score_each else _ways(record),
        net_gain=Figure(*record.net_gain, write=_net(record), ends=_net(record)),
        frontier=None if record.one_score_each else _frontier(record),
        members=_members(record),
        kinds={column: _kind(record, column, values) for column, values in kinds.items()},
        promises=_promises(record),
        pairs=list(facts.items()),
    )


def sentence(record: ScoreRecord) -> str:
    """Return the main result in a sentence or two: in money where quality has a worth, and in quality."""
    if record.one_score_each:
        return " ".join(record.log_sentences())
    low, high = record.gain[1:]
    verdict = "beyond chance" if low > 0 or high < 0 else "which may be chance"
    gain = typeset(str(Figure(*record.gain, write=_signed, ends=_signed)))
    quality = (
        f"On {record.compared_items()} the pool has a mean score of {record.pool.quality:.3f}, the best single member "
        f"by score, {record.best_single.name}, {record.best_single.quality:.3f}: {gain}, {verdict}."
    )
    return " ".join(one for one in (record.paid_sentence(), quality) if one)


def _signed(value: float) -> str:
    return f"{value + 0.0:+.3f}"


def _net(record: ScoreRecord) -> Callable[[float], str]:
    """Return what writes net values, with as many decimals as their gain has."""
    return partial(signed_money, like=record.net_gain[0])


def _score(value: float | None, low: float = np.nan, high: float = np.nan) -> Figure:
    return Figure(np.nan if value is None else value, low, high, "{:.3f}".format, "{:.3f}".format)


def _price(value: float | None) -> Figure:
    return Figure(np.nan if value is None else value, write=money)


def _ways(record: ScoreRecord) -> FigureTable:
    paid, cheapest = record.best_paid, record.cheapest
    ways = {
        "the pool": record.pool,
        f"best single member in training: {record.best_single.name}": record.best_single,
        "" if paid is None else f"best single member at the trade-off: {paid.name}": paid,
        "a member at random": record.random,
        "" if cheapest is None else f"cheapest: {cheapest.name}": cheapest,
        "oracle, who knows all scores": record.oracle,
    }
    worth = record.error_cost
    rows: list[list[Cell]] = [
        [name, _score(way.quality), _price(way.cost), _price(way.net_value(worth))]
        for name, way in ways.items()
        if way is not None
    ]
    net = f" Net value: {money(worth)} times the score, minus the price." if record.has_net_value else ""
    table = FigureTable(
        ["", "score", "price of an item", "net value"], rows, f"Mean score and mean price of an item.{net}"
    )
    return table if record.has_net_value else table.only(range(3))


def _frontier(record: ScoreRecord) -> Picture | None:
    curve = record.curve
    if curve is None:
        return None
    pool, random = ((way.cost, way.quality) for way in (record.pool, record.random))
    oracle = record.oracle.quality
    return picture(
        "frontier-picture",
        "Mean score against the mean price of an item at every trade-off, judged by the scores that came. The dashed "
        "line is the zero router, the dotted one the oracle.",
        lambda ax: PoolFrontierDisplay.from_curve(curve, ax=ax, chosen=pool, oracle=oracle, random=random),
        size=(5.2, 3.6),
    )


def _members(record: ScoreRecord) -> FigureTable:
    rows: list[list[Cell]] = [
        [
            row["name"],
            Figure.number(row["items"]),
            *map(_score, (row["promised"], row["kept"], row["quality"])),
            _price(row["cost"]),
        ]
        for row in sorted(record.members(), key=lambda row: -row["items"])
    ]
    head = ["member", "items", "promised there", "kept there", "score on all items", "price of an item"]
    return FigureTable(head, rows, "Items that each member gets.")


def _kind(record: ScoreRecord, column: str, values: Sequence[str]) -> FigureTable:
    """Return who gets the items with each value of a column, the most frequent values first."""
    cells = np.asarray(values, dtype=object).astype(str)
    names, counts = np.unique(cells, return_counts=True)
    members = record.decision.expert_names
    rows: list[list[Cell]] = []
    for place in np.argsort(-counts, kind="stable")[:MOST_KINDS]:
        chosen_mask = (cells == names[place]) & record.answered
        load = np.bincount(record.decision.expert[chosen_mask], minlength=len(members))
        best = [j for j in np.argsort(-load, kind="stable")[:3] if load[j]]
        who = ", ".join(f"{members[j]} {100 * load[j] / counts[place]:.0f} %" for j in best)
        both = record.p_right[chosen_mask], record.kept[chosen_mask]
        means = [_score(float(one.mean()) if len(one) else None) for one in both]
        rows.append([str(names[place]), Figure.number(int(counts[place])), who, *means])
    more = f" The {MOST_KINDS} most frequent of {len(names)}." if len(names) > MOST_KINDS else ""
    caption = f"Items by {column}, and the members that get most of them.{more}"
    return FigureTable([column, "items", "who", "promised", "kept"], rows, caption)


def _promises(record: ScoreRecord) -> FigureTable:
    score, scored = record.p_right[record.answered], record.kept[record.answered]
    n_parts = min(10, max(1, len(score) // 20))
    edges = np.quantile(score, np.arange(1, n_parts) / n_parts)
    place = np.searchsorted(edges, score)  # equal scores come into the same part
    rows: list[list[Cell]] = []
    for part in (np.flatnonzero(place == one) for one in np.unique(place)):
        ends = f"{score[part].min():.3f} to {score[part].max():.3f}"
        kept = _score(*score_interval(scored[part]))
        rows.append([ends, Figure.number(len(part)), _score(float(score[part].mean())), kept])
    return FigureTable(
        ["expected score", "items", "promised", "kept"],
        rows,
        "Expected score of the chosen members, in parts of about equal size, and the mean score that came, with 95 % "
        "intervals.",
    )
