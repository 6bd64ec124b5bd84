"""One answer out of what an annotation chose."""

from collections.abc import Sequence
from typing import Any, Literal

from defero.core.errors import TableError
from defero.core.wording import join_names

Several = Literal["error", "join", "leave out"]
SEVERAL: tuple[Several, ...] = ("error", "join", "leave out")
_JOINT = "; "


def one_answer(values: Sequence[Any], *, several: Several, what: str, source: str, place: str) -> Any:
    """Return the only value, None where there is none; several are an error, one class, or no answer.

    >>> one_answer(["b", "a"], several="join", what="'topic'", source="a.json", place="task 1")
    'a; b'
    """
    if len(values) < 2:
        return values[0] if values else None
    if several == "leave out":
        return None
    if several == "join":
        return _JOINT.join(sorted({str(value) for value in values}))
    raise TableError(
        f"{source}: {place}: expected one answer to {what}, got {len(values)}: {join_names(values, most=5)}; "
        "pass several='join' to make one class of them, or several='leave out'."
    )


def number_or_nan(value: object) -> float:
    """Return a number that may be absent, or nonsense, as a float.

    >>> number_or_nan(4), number_or_nan(None), number_or_nan(10**400)
    (4.0, nan, nan)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("nan")
