"""Questions are answered with yes or no, whatever a check does; links of pages are checked for real."""

import subprocess

import pytest
from release.checklist import Checklist, No, refuse
from release.repository import check_links


def test_answers_are_printed_and_one_no_is_enough(capsys):
    checks = Checklist()
    assert checks.ask("Is it fine?", lambda: "seen")
    assert checks.all_yes
    assert not checks.ask("Is it small?", lambda: refuse([f"fault {k}" for k in range(10)]))
    assert not checks.ask("Does it run?", lambda: 1 / 0)
    assert not checks.all_yes
    printed = capsys.readouterr().out
    for words in ("yes  Is it fine?", "seen", "NO   Is it small?", "fault 7", "... 2 more", "ZeroDivisionError"):
        assert words in printed
    assert "fault 8" not in printed


def test_what_rests_on_a_no_is_not_tried():
    checks, tried = Checklist(), []
    checks.ask("first", lambda: refuse(["no"]))
    with checks.only_after("first") as ask:
        assert not ask("second", lambda: tried.append(1))
    assert tried == []
    assert checks.answers["second"] == (False, "not tried: first")


def test_dead_links_and_lost_headings_are_named(tmp_path):
    (tmp_path / "mkdocs.yml").write_text("nav:\n  - made.md\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "b.md").write_text("# A `title`, two\n")
    page = tmp_path / "a.md"
    page.write_text("[a](docs/b.md#a-title-two) [m](docs/made.md) ![p](https://e.org/p.png)\n```\n[x](no.md)\n```\n")
    for command in (["git", "init", "-q"], ["git", "add", "."]):
        subprocess.run(command, cwd=tmp_path, check=True)
    assert check_links(tmp_path) == "2 links in 2 pages"
    page.write_text("[a](docs/c.md) [b](docs/b.md#other)\n")
    with pytest.raises(No) as answer:
        check_links(tmp_path)
    assert "docs/c.md is not there" in str(answer.value)
    assert "docs/b.md#other has no such heading" in str(answer.value)
