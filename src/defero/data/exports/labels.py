"""The label of each exported item: the first source that knows it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from defero.core.errors import InputError, TableError
from defero.core.labels import Labels
from defero.core.wording import join_names
from defero.data.answers.class_codes import in_words_of
from defero.data.answers.long_answers import LongAnswers
from defero.data.answers.majority import majority_labels
from defero.data.tables.cells import is_blank

LabelChoice = Literal["leave out", "majority"]
Source = tuple[str, Sequence[Any] | None]
MAJORITY = "majority"


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Labels and where they come from.

    Attributes
    ----------
    labels, sources : (n,) object
        The label, and the name of its source; None where nothing knows it.
    n_tied : int
        In how many of those by majority a tie was broken.
    """

    labels: Labels
    sources: Labels
    n_tied: int = 0


def known_labels(answers: LongAnswers, *sources: Source, without_label: LabelChoice) -> KnownLabels:
    """Take each item's label from the first source that knows it.

    A majority is written as the same class of the other sources is: "01" where a source has "01" and people said 1.

    Parameters
    ----------
    answers : LongAnswers
        For the majority, which is taken where nothing else is known and `without_label` says so, and where no item
        at all has a label.
    sources : (name, (n,) labels or None)
        Earlier ones count first.
    """
    labels = np.full(answers.n_items, None, dtype=object)
    origin = np.full(answers.n_items, None, dtype=object)
    for name, values in sources:
        for place, value in enumerate(values or ()):
            if origin[place] is None and not is_blank(value):
                if isinstance(value, list | dict):
                    raise TableError(f"{answers.source}: the {name} must be a text or a number, got {value!s:.40}.")
                labels[place], origin[place] = value, name
    known = np.array([one is not None for one in origin.tolist()], dtype=np.bool_)
    n_tied = 0
    if without_label == "majority" or not known.any():
        found = majority_labels(answers)
        filled = found.answered & ~known
        labels[filled] = in_words_of(found.labels[filled], np.asarray(pd.unique(pd.Series(labels[known]))))
        origin[filled], n_tied = MAJORITY, int(found.tied[filled].sum())
    return KnownLabels(labels, origin, n_tied)


def sources_sentence(origin: Labels, *, source: str) -> str:
    """Say where the labels come from.

    >>> sources_sentence(np.array(["majority", None, "majority"], dtype=object), source="a.json")
    'a.json: labels of 3 items: 2 by majority, 1 without one.'
    """
    times = Counter("without one" if one is None else f"by {one}" for one in origin.tolist())
    told = join_names(f"{count} {name}" for name, count in times.most_common())
    return f"{source}: labels of {len(origin)} items: {told}."


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise where an option is none of its words."""
    if value not in choices:
        raise InputError(f"{name} must be one of {join_names(map(repr, choices))}, got {value!r}.")
