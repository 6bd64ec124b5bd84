"""Every notebook runs from its first cell to its last, away from this repository, and shows estimators and results.

The cells run in this process: they use no magic and no widget, so a kernel would add 20 packages and change nothing.
`make release-check` runs the same notebooks in Jupyter's own kernel, with the installed wheel.
"""

import contextlib
import io
import re
from pathlib import Path

import pytest
from notebook_cells import html_of, read_cells, run_cell

import defero

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
SHOWN = {
    "tabular": ("Cases", "Team", "Evaluation", "Routing", "NextSteps"),
    "crowd_text": ("Cases", "Evaluation", "NextSteps"),
    "language_models": ("ExpertPool", "Decision", "Curve"),
}
"""Classes of defero of which a cell shows the HTML view."""


def test_there_are_no_others():
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_every_cell_runs_and_results_are_shown_as_html(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names, shown, printed = {"__name__": "__main__"}, {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        for cell in read_cells(FOLDER / f"{name}.ipynb"):
            value = run_cell(cell.source, names)
            if type(value).__module__.startswith(defero.__name__):
                shown[type(value).__name__] = html_of(value)
    assert set(SHOWN[name]) <= set(shown)
    assert all(re.search(r"<(pre|table|div)\b", view) for view in shown.values())
    if name == "tabular":
        assert "Team minus model" in printed.getvalue()


@pytest.mark.parametrize("name", SHOWN)
def test_notebooks_are_committed_without_outputs_and_need_no_file_of_ours(name):
    cells = read_cells(FOLDER / f"{name}.ipynb")
    assert cells[0].source.endswith("# %pip install defero")
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
    assert not any(re.search(r"\.\./|examples/|src/|^\s*[%!]", cell.source, re.M) for cell in cells)


def test_a_last_expression_is_shown_and_a_statement_is_not():
    names = {}
    assert run_cell("a = 1\na + 1", names) == 2
    assert run_cell("b = a", names) is None
    assert run_cell("# nothing", names) is None
    assert html_of(3) == ""
