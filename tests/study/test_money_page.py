"""The examples on docs/howto/money.md run."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "money.md"


def test_the_page_runs():
    failures, examples = doctest.testfile(str(PAGE), module_relative=False)
    assert failures == 0
    assert examples >= 10
