"""Pages of docs/ have the numbers of the results: their marked blocks are written by a script."""

import json
import re

import pytest
from benchmarks.page_numbers import losses, people
from benchmarks.page_numbers.blocks import fill
from benchmarks.page_numbers.pages import PAGES, written

MARKED = "before\n\n<!-- numbers: one -->\n\n{}\n\n<!-- end of numbers -->\n\nafter"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_is_what_the_script_writes(page):
    assert page.read_text(encoding="utf-8") == written(page), "run `make pages`"


def test_only_what_is_between_the_marks_is_written():
    assert fill(MARKED.format("1\n\n2"), {"one": lambda: "3"}) == MARKED.format("3")
    twice = f"{MARKED.format('1')}\n\n{MARKED.format('2').replace('one', 'two')}"
    assert fill(twice, {"one": lambda: "a", "two": lambda: "b"}).count("<!-- end of numbers -->") == 2


@pytest.mark.parametrize("blocks", [{}, {"one": str, "two": str}, {"two": str}])
def test_a_block_without_a_function_or_a_page_is_named(blocks):
    with pytest.raises(ValueError, match=r"\['one'\]"):
        fill(MARKED.format(""), blocks)


def cell(text, row, column):
    """Return a cell of a table."""
    lines = [[one.strip() for one in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return next(line for line in lines if line[0] == row)[lines[0].index(column)]


def test_a_loss_has_the_mean_of_its_seeds():
    rows = json.loads((losses.STUDIES / "wedge_default.json").read_text(encoding="utf-8"))["rows"]
    each = rows["ova, 50% missing"]["excess"]["each"]
    shown = cell(losses.wedge_losses(), "`ova`", "excess, half of the answers missing")
    assert shown.split(" ± ")[0] == f"{sum(each) / len(each):.2f}"


def test_the_smallest_excess_is_named():
    text = losses.wedge_clones()
    named = dict(re.findall(r"`(\w+)` with (\d+ experts?)", text.replace("\n", " ")))
    for loss, n in named.items():
        excess = {name: float(cell(text, f"`{name}`", n)) for name in losses.LOSSES}
        assert excess[loss] == min(excess.values())
    assert list(named.values()) == ["1 expert", "5 experts", "20 experts"]


def test_a_p_value_never_stands_without_holms():
    figures = json.loads(people.RESULTS.read_text(encoding="utf-8"))["figures"]
    test = figures["keswani-toxicity"]["systems"]["our team"]["tests"]["plain rule"]
    text = people.tests()
    assert cell(text, "our team; posts", "p before Holm") == f"{test['p_value']:.2g}"
    assert cell(text, "our team; posts", "p after Holm") == f"{test['holm']:.2g}"
    assert test["p_value"] < people.LEVEL < test["holm"]
    assert "our team" not in people.significant()
