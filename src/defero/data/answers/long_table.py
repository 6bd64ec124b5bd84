"""Items, their labels and long answers as one `ExpertTable`."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from defero.core.checks import BoolArray
from defero.core.errors import InputError, TableError
from defero.core.labels import MISSING, Labels, as_column, find_classes
from defero.core.table import ExpertTable
from defero.core.wording import join_names
from defero.data.answers.class_codes import as_answers, class_codes, classes_of
from defero.data.answers.long_answers import LongAnswers
from defero.data.tables.cells import is_blank
from defero.data.tables.columns import no_such_column


def table_from_long(
    items: pd.DataFrame,
    answers: LongAnswers,
    *,
    labels: ArrayLike,
    features: Sequence[str] | None = None,
    leave_out: Sequence[str] = (),
    classes: ArrayLike | None = None,
    layout: Literal["frame", "sparse"] = "frame",
) -> ExpertTable:
    """Put items, labels and answers together; items without a label are left out.

    Parameters
    ----------
    items : (n, ...) DataFrame
    answers : LongAnswers
        To these items, in this order.
    labels : (n,)
        The truth, blank where it is not known.
    features : sequence of str, optional
        Columns of `items`; else all but those of `leave_out`, such as the key.
    classes : (K,), optional
        All classes; else the distinct labels.
    layout : "frame" or "sparse"
        The table's answers: a DataFrame, or, where most cells are blank, `Answers`. Both carry the experts'
        names and what the answers say.

    Examples
    --------
    >>> from defero.data.answers.long import join_answers
    >>> items = pd.DataFrame({"item": [1, 2, 3], "size": [0.5, 1.5, 2.5], "truth": ["a", "b", "a"]})
    >>> long = pd.DataFrame({"item": [1, 3, 3], "worker": ["al", "al", "bo"], "label": ["a", "b", "a"]})
    >>> table = table_from_long(items, join_answers(items, long), labels=items["truth"], leave_out=["item", "truth"])
    >>> table.expert_names, list(table.features), table.correct.sum(axis=0).tolist()
    (('al', 'bo'), ['size'], [1, 1])
    """
    if layout not in {"frame", "sparse"}:
        raise InputError(f"layout must be 'frame' or 'sparse', got {layout!r}.")
    given = pd.Series(as_column(labels, name="labels").astype(object), name="label", dtype=object)
    if len(given) != len(items) or answers.n_items != len(items):
        raise TableError(
            f"items, labels and answers must be of the same items: {len(items)} items, {len(given)} labels, "
            f"answers to {answers.n_items}."
        )
    columns = list(map(str, items.columns))
    missing = next((name for name in features or () if name not in columns), None)
    if missing is not None:
        raise no_such_column(missing, columns, source=answers.source, role="a feature")
    chosen = [name for name in columns if name not in leave_out] if features is None else list(features)
    if not chosen:
        raise TableError(f"{answers.source}: no column is left as a feature; the columns are {join_names(columns)}.")
    kept: BoolArray = np.array([not is_blank(cell) for cell in given.tolist()], dtype=np.bool_)
    if not kept.any():
        raise TableError(f"{answers.source}: no item has a label.")
    said = given[kept].to_frame()
    known = classes_of(said["label"], None, source=answers.source) if classes is None else find_classes(classes)
    label_idx = class_codes(said, "label", known, source=answers.source, what="label", first_row=0)
    said_there = answers.take(kept)
    return ExpertTable(
        labels=known[label_idx],
        answers=said_there.among(known) if layout == "sparse" else _frame(said_there, known),
        features=items.set_axis(columns, axis=1).loc[kept, chosen].reset_index(drop=True),
        classes=known,
        expert_names=answers.expert_names,
    )


def _frame(answers: LongAnswers, classes: Labels) -> pd.DataFrame:
    """Return (n, J) answers in the labels' own type, missing as missing."""
    codes = np.full((answers.n_items, answers.n_experts), MISSING, dtype=np.int64)
    codes[answers.item_idx, answers.expert_idx] = answers.class_idx(classes)
    columns = {name: as_answers(codes[:, j], classes) for j, name in enumerate(answers.expert_names)}
    return pd.DataFrame(columns, index=range(answers.n_items))
