import ast
from pathlib import Path
from textwrap import dedent

import pytest
from checks.house import House, code_lines, excesses, only_passes_on

SOURCE = '''
"""A module.

Two lines of it.
"""

import os  # why
from pathlib import (
    Path,
)


class _Cat:
    """A cat."""

    sound = """of
    two lines"""


# a comment
def walk(path):
    "Doc."
    return os.walk(path)
'''


def test_lines_of_code_have_a_token_that_is_no_comment_and_no_docstring():
    assert len(code_lines(SOURCE)) == 1 + 3 + 3 + 2
    assert code_lines("") == set()


def test_rooms_files_imports_and_classes_are_counted():
    house = House()
    house.add(Path("zoo/cat.py"), SOURCE)
    house.add(Path("farm/cat.py"), "class Cat:\n    pass\n")
    house.add(Path("top.py"), "")
    assert house.sizes() == {"code_lines": 11, "files": 3}
    assert house.rooms == {"zoo": 9, "farm": 2, ".": 0}
    assert (house.small, house.import_lines) == (2, 4)
    assert house.twice == {"Cat": ["zoo/cat.py", "farm/cat.py"]}
    assert house.passes_on == [f"zoo/cat.py:{SOURCE.splitlines().index('def walk(path):') + 1} walk"]


@pytest.mark.parametrize(
    ("source", "passes_on"),
    [
        ("def f(a, *, b): return g(a, b=b)", True),
        ("def f(self, a): return self.g(a)", True),
        ("def f(a): return g(a + 1)", False),
        ("def f(a, b): return g(b, a)", False),
        ("def f(a, b): return g(a)", False),
        ("def f(): return g()", False),
        ("@cache\ndef f(a): return g(a)", False),
        ("def f(**a): return g(**a)", False),
    ],
)
def test_functions_that_only_pass_on(source, passes_on):
    assert only_passes_on(ast.parse(dedent(source)).body[0]) is passes_on


def test_a_sum_above_its_budget_is_named_and_one_below_is_not():
    house = House()
    house.add(Path("zoo/cat.py"), SOURCE + "class Cat: ...")
    assert excesses({"src/": house}, {"sum": {"src/": {"code_lines": 10, "files": 1}}, "names": {"twice": 1}}) == []
    found = excesses({"src/": house}, {"sum": {"src/": {"code_lines": 8, "files": 0}}, "names": {"twice": 0}})
    assert [sentence.split(",")[0] for sentence in found[:2]] == ["src/ has 10 code lines", "src/ has 1 files"]
    assert "Cat in zoo/cat.py and zoo/cat.py" in found[2]
