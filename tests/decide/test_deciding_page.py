"""The examples on docs/howto/deciding.md run."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "deciding.md"


def test_the_page_runs():
    failures, examples = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failures == 0
    assert examples >= 6
