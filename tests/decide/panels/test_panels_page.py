"""The page on panels shows what happens."""

import doctest
from pathlib import Path


def test_the_example_on_the_page_runs():
    page = Path(__file__).parents[3] / "docs" / "explanation" / "panels.md"
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
    assert tried > 8
