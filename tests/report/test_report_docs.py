"""docs/howto/report.md: its example runs, and it names every part of the page."""

import doctest
import importlib
import re
from pathlib import Path

from defero.report.page import IN_SIGHT, SPARED

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "report.md"


def test_the_example_runs():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert failed == 0
    assert tried >= 8


def test_the_example_uses_public_names_alone():
    used = re.findall(r">>> from ([\w.]+) import (.+)", PAGE.read_text(encoding="utf-8"))
    assert len(used) == 3
    for module, names in used:
        assert set(names.split(", ")) <= set(importlib.import_module(module).__all__)


def test_the_counts_in_words_are_those_of_the_code():
    assert (IN_SIGHT, IN_SIGHT + SPARED) == (11, 14)
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert "more than fourteen experts the tables show the eleven" in page
