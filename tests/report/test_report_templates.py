"""The templates: whatever they insert is escaped, tables have heads, and whole pages are the golden ones."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_trials import Reader, provenance, trial_and_record
from test_pool_page import pool_of_two

from defero.judge.record.figures import FigureTable, Words
from defero.report import report_page
from defero.report.page import environment, score_page

PAGES = Path(__file__).parent / "pages"
TURNS = "".join(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]))  # turn the direction of what follows
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=TURNS), max_size=30)
ONE_TABLE = environment().from_string('{% from "macros.html" import table %}{{ table(figures, kind) }}')


def read_table(*arguments, kind=""):
    return Reader(ONE_TABLE.render(figures=FigureTable(*arguments), kind=kind))


@given(st.lists(TEXT.filter(lambda text: text != "-"), min_size=1, max_size=4), TEXT)
def test_every_cell_of_a_table_is_escaped(cells, caption):
    rows = [cells, [Words(cell, hint=cell) for cell in cells]]
    page = read_table(cells, rows, caption)
    assert [word for word in page.words if word.strip(" \n")] == [
        text for text in (caption, *cells * 3) if text.strip(" \n")
    ]
    assert [values["title"] for _, values in page.tags if "title" in values] == [cell for cell in cells[1:] if cell]


def test_a_table_has_heads_with_a_scope_and_a_named_box_that_scrolls():
    page = read_table(["who", "n"], [["ann", "3"], ["bob", "4"]], "Who is\n asked", kind="dense")
    assert [values["scope"] for name, values in page.tags if name == "th"] == ["col", "col", "row", "row"]
    box = {"class": "scroll", "role": "region", "aria-label": "Who is asked", "tabindex": "0"}
    assert page.tags[0] == ("div", box)
    assert ("table", {"class": "dense"}) in page.tags


def test_control_characters_become_escapes():
    page = ONE_TABLE.render(figures=FigureTable(["\x1b[31m"], [["\u202eb"]], "\x1b]0;pwn"), kind="\x07")
    assert not {"\x1b", "\u202e", "\x07"} & set(page)
    assert page.count("\\x1b]0;pwn") == 2
    assert "\\u202eb" in page


@pytest.mark.usefixtures("empty_pictures")
@pytest.mark.parametrize("name", ["team", "model_alone", "pool"])
def test_the_text_of_a_page_is_the_golden_one(name):
    """To record anew: print the text of the page into the file, and read what changed."""
    pages = {
        "team": lambda: report_page(*trial_and_record(), provenance()),
        "model_alone": lambda: report_page(*trial_and_record(40, (), panel=False), provenance()),
        "pool": lambda: score_page(pool_of_two()[0], provenance(), kinds=pool_of_two()[1]),
    }
    golden = (PAGES / f"{name}.txt").read_text(encoding="utf-8")
    assert Reader(pages[name]()).lines == golden.splitlines()
