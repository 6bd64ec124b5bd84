"""Markup: text is escaped wherever it goes, markup is left alone, tables have heads."""

from hypothesis import given
from hypothesis import strategies as st
from report_trials import Reader

from defero.report.html import Html, bullet_list, folded, joined, section, tag
from defero.report.tables import Cell, table

TURNS = "".join(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]))  # turn the direction of what follows
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=TURNS), max_size=30)


@given(TEXT, TEXT)
def test_whatever_a_text_says_it_comes_out_as_it_was(words, value):
    page = Reader(tag("p", words, attributes={"title": value}))
    assert "".join(page.words) == words
    assert page.tags == [("p", {"title": value})]


@given(st.lists(TEXT, min_size=1, max_size=4), TEXT)
def test_every_cell_of_a_table_is_escaped(cells, caption):
    page = Reader(table(caption, cells, [cells, [Cell(cell, {"title": cell}) for cell in cells]]))
    assert [word for word in page.words if word] == [text for text in [caption, *cells * 3] if text]


def test_markup_is_not_escaped_again():
    assert tag("p", Html("<b>x</b>"), "<b>") == "<p><b>x</b>&lt;b&gt;</p>"
    assert joined(["<", Html("<br>")], between=" & ") == "&lt; &amp; <br>"


def test_a_table_has_heads_with_a_scope_and_a_named_box_that_scrolls():
    page = Reader(table("Who is asked", ["who", "n"], [["ann", "3"], ["bob", "4"]], kind="dense"))
    heads = [values["scope"] for name, values in page.tags if name == "th"]
    assert heads == ["col", "col", "row", "row"]
    assert page.tags[0] == (
        "div",
        {"class": "scroll", "role": "region", "aria-label": "Who is asked", "tabindex": "0"},
    )
    assert ("table", {"class": "dense"}) in page.tags


def test_a_section_is_named_by_its_heading():
    page = Reader(section("gain", "What?", bullet_list(["a", "b"]), folded("more", "text")))
    assert page.ids == ["gain", "gain-title"]
    assert page.tags[0][1]["aria-labelledby"] == "gain-title"


def test_control_characters_become_escapes():
    assert tag("p", "a\x1b[31m", attributes={"title": "\u202eb"}) == '<p title="\\u202eb">a\\x1b[31m</p>'
