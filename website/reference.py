"""The reference: a page for each public module, from the names in its `__all__`."""

import importlib
import inspect
from types import ModuleType

MODULES = {
    "defero": "The names at the top: estimators, tables, the study, and what they return.",
    "defero.losses": "Surrogate losses of learning to defer. They need PyTorch (`pip install 'defero[train]'`).",
    "defero.decide.panels": "Panels: sets of experts with a promise.",
    "defero.decide.votes": "Votes: from the answers of a panel to one label.",
    "defero.judge": "How good a team is: accuracy, calibration, panels, tests.",
    "defero.plotting": "Displays of a team on held-out cases.",
    "defero.datasets": "Simulated and public data sets.",
}
FIRST = (
    "DeferralClassifier",
    "TwoStageDeferral",
    "Study",
    "Cases",
    "Evaluation",
    "ExpertTable",
    "Team",
    "Decision",
    "ExpertSets",
    "Answer",
    "Scores",
    "Recipe",
    "ExpertPool",
)
"""What a reader looks for first; other names follow in the order of the alphabet."""
ALIKE = {"BestExpert", "ConfidenceThreshold", "ModelOnly", "RandomExpert"}
"""Baselines: their methods are those of the estimators, and are not listed again."""
_INDEX = """# Reference

These pages are generated from the docstrings. Each public name has its parameters, what it returns, and an example
that the tests run. Names that are not here are internal and may change.

| page | what it has |
| --- | --- |
{rows}
| [Commands](commands.md) | Every command of the command line with its options. |
"""


def reference_pages() -> dict[str, str]:
    """Return the page of each module, and a list of them, by address."""
    pages = {f"reference/{short(name)}.md": module_page(name, words) for name, words in MODULES.items()}
    rows = "\n".join(f"| [{name}]({short(name)}.md) | {words} |" for name, words in MODULES.items())
    return pages | {"reference/index.md": _INDEX.format(rows=rows)}


def module_page(name: str, words: str) -> str:
    """Return a page with a directive for each documented name of a module."""
    module = importlib.import_module(name)
    parts = [f"# {name}", words]
    parts += [directive(path) for path in documented(module)]
    return "\n\n".join(parts) + "\n"


def directive(path: str) -> str:
    """Return what makes mkdocstrings show an object."""
    members = "\n      members: false" if path.rpartition(".")[2] in ALIKE else ""
    return f"::: {path}\n    options:\n      heading_level: 2{members}"


def documented(module: ModuleType) -> list[str]:
    """Return where each public class and function of a module is defined, classes first.

    >>> import defero.report
    >>> documented(defero.report)[0]
    'defero.report.page.Evidence'
    """
    values = [getattr(module, name) for name in module.__all__]
    objects = [value for value in values if inspect.isclass(value) or inspect.isfunction(value)]
    rank = {name: place for place, name in enumerate(FIRST)}
    objects.sort(
        key=lambda value: (inspect.isfunction(value), rank.get(value.__name__, len(rank)), value.__name__.lower())
    )
    return [f"{value.__module__}.{value.__qualname__}" for value in objects]


def short(module: str) -> str:
    """Return the name of a module's page.

    >>> short("defero.losses"), short("defero")
    ('losses', 'defero')
    """
    return module.rpartition(".")[2]
