"""The page on calibration shows what happens."""

import doctest
from pathlib import Path


def test_the_examples_on_the_page_run():
    page = Path(__file__).parents[2] / "docs" / "explanation" / "calibration.md"
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
    assert tried > 8
