"""Pages of the repository that lie outside docs/, and what becomes of links between the two."""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS, PAPER = "benchmarks/results", "papers/verma2023"
PAGES = {
    f"{RESULTS}/people.md": "studies/people_results.md",
    f"{RESULTS}/field.md": "studies/field_results.md",
    f"{RESULTS}/tables.md": "studies/tables.md",
    f"{RESULTS}/pools.md": "studies/pools.md",
    f"{RESULTS}/many_experts.md": "studies/many_experts.md",
    f"{PAPER}/README.md": "studies/paper.md",
    f"{PAPER}/conformal.md": "studies/paper_sets.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""Path in the repository: address in the site."""
PICTURES = {f"studies/figures/{path.name}": path for path in sorted((ROOT / PAPER / "figures").glob("*.svg"))}
_HOME = {address: path for path, address in PAGES.items()}
_CODE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(
    r"(?P<picture>!?)\[(?P<words>[^\]]*)\]\((?!https?:|mailto:|#)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)"
)


def rewrite_links(markdown: str, address: str) -> str:
    """Return a page whose links lead to pages of the site; a link to another file of the repository names the file.

    Parameters
    ----------
    markdown : str
        The page.
    address : str
        Where the page is in the site, such as "studies/people.md".

    Examples
    --------
    >>> rewrite_links("[all](../../benchmarks/results/people.md#x)", "studies/people.md")
    '[all](people_results.md#x)'
    >>> rewrite_links("[figures](../../benchmarks/results/money.json)", "studies/money.md")
    'figures (`benchmarks/results/money.json`)'
    >>> rewrite_links("[panels](docs/explanation/panels.md)", "changelog.md")
    '[panels](explanation/panels.md)'
    """
    pieces, end = [], 0
    for code in _CODE.finditer(markdown):  # examples stay as they are
        pieces += [_rewritten(markdown[end : code.start()], address), code[0]]
        end = code.end()
    return "".join([*pieces, _rewritten(markdown[end:], address)])


def _rewritten(text: str, address: str) -> str:
    home = _HOME.get(address, f"docs/{address}")

    def new(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(home), link["path"]))
        there = _in_site(path)
        if there is None:
            return f"{link['words']} (`{path}`)" if link["words"].strip("`") != path else f"`{path}`"
        relative = posixpath.relpath(there, posixpath.dirname(address) or ".")
        return f"{link['picture']}[{link['words']}]({relative}{link['anchor'] or ''})"

    return _LINK.sub(new, text)


def _in_site(path: str) -> str | None:
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith(f"{PAPER}/figures/"):
        return f"studies/figures/{posixpath.basename(path)}"
    return PAGES.get(path) if path != "README.md" else "index.md"
