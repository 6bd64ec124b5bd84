"""All figures by name."""

from difflib import get_close_matches

from defero import InputError
from defero_verma2023.figures import figure1, figure2, figure3
from defero_verma2023.figures.figure import PaperFigure

ALL = "all"
FIGURES: dict[str, PaperFigure] = {
    figure.name: figure for module in (figure1, figure2, figure3) for figure in module.FIGURES
}


def figures_by_name(name: str) -> tuple[PaperFigure, ...]:
    """Return a figure, or every one for "all".

    >>> [figure.name for figure in figures_by_name("fig2a")], len(figures_by_name("all"))
    (['fig2a'], 11)
    """
    if name == ALL:
        return tuple(FIGURES.values())
    if name in FIGURES:
        return (FIGURES[name],)
    meant = name.lower().replace("_", "-")
    begun = [one for one in FIGURES if meant and one.startswith(meant)]
    close = begun or get_close_matches(meant, [*FIGURES, ALL], n=3, cutoff=0.5)
    guess = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(FIGURES)}, and {ALL}."
    raise InputError(f"there is no figure {name!r}; {guess}")


def first_x(experiment_name: str) -> float:
    """Return what setting 0 of an experiment is on the x axis of its figures.

    >>> first_x("oracles"), first_x("overlap")
    (1.0, 0.0)
    """
    return next(figure.first_x for figure in FIGURES.values() if figure.experiment_name == experiment_name)
