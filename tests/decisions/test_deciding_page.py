"""The examples on docs/deciding.md run."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "deciding.md"


def test_the_page_runs():
    failures, examples = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failures == 0
    assert examples >= 6
