"""Results print in a few lines, become a DataFrame, and show themselves in notebooks."""

import numpy as np
import pytest

from defero import Team
from defero.core.wording import html_table, text_table

N = 1_000


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(0)
    classes = rng.dirichlet([1, 1, 1], N)
    team = Team.from_probabilities(classes, rng.random((N, 40)))
    answers = rng.integers(0, 3, (N, 40))
    decision = team.decide()
    return [decision, team.scores(), team.answer(None, answers, vote="expert")]


def test_a_repr_has_at_most_ten_lines(results):
    for result in results:
        lines = repr(result).splitlines()
        assert len(lines) <= 10
        assert max(map(len, lines)) <= 250
        assert type(result).__name__ in lines[0]
        assert "995 more rows" in lines[-1]


def test_a_frame_has_a_row_for_each_item(results):
    for result in results:
        frame = result.to_frame()
        assert len(frame) == N
        assert list(frame.columns) == list(result.columns())
    decision = results[0]
    assert decision.to_frame()["route"].tolist() == decision.name.tolist()


def test_notebooks_show_a_table(results):
    for result in results:
        shown = result._repr_html_()
        assert shown.count("<tr>") == 11
        assert type(result).__name__ in shown


def test_cells_are_escaped_and_cut():
    columns = {"name": ["<script>alert(1)</script>", "a" * 100]}
    assert "<script>" not in html_table(columns, n_rows=2)
    assert max(map(len, text_table(columns, n_rows=2))) < 40


def test_no_items_are_shown_as_none():
    assert text_table({"route": []}, n_rows=0) == ["  route"]
