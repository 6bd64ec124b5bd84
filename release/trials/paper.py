"""The paper's package, without PyTorch: its command is found, and the published numbers are in its wheel."""

from release.checklist import No
from release.environment import Environment

PUBLISHED = """
from defero_verma2023.figures.catalogue import FIGURES
from defero_verma2023.figures.published import published_points
print(sum(len(published_points(name)) for name in FIGURES), "published numbers of", len(FIGURES), "figures")
"""


def reproduce(there: Environment) -> str:
    """Ask for the help, for a figure without data, and for the published numbers."""
    if "--stored" not in there.defero("reproduce", "--help"):
        raise No("`defero reproduce --help` does not name --stored")
    there.defero("reproduce", "fig2c", code=2)  # our runs come with the sources: one sentence says so
    return there.python(PUBLISHED).strip()
