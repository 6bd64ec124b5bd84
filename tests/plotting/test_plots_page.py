"""The page on pictures runs."""

import doctest
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt

from defero import plotting

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "plots.md"
matplotlib.use("Agg")


def test_the_examples_on_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    plt.close("all")
    assert failed == 0
    assert tried > 20
    assert (tmp_path / "curve.svg").read_text().startswith("<?xml")


def test_every_display_is_on_the_page():
    page = PAGE.read_text()
    assert all(f"| `{name}` |" in page for name in plotting.__all__ if name.endswith("Display"))
