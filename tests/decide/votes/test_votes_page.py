"""The examples on docs/explanation/votes.md run."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "votes.md"


def test_the_examples_print_what_stands_below_them():
    failures, examples = doctest.testfile(str(PAGE), module_relative=False)
    assert examples > 5
    assert failures == 0
