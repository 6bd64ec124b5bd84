"""The page on few answers shows what happens."""

import doctest
from pathlib import Path


def test_the_example_on_the_page_runs():
    page = Path(__file__).parents[2] / "docs" / "howto" / "few_answers.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert failed == 0
    assert tried > 8
