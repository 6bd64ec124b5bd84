"""Inline pictures: ids of their own, the page's colours, words that stay words."""

import re

import pytest
from report_trials import NASTY, Reader

from defero.plotting import style
from defero.report.pictures import picture as picture_of


def draw(ax):
    style.dress(ax, x=NASTY)
    ax.plot([0, 1, 2], [1.0, 0.5, 0.2], color=style.TEAM, marker="o", label='id="x" #1b1f24 url(#y)')
    ax.legend(frameon=False)


@pytest.fixture(scope="module")
def picture():
    return picture_of("one", "A <caption>", draw, size=(3, 2)).svg


def test_ids_of_two_pictures_do_not_clash_and_every_reference_has_its_target(picture):
    page = Reader(picture + picture_of("two", "B", draw, size=(3, 2), room=(0.1, 0.1, 0.8, 0.8)).svg)
    assert len(set(page.ids)) == len(page.ids)
    assert all(name.startswith(("one-", "two-")) for name in page.ids)
    clips = [re.search(r"url\(#(.+?)\)", value) for _, value in page.attributes]
    used = [target.removeprefix("#") for target in page.targets] + [found[1] for found in clips if found]
    assert used
    assert set(used) <= set(page.ids)


def test_a_hatched_patch_finds_its_pattern():
    def hatched(ax):
        ax.bar([0], [1], color="none", edgecolor=style.TEAM, hatch="////")

    page = Reader(picture_of("three", "C", hatched, size=(3, 2)).svg)
    patterns = [values["id"] for name, values in page.tags if name == "pattern"]
    fills = re.findall(r"fill: url\(#(.+?)\)", " ".join(value for _, value in page.attributes))
    assert len(patterns) == 1
    assert fills == patterns


def test_colours_are_the_pages_and_there_is_no_other_black_or_white(picture):
    colours = " ".join(value for name, value in Reader(picture).attributes if name in ("style", "fill", "stroke"))
    assert {"var(--ink)", "var(--muted)", "var(--grid)", "var(--team)"} <= set(re.findall(r"var\(--\w+\)", colours))
    assert re.findall(r"#[0-9a-f]{6}", colours) == []
    assert "black" not in colours


def test_words_stay_words_even_where_they_look_like_ids_colours_or_formulas(picture):
    text = Reader(picture).text
    assert NASTY in text
    assert 'id="x" #1b1f24 url(#y)' in text


def test_it_has_a_caption_a_spoken_name_and_no_fixed_size(picture):
    page = Reader(picture)
    svg = next(values for name, values in page.tags if name == "svg")
    assert (svg["role"], svg["aria-label"]) == ("img", "A <caption>")
    assert {"width", "height"}.isdisjoint(svg)
    assert "<metadata" not in picture
    assert "<style" not in picture
    assert "http" not in picture


def test_the_same_picture_is_the_same_text(picture):
    assert picture_of("one", "A <caption>", draw, size=(3, 2)).svg == picture


def test_control_characters_of_a_name_are_escapes():
    shown = picture_of("four", "D", draw, size=(3, 2), label="\x1b]0;pwn \u202eann").svg
    assert 'aria-label="\\x1b]0;pwn \\u202eann"' in shown
