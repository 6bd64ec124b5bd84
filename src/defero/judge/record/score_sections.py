"""The record of a team of scores as sections of sentences and tables, for the text and the page."""

from collections.abc import Mapping, Sequence

import numpy as np

from defero.core.wording import money
from defero.judge.intervals import score_interval
from defero.judge.record.figures import Cell, Figure, FigureTable, Section
from defero.judge.record.scores import WAYS, ScoreRecord, score_figure

MOST_KINDS = 30
GLOSSARY = (
    "Score: how good an answer was, from 0 (wrong) to 1 (right).",
    "Trade-off: the money that a point of quality is worth. The pool asks the member with the highest expected score "
    "times trade-off minus price.",
    "Zero router: two members mixed at random, so that any cost between theirs can be reached without looking at the "
    "items. A pool must be above it to be worth anything. Its members are chosen on the training rows.",
    "Oracle: knows the scores beforehand. Nobody can reach it.",
    "Who has no score for an item is not asked about it in this report, unless a sentence says otherwise.",
)


def score_sections(record: ScoreRecord, kinds: Mapping[str, Sequence[str]]) -> list[Section]:
    """Return what there is to say of a record.

    Parameters
    ----------
    record : ScoreRecord
    kinds : {column: (n,) values}
        Categorical columns of the items: who gets which kinds.
    """
    promised, kept = record.means(record.answered)
    over_all = f"Over all items the chosen members promised {promised:.4f} and kept {kept:.4f}."
    sections = [
        Section("members", "Who is asked?", [_members(record)]),
        Section("kinds", "Who gets which kinds of items?", [_kind(record, *one) for one in kinds.items()]),
        Section("promises", "Are promises kept?", [over_all, _promises(record)]),
    ]
    if not record.one_score_each:  # of a log with one score for each item the ways cannot be compared
        sections = [
            Section("ways", "What does the pool gain?", [_ways(record), *_sentences(record)]),
            Section("frontier", "What does quality cost?", [record.area_in_words()]),
            *sections,
        ]
    return [one for one in sections if one.parts]


def _price(value: float) -> Figure:
    return Figure(value, write=money)


def _ways(record: ScoreRecord) -> FigureTable:
    worth = record.error_cost
    rows: list[list[Cell]] = [
        [WAYS[key].format(way.name), score_figure(way.quality), _price(way.cost), _price(way.net_value(worth))]
        for key, way in record.ways.items()
    ]
    net = "" if np.isnan(record.net_value) else f" Net value: {money(worth)} times the score, minus the price."
    table = FigureTable(
        ["", "score", "price of an item", "net value"], rows, f"Mean score and mean price of an item.{net}"
    )
    return table if net else table.only(range(3))


def _sentences(record: ScoreRecord) -> list[str]:
    gap, n_left = record.gap_share, record.n_unanswered
    sentences = [
        record.net_gain_in_words(),
        "" if np.isnan(gap) else f"The pool closes {100 * gap:.0f} % of the gap from best single to oracle.",
        record.free_in_words(),
        f"Left out are {n_left:,} items: no member with a score there has a known price." if n_left else "",
    ]
    return [one for one in sentences if one]


def _members(record: ScoreRecord) -> FigureTable:
    rows: list[list[Cell]] = [
        [
            row["name"],
            Figure.number(row["items"]),
            *(score_figure(row[name]) for name in ("promised", "kept", "quality")),
            _price(row["cost"]),
        ]
        for row in sorted(record.rows(), key=lambda row: -row["items"])
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
        means = map(score_figure, record.means(chosen_mask))
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
        ends = f"{score[part].min():.4f} to {score[part].max():.4f}"
        promised, kept = score_figure(float(score[part].mean())), score_figure(*score_interval(scored[part]))
        rows.append([ends, Figure.number(len(part)), promised, kept])
    caption = (
        "Expected score of the chosen members, in parts of about equal size, and the mean score that came, with 95 % "
        "intervals."
    )
    return FigureTable(["expected score", "items", "promised", "kept"], rows, caption)
