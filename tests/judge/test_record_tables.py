"""The tables of a record: every figure stands beside the name that it belongs to, as text and as plain values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_metrics_team import judged, random_trial

from defero.core.wording import plain
from defero.judge.intervals import Share
from defero.judge.record import tables
from defero.judge.record.figures import Figure, FigureTable, Whisker


@pytest.fixture(scope="module")
def record():
    return judged(random_trial(0, n_experts=4), training_answers=[400, 30, 3, 0])


def columns(table):
    """Return {name of the row: {head: cell}}."""
    return {str(first): dict(zip(table.head[1:], rest, strict=True)) for first, *rest in table.rows}


def ends(figure):
    return figure.value, figure.low, figure.high


def test_a_member_is_one_member_in_every_table(record):
    printed, gain, load, calibration = map(
        columns,
        (
            tables.members(record),
            tables.gain(record),
            tables.promises(record),
            tables.calibration(record, before=None, expert_sd=(0.1, math.nan, 0.2, 0.3)),
        ),
    )
    for one in record.experts:
        accuracy = (one.alone.value, *one.alone.interval)
        assert ends(printed[one.name]["right"]) == ends(gain[one.name]["accuracy"]) == accuracy
        assert gain[one.name]["cases they answered"].value == one.alone.total
        minus = one.team_minus_expert
        assert ends(gain[one.name]["team minus them, in points"]) == (minus.difference, minus.low, minus.high)
        row = load[one.name]
        assert row["cases"].value == one.asked.total
        assert printed[one.name]["decides"] == row["share of all"]
        assert printed[one.name]["promised there"].value == row["promised"].value == one.promise.promised
        assert printed[one.name]["right there"].value == row["kept"].value == one.promise.kept.value
        assert ends(row["kept"])[1:] == one.promise.interval
        error = (one.figures["smooth_error"].value, one.figures["smooth_error"].low, one.figures["smooth_error"].high)
        assert ends(printed[one.name]["smooth error"]) == ends(calibration[one.name]["error"]) == error
        assert calibration[one.name]["training answers"].value == one.training_answers
    assert load["the team"]["cases"].value == record.team.total
    assert ends(gain["the model alone"]["team minus them, in points"])[0] == record.team_minus_model.difference
    assert calibration["the model"]["error"].value == record.model_member.figures["smooth_error"].value


def test_the_best_come_first_and_the_most_asked(record):
    ranked = [str(row[0]) for row in tables.gain(record).rows[2:]]
    assert ranked == [one.name for one in sorted(record.experts, key=lambda one: -one.alone.interval[0])]
    asked = [str(row[0]) for row in tables.promises(record).rows[2:]]
    assert asked == [one.name for one in sorted(record.experts, key=lambda one: -one.asked.total) if one.asked.total]


def test_skill_recall_and_the_models_classes(record):
    (skill,) = tables.skill(record)
    recall, predicted = columns(tables.recall(record)), columns(tables.by_predicted_class(record))
    for j, expert in enumerate(record.experts):
        for k, label in enumerate(record.classes):
            cell = columns(skill)[expert.name][str(label)]
            assert cell.text == f"{100 * record.skill.accuracy[j, k]:.1f} %"
            assert (cell.mark == "faint") == (record.skill.count[j, k] < tables.VERY_FEW)
            assert 0 <= cell.heat <= 1
    for one in record.recall:
        row = recall[str(one.label)]
        assert ends(row["found by the team"]) == (one.team.value, *one.team.interval)
        assert ends(row["by the model"]) == (one.model.value, *one.model.interval)
        assert row["difference in points"].value == one.team.value - one.model.value
    groups = record.by_predicted_class
    for g, k in enumerate(groups.groups):
        kept = groups.accuracy[g, 0], groups.low[g, 0], groups.high[g, 0]
        assert ends(predicted[str(record.classes[k])]["kept"]) == kept


def test_skill_of_few_answers_is_faint():
    few = judged(random_trial(0, n=12))
    marks = {cell.mark for table in tables.skill(few) for _, *row in table.rows for cell in row if cell.text != "-"}
    assert marks == {"faint"}


def test_whiskers_are_drawn_where_the_shares_are(record):
    table = tables.gain(record)
    start = float(table.head[2].split()[0]) / 100
    for _, figure, drawn, *_ in table.rows:
        for name, value in (("low", figure.low), ("high", figure.high), ("dot", figure.value)):
            assert drawn.places[name] == pytest.approx(100 * (value - start) / (1 - start))
        assert drawn.places["mark"] == pytest.approx(100 * (record.team.value - start) / (1 - start))
        assert 0 <= drawn.places["low"] <= drawn.places["high"] <= 100
    assert Whisker(Share(0, 0), 0.0, 0.5).places == {}


SIZES = st.integers(0, 30)


@given(st.lists(st.tuples(SIZES, SIZES), max_size=4))
def test_plain_values_are_json_and_a_figure_without_cases_is_a_dash(pairs):
    shares = [Share(min(pair), max(pair)) for pair in pairs]
    for share, value in zip(shares, plain(shares), strict=True):
        assert value["accuracy"] == (share.value if share.total else None)
        assert str(Figure.share(share)).startswith("-" if not share.total else f"{100 * share.value:.1f} %")
    table = FigureTable(["", "n"], [[str(i), Figure(np.nan)] for i in range(len(pairs))])
    assert len(table.text().splitlines()) == len(pairs) + 1
