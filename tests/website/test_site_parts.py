"""The parts of the site that are written by programs."""

import importlib
import inspect
import json

import pytest

import defero

website = pytest.importorskip("website.commands")

# The imports below need what the line above looks for.
from benchmarks.page_numbers import money  # noqa: E402
from benchmarks.page_numbers.pages import DOCS, written  # noqa: E402
from website.commands import commands, commands_page  # noqa: E402
from website.links import check_site  # noqa: E402
from website.outside import PAGES, rewrite_links  # noqa: E402
from website.reachable import named_search, scrollable  # noqa: E402
from website.reference import MODULES, reference_pages  # noqa: E402


def test_a_changed_result_changes_the_page(tmp_path, monkeypatch):
    facts = json.loads(money.RESULTS.read_text(encoding="utf-8"))
    facts["sets"]["credit-default"]["verdict"]["fee 1"]["mean_total"]["model"] = 12345.6
    changed = tmp_path / "money.json"
    changed.write_text(json.dumps(facts), encoding="utf-8")
    page = DOCS / "studies" / "money.md"
    assert "12345.6" not in written(page)
    monkeypatch.setattr(money, "RESULTS", changed)
    assert "| credit-default, 1 | 12345.6 |" in written(page)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module):
    public = importlib.import_module(module)
    page = reference_pages()[f"reference/{module.rpartition('.')[2]}.md"]
    for name in public.__all__:
        value = getattr(public, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert f"::: {value.__module__}.{value.__qualname__}\n" in page


def test_the_names_at_the_top_are_there():
    page = reference_pages()["reference/defero.md"]
    assert page.count("\n::: ") == len([name for name in defero.__all__ if name != "__version__"])


def test_every_command_and_option_is_on_the_page():
    import typer

    from defero.cli.main import app

    page = commands_page()
    for name, command in commands(typer.main.get_command(app)):
        assert f"## {name}\n" in page
        for param in command.params:
            if not getattr(param, "hidden", False):
                assert all(f"`{option}`" in page or f"{option}," in page for option in param.opts[:1] if "-" in option)


def test_examples_are_code_and_words_are_words():
    page = commands_page()
    assert "```\ndefero route model new_cases.csv" in page
    assert "p_<expert>" not in page.replace("`p_<expert>`", "")


def test_links_lead_to_pages_or_name_files():
    assert rewrite_links("[a](../../papers/verma2023/README.md#verdicts)", "explanation/losses.md") == (
        "[a](../studies/paper.md#verdicts)"
    )
    code = "```python\n[x](y)\n```"
    assert rewrite_links(code, "index.md") == code
    assert rewrite_links("[`examples/route_prompts.py`](../../examples/route_prompts.py)", "howto/pools.md") == (
        "`examples/route_prompts.py`"
    )
    assert rewrite_links("![f](figures/fig2a.svg)", "studies/paper.md") == "![f](figures/fig2a.svg)"
    assert all(address.endswith(".md") for address in PAGES.values())


def test_a_broken_link_a_lost_anchor_and_another_host_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top">a</h1><a href="b.html#here">b</a><a href="https://example.org">c</a>'
    )
    (tmp_path / "b.html").write_text(
        '<p id="here"></p><a href="a.html#gone">a</a><a href="lost.html">l</a><script src="https://cdn.example.org/x.js">'
    )
    (tmp_path / "s.css").write_text("@import 'https://fonts.example.org/f.css'; a { background: url(data:x) }")
    report = check_site(tmp_path)
    assert report.broken == ("b.html: a.html#gone", "b.html: lost.html")
    assert report.foreign == ("b.html: https://cdn.example.org/x.js", "s.css: https://fonts.example.org/f.css")
    assert report.external == ("https://example.org",)


def test_tables_can_be_reached_with_the_keyboard():
    html = scrollable("<table><thead><tr><th>loss</th></tr></thead></table>")
    assert html.startswith(
        '<div class="wide" role="region" tabindex="0" aria-label="Table 1: loss"><table class="data">'
    )
    assert 'aria-label="Search"' in named_search('<div data-md-component="search" role="dialog">')
