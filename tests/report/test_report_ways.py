"""The table of ways of asking, and the first screen where another way beats the team."""

import numpy as np
import pytest
from report_trials import Reader, provenance

from defero import Team
from defero.decide.terms import Terms
from defero.report.page import report_page
from defero.team import record_of, try_out

pytestmark = pytest.mark.usefixtures("empty_pictures")


def page(*, ask="one", sure=0.9, terms=None):
    """A model that guesses and believes itself with `sure`, and three good experts."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=400)
    said = np.where(rng.random((400, 3)) < 0.8, truth[:, None], 1 - truth[:, None])
    team = Team.from_probabilities(
        np.tile([sure, 1 - sure], (400, 1)), np.full((400, 3), 0.8), classes=[0, 1], expert_names=["ann", "bob", "cem"]
    )
    trial = try_out(team, None, truth, said, disjoint=True, ask=ask, terms=terms)
    record = record_of(team, trial)
    return record, Reader(report_page(trial, record, provenance()))


def test_every_way_is_in_the_table_with_its_numbers():
    record, read = page(sure=0.6)
    rows = read.rows("ways")
    assert len(rows) == len(record.ways) == 7
    for one in record.ways:
        name = f"{one.words} (the team)" if one.name == "one" else one.words
        cells = " ".join(rows[name])
        assert f"{100 * one.accuracy:.1f}" in cells
        assert f"{one.questions:.2f}" in cells
        assert f"{one.cost:.3f}" in cells
    assert "0.01 of an error for each question" in read.text


def test_the_first_screen_says_where_a_plain_way_is_better():
    record, read = page()
    assert record.coverage == 1.0
    first = read.text[: read.text.index("Which way of asking is best?")]
    assert "a majority vote of everybody is right on" in first
    _, asked = page(ask="sequential", sure=0.6)
    assert "vote of everybody is right on" not in asked.text
    assert "asking one after the other (the team)" in asked.text


def test_costs_are_in_errors_without_money_and_in_money_with_it():
    _, plain = page(sure=0.6)
    assert "errors per case" in plain.text
    assert "money per case" not in plain.text
    record, read = page(sure=0.6, terms=Terms.of([0.5] * 3, n_classes=2, error_cost=40))
    assert "money per case" in read.text
    assert "Compared with the model alone it saves" in read.text
    assert record.costs.of("everybody_majority").spent == 1.5
