"""docs/explanation/law.md: its examples run, and its picture is what the program draws."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "law.md"


def test_the_examples_print_what_stands_below_them():
    failures, examples = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert examples > 15
    assert failures == 0


def test_the_picture_is_as_drawn():
    from website.law_picture import PICTURE, drawing

    assert PICTURE.read_text(encoding="utf-8") == drawing()
