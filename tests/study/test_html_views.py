"""What notebooks show of tables, studies and results: escaped, with names, and without reading files."""

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from scored import fitted

from defero import Study, read_cases
from defero.core.wording import html_table, text_table
from defero.datasets import wedge
from defero.study.routing.decisions import Routing


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    table = wedge(300, random_state=0)
    frame = pd.DataFrame(table.features).add_prefix("x").assign(truth=table.labels)
    frame[["<b>ann", "bob"]] = table.answers[:, :2]
    path = tmp_path_factory.mktemp("cases") / "cases.csv"
    frame.to_csv(path, index=False)
    return read_cases(path, label="truth", expert_names=["<b>ann", "bob"])


@pytest.fixture(scope="module")
def study(cases):
    study = Study(cases, random_state=0)
    study.fit()
    return study


def test_tables_and_studies_are_shown_as_they_print_and_escaped(cases, study):
    for shown in (cases, cases.table, study, study.team):
        assert shown._repr_html_().startswith("<pre>")
        assert "&lt;b&gt;ann" in shown._repr_html_()
        assert "<b>" not in shown._repr_html_()


def test_an_evaluation_names_who_a_row_is_about(study):
    shown = study.evaluate()._repr_html_()
    for name in ("team", "model", "&lt;b&gt;ann", "bob"):
        assert f"<td>{name}</td>" in shown
    assert "NaN" not in shown


def test_decisions_in_memory_are_shown_and_those_in_a_file_are_not_read(study, cases):
    shown = study.route(cases.table.features)._repr_html_()
    assert shown.count("<tr") == 11
    assert "<th>route</th>" in shown
    assert "<th>reason</th>" in shown
    assert shown.count("<th>") <= 6
    assert "<table" not in Routing(Path("no/such/file.csv"), ("ann",), load=Counter(ann=3))._repr_html_()


def test_a_pool_is_judged_in_a_few_lines():
    table = pd.DataFrame({"task": ["a", "b"] * 60, "small": [1, 0] * 60, "large": [1, 1] * 60})
    study = fitted(table, expert_names=["small", "large"], fees={"small": 1, "large": 10})
    evaluation = study.evaluate()
    assert len(evaluation.summary().splitlines()) <= 20  # one short table for each question
    assert "<td>large</td>" in evaluation._repr_html_()
    assert "96 train, 0 calibrate, 0 conformalize, 24 test" in repr(study)


def test_reasons_are_longer_in_html_than_in_text():
    columns = {"reason": ["r" * 60]}
    assert "r" * 60 in html_table(columns, n_rows=1)
    assert "<td></td><td></td>" in html_table({"label": [None], "p_right": [float("nan")]}, n_rows=1)
    assert "r" * 60 not in "".join(text_table(columns, n_rows=1))
