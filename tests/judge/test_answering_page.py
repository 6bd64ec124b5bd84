"""The examples on docs/explanation/answering.md run."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "answering.md"


def test_the_examples_print_what_stands_below_them():
    failures, examples = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert examples > 5
    assert failures == 0
