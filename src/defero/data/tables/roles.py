"""Which column of a table is what: the label, an expert, the key, a feature, or none of these."""

from collections.abc import Sequence
from typing import Any

from defero.core.errors import InputError, TableError
from defero.core.wording import join_names
from defero.data.tables.cells import is_blank
from defero.data.tables.columns import no_such_column

PARTS = {
    "learn": ("train", "training", "learn", "fit"),
    "calibrate": ("calibrate", "calibration", "calib", "cal"),
    "conformalize": ("conformalize", "conformalise", "conformal", "conf"),
    "held": ("val", "valid", "validation", "dev", "development"),
    "test": ("test", "testing", "holdout", "held-out", "heldout", "eval", "evaluation"),
}
"""What the cells of a column that cuts a table may say, by the part they mean. "held" is shared between the two
parts that are neither learned from nor the test."""

_PART_OF = {word: part for part, words in PARTS.items() for word in words}


def feature_columns(
    columns: Sequence[str],
    *,
    source: str,
    named: Sequence[tuple[str, str]],
    features: Sequence[str] | None = None,
    leave_out: Sequence[str] = (),
) -> list[str]:
    """Check that every column named is there and has one role; return the feature columns.

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
        raise InputError("experts and features must be lists of column names, got one text.")
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
    """Return the part that a cell means, None where it means none. The cell is not blank.

    >>> part_named(" Train "), part_named("valid"), part_named("north")
    ('learn', 'held', None)
    """
    return _PART_OF.get(str(cell).strip().casefold())


def split_like(frame: Any) -> list[str]:
    """Return the columns called "split" whose cells all name a part: somebody's own cut, and no feature.

    >>> import pandas as pd
    >>> split_like(pd.DataFrame({"split": ["train", "test"], "size": [1, 2]})), split_like(pd.DataFrame({"split": [3]}))
    (['split'], [])
    """
    called = [name for name in frame.columns if str(name).strip().casefold() == "split"]
    return [str(name) for name in called if _names_parts(frame[name].drop_duplicates().tolist())]


def _names_parts(cells: Sequence[object]) -> bool:
    said = [cell for cell in cells if not is_blank(cell)]
    return bool(said) and all(part_named(cell) is not None for cell in said)
