"""The report of a pool: one HTML page without scripts that needs no network."""

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from defero.core.wording import money, signed_money
from defero.plotting.pool_frontier import PoolFrontierDisplay
from defero.pools.copies import score_interval
from defero.pools.record import PoolRecord, Way
from defero.report.html import Html, bullet_list, joined, paragraph, section, tag
from defero.report.numbers import NOTHING, count
from defero.report.svg import figure
from defero.report.tables import folded_rows, table

MOST_KINDS = 30


def pool_page(
    record: PoolRecord, kinds: Mapping[str, Sequence[str]], facts: Mapping[str, str], *, notes: Sequence[str] = ()
) -> str:
    """Return the page as text.

    Parameters
    ----------
    record : PoolRecord
    kinds : {column: (n,) values}
        Categorical columns of the items: who gets which kinds.
    facts : {name: value}
        Model, table, versions and the like, for the foot of the page.
    notes : sentences
    """
    style = resources.files("defero.report").joinpath("style.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", attributes={"charset": "utf-8"}),
        tag("meta", attributes={"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        tag("meta", attributes={"name": "description", "content": sentence(record)}),
        tag("title", "defero report: who of the pool should answer?"),
        tag("style", Html(style)),
    )
    compared = [] if record.one_score_each else [_ways(record), _frontier(record)]
    sections = [*compared, _members(record), *_kinds(record, kinds), _promises(record), _words()]
    if notes:
        sections.insert(0, bullet_list(notes))
    header = tag("header", tag("h1", "Who of the pool should answer?"), paragraph(sentence(record)))
    foot = tag("footer", bullet_list(f"{name}: {value}" for name, value in facts.items() if value))
    page = tag("html", head, tag("body", header, tag("main", *sections), foot), attributes={"lang": "en"})
    return f"<!doctype html>\n{page}\n"


def sentence(record: PoolRecord) -> str:
    """Return the main result in a sentence or two: in money where quality has a worth, and in quality."""
    if record.one_score_each:
        return " ".join(record.log_sentences())
    gain, low, high = record.gain
    verdict = "beyond chance" if low > 0 or high < 0 else "which may be chance"
    ends = "" if np.isnan(low) else f" ({_signed(low)} to {_signed(high)})"
    quality = (
        f"On {record.compared_items()} the pool has a mean score of {_score(record.pool.quality)}, the "
        f"best single member by score, {record.best_single.name}, {_score(record.best_single.quality)}: {_signed(gain)}"
        f"{ends}, {verdict}."
    )
    return " ".join(one for one in (record.paid_sentence(), quality) if one)


def _ways(record: PoolRecord) -> Html:
    ways: list[tuple[str, Way | None]] = [
        ("the pool", record.pool),
        ("best single member in training: {name}", record.best_single),
        ("best single member at the trade-off: {name}", record.best_paid),
        ("a member at random", record.random),
        ("cheapest: {name}", record.cheapest),
        ("oracle, who knows all scores", record.oracle),
    ]
    trade_off, has_net = record.decision.trade_off, record.has_net_value
    rows = []
    for what, way in ways:
        if way is not None:
            net = [_money(way.net_value(trade_off))] if has_net else []
            rows.append([what.replace("{name}", way.name), _score(way.quality), _money(way.cost), *net])
    gap = record.gap_share
    lines = [] if np.isnan(gap) else [f"The pool closes {100 * gap:.0f} % of the gap from best single to oracle."]
    if record.free is not None:
        lines.append(
            f"In this table a member without a score for an item is not asked about it. {record.free.sentence(3)}"
        )
    if record.n_unanswered:
        lines.append(
            f"Left out are {count(record.n_unanswered)} items: no member with a score there has a known price."
        )
    head, caption = ["", "score", "price of an item"], "Mean score and mean price of an item."
    if has_net:
        gain, low, high = (_signed_money(one, like=record.net_gain[0]) for one in record.net_gain)
        if not np.isnan(record.net_gain[0]):
            ends = "" if np.isnan(record.net_gain[1]) else f" ({low} to {high})"
            lines.append(f"Net value of the pool minus that of the best single member: {gain}{ends} an item.")
        head = [*head, "net value"]
        caption += f" Net value: {_money(trade_off)} times the score, minus the price."
    return section(
        "ways",
        "What does the pool gain?",
        table(caption, head, rows),
        *(paragraph(line) for line in lines),
    )


def _frontier(record: PoolRecord) -> Html:
    curve, area = record.curve, record.area_in_words().replace(" -", " \u2212")
    if curve is None:
        return section("frontier", "What does quality cost?", paragraph(area))
    return section(
        "frontier",
        "What does quality cost?",
        paragraph(area),
        figure(
            "frontier-picture",
            "Mean score against the mean price of an item at every trade-off, judged by the scores that came. The "
            "dashed line is the zero router, the dotted one the oracle.",
            lambda ax: PoolFrontierDisplay.from_curve(
                curve,
                ax=ax,
                chosen=(record.pool.cost, record.pool.quality),
                oracle=record.oracle.quality,
                random=(record.random.cost, record.random.quality),
            ),
            size=(5.2, 3.6),
        ),
    )


def _members(record: PoolRecord) -> Html:
    rows = sorted(record.members(), key=lambda row: -row["items"])
    cells = [
        [
            row["name"],
            count(row["items"]),
            _maybe(row["promised"], _score),
            _maybe(row["kept"], _score),
            _maybe(row["quality"], _score),
            _maybe(row["cost"], _money),
        ]
        for row in rows
    ]
    head = ["member", "items", "promised there", "kept there", "score on all items", "price of an item"]
    html = folded_rows(cells, lambda part: table("Items that each member gets.", head, part), rest="Show {n} others")
    return section("members", "Who is asked?", html)


def _kinds(record: PoolRecord, kinds: Mapping[str, Sequence[str]]) -> list[Html]:
    parts = []
    for column, values in kinds.items():
        cells = np.asarray(values, dtype=object)
        names, counts = np.unique(cells.astype(str), return_counts=True)
        rows = []
        for name in names[np.argsort(-counts, kind="stable")][:MOST_KINDS]:
            own = cells.astype(str) == name
            chosen_mask = own & record.answered
            load = np.bincount(record.decision.expert[chosen_mask], minlength=len(record.decision.expert_names))
            best = np.argsort(-load, kind="stable")[:3]
            who = ", ".join(
                f"{record.decision.expert_names[j]} {100 * load[j] / own.sum():.0f} %" for j in best if load[j]
            )
            achieved, promised = record.kept[chosen_mask], record.decision.score[chosen_mask]
            means = [_score(values.mean()) if len(values) else NOTHING for values in (promised, achieved)]
            rows.append([name, count(int(own.sum())), who, *means])
        more = f" The {MOST_KINDS} most frequent of {len(names)}." if len(names) > MOST_KINDS else ""
        caption = f"Items by {column}, and the members that get most of them.{more}"
        parts.append(joined([tag("h3", column), table(caption, [column, "items", "who", "promised", "kept"], rows)]))
    return [section("kinds", "Who gets which kinds of items?", *parts)] if parts else []


def _promises(record: PoolRecord) -> Html:
    score, scored = record.decision.score[record.answered], record.kept[record.answered]
    n_parts = min(10, max(1, len(score) // 20))
    edges = np.quantile(score, np.arange(1, n_parts) / n_parts)
    place = np.searchsorted(edges, score)  # equal scores come into the same part
    rows = []
    for part in (np.flatnonzero(place == one) for one in np.unique(place)):
        mean, low, high = score_interval(scored[part])
        spread = _score(mean) if np.isnan(low) else f"{_score(mean)} ({_score(low)} to {_score(high)})"
        ends = f"{_score(score[part].min())} to {_score(score[part].max())}"
        rows.append([ends, count(len(part)), _score(score[part].mean()), spread])
    total = f"Over all items the chosen members promised {_score(score.mean())} and kept {_score(scored.mean())}."
    return section(
        "promises",
        "Are promises kept?",
        paragraph(total),
        table(
            "Expected score of the chosen members, in parts of about equal size, and the mean score that came, with "
            "95 % intervals.",
            ["expected score", "items", "promised", "kept"],
            rows,
        ),
    )


def _words() -> Html:
    return section(
        "glossary",
        "How to read this report",
        bullet_list(
            [
                "Score: how good an answer was, from 0 (wrong) to 1 (right).",
                "Trade-off: the money that a point of quality is worth. The pool asks the member with the highest "
                "expected score times trade-off minus price.",
                "Zero router: two members mixed at random, so that any cost between theirs can be reached without "
                "looking at the items. A pool must be above it to be worth anything. Its members are chosen on the "
                "training rows.",
                "Oracle: knows the scores beforehand. Nobody can reach it.",
                "Who has no score for an item is not asked about it in this report, unless a sentence says otherwise.",
            ]
        ),
    )


def _score(value: float) -> str:
    return f"{value:.3f}"


def _signed(value: float) -> str:
    return NOTHING if np.isnan(value) else f"{value + 0.0:+.3f}".replace("-", "\u2212")


def _money(value: float) -> str:
    return NOTHING if np.isnan(value) else money(value)


def _signed_money(value: float, *, like: float) -> str:
    if np.isnan(value):
        return NOTHING
    return signed_money(value, like=like).replace("-", "\u2212")


def _maybe(value: float | None, write: Any) -> str:
    return NOTHING if value is None else str(write(value))
