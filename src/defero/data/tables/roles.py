"""Which column of a table is what: the label, an expert, the key, a feature, or none of these."""

from collections.abc import Sequence
from typing import Any

from defero.core.errors import InputError, TableError
from defero.core.wording import join_names
from defero.data.tables.cells import is_blank, no_such_column

PARTS = {
    "learn": ("train", "training", "learn", "fit"),
    "calibrate": ("calibrate", "calibration", "calib", "cal"),
    "conformalize": ("conformalize", "conformalise", "conformal", "conf"),
    "held": ("val", "valid", "validation", "dev", "development"),
    "test": ("test", "testing", "holdout", "held-out", "heldout", "eval", "evaluation"),
}
"""Words in the cells of a split column, by the part that they name. Rows of "held" are shared between calibrate and
conformalize."""

_PART_OF = {word: part for part, words in PARTS.items() for word in words}


def feature_columns(
    columns: Sequence[str],
    *,
    source: str,
    named: Sequence[tuple[str, str]],
    features: Sequence[str] | None = None,
    leave_out: Sequence[str] = (),
) -> list[str]:
    """Return the feature columns, after checking that every column named exists and has one role.

    Parameters
    ----------
    columns : sequence of str
        All that the table has.
    source : str
        What a message calls the table.
    named : sequence of (column, role)
        Roles in words, such as "the label": no such column is a feature.
    features : sequence of str, optional
        Else every column that is left.
    leave_out : sequence of str
        No features, unless named as such.

    >>> feature_columns(["id", "age", "truth"], source="a.csv", named=[("truth", "the label")], leave_out=["id"])
    ['age']
    """
    if isinstance(features, str):
        raise InputError(f"must be a list of column names, got the text {features!r}.", argument="features")
    role: dict[str, str] = {}
    for name, wanted in [*named, *((name, "a feature") for name in features or ())]:
        if role.get(name) == wanted:
            raise TableError(f"{source}: column {name!r} is named twice as {wanted}; name it once.")
        if name in role:
            raise TableError(f"{source}: column {name!r} is named as {role[name]} and as {wanted}; choose one.")
        if name not in columns:
            raise no_such_column(name, columns, source=source, role=wanted)
        role[name] = wanted
    others = {*role, *leave_out}
    chosen = [name for name in columns if name not in others] if features is None else list(features)
    if not chosen:
        raise TableError(f"{source}: no column is left as a feature; the columns are {join_names(columns)}.")
    return chosen


def part_named(cell: object) -> str | None:
    """Return the part that a cell names; None where it names none. The cell is not blank.

    >>> part_named(" Train "), part_named("valid"), part_named("north")
    ('learn', 'held', None)
    """
    return _PART_OF.get(str(cell).strip().casefold())


def split_like(frame: Any) -> list[str]:
    """Return the columns called "split" whose cells all name a part: they are no features.

    >>> import pandas as pd
    >>> split_like(pd.DataFrame({"split": ["train", "test"], "size": [1, 2]})), split_like(pd.DataFrame({"split": [3]}))
    (['split'], [])
    """
    called = [name for name in frame.columns if str(name).strip().casefold() == "split"]
    return [str(name) for name in called if _names_parts(frame[name].drop_duplicates().tolist())]


def _names_parts(cells: Sequence[object]) -> bool:
    filled = [cell for cell in cells if not is_blank(cell)]
    return bool(filled) and all(part_named(cell) is not None for cell in filled)
