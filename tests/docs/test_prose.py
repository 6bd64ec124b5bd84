"""Pages that can be read: lines near 100 characters, at most five sentences a paragraph, six columns a table."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LONGEST_LINE = 105
MOST_SENTENCES = 5
MOST_COLUMNS = 6
FENCED = re.compile(r"^```.*?^```", re.S | re.M)
END_OF_SENTENCE = re.compile(r"[.!?](?:\)|\*\*|`)?(?=\s+[A-Z`*\[(]|\s*$)")


def prose(page):
    """Return a page without its blocks of code, indented ones too."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    return "\n".join(line for line in text.splitlines() if not line.startswith("    "))


def paragraphs(text):
    """Return the paragraphs that are sentences: no lists, tables, headings or names of tests."""
    blocks = [block for block in re.split(r"\n\s*\n", text) if block.strip()]
    return [" ".join(block.split()) for block in blocks if not re.match(r"\s*(?:[-*] |[|#!<]|\d+\. |\*\*Test)", block)]


def too_long(text):
    """Return long lines; a link or a name that cannot be broken may be long."""
    lines = [line for line in text.splitlines() if not line.startswith("|") and "](" not in line]
    return [line for line in lines if len(line) > LONGEST_LINE and " " in line.strip()]


def too_many_sentences(text):
    return [one[:80] for one in paragraphs(text) if len(END_OF_SENTENCE.findall(one)) > MOST_SENTENCES]


def too_wide(text):
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [row[:80] for row in rows if row.replace("\\|", "").count("|") - 1 > MOST_COLUMNS]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_reads_well(page):
    text = prose(page)
    assert (too_long(text), too_many_sentences(text), too_wide(text)) == ([], [], [])


def test_what_reads_badly_is_seen():
    assert too_long("word " * 22)
    assert too_wide("| a | b | c | d | e | f | g |")
    assert too_many_sentences("One. Two. Three. Four. Five. Six.")
