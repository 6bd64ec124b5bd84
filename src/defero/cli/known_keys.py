"""What tells cases apart beyond their features: labels and answers, and the key where `fit` was told one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from defero.core import ExpertTable
    from defero.data.case_file import Cases
    from defero.data.fingerprint import HashArray
    from defero.router import Router
    from defero.router.fresh import CaseMarks

_STAGES = ("fit", "calibrate", "conformalize")


def seen_keys(router: "Router", cases: "Cases", parts: "Sequence[ExpertTable]") -> "dict[str, HashArray]":
    """Return fingerprints of key and features of the rows that the stages saw, as a router keeps them.

    Parameters
    ----------
    router : Router
        Has been through its stages, with the parts in this order.
    cases : Cases
        Have the key beside their features; there is nothing to return where they have none.
    parts : the parts of the stages
    """
    import numpy as np

    from defero.router.seen import KEYED

    if cases.key is None or cases.key not in cases.apart.columns:
        return {}
    found = [
        _with_key(cases.apart[cases.key].loc[part.features.index], router.seen[stage])
        for stage, part in zip(_STAGES, parts, strict=False)
        if stage in router.seen
    ]
    return {KEYED: np.concatenate(found)}


def marks_seen(router: "Router") -> "CaseMarks":
    """Return the marks of the rows that a team has seen."""
    import numpy as np

    from defero.router.fresh import CaseMarks
    from defero.router.seen import ANSWERED, KEYED

    stages = [name for name in router.seen if name + ANSWERED in router.seen]
    answered = [np.empty(0, np.uint64), *(router.seen[name + ANSWERED] for name in stages)]
    return CaseMarks(router.all_seen(), np.concatenate(answered), router.seen.get(KEYED))


def marks_of_cases(cases: "Cases", features: "HashArray", *, key: str | None) -> "CaseMarks":
    """Return the marks of n cases.

    Parameters
    ----------
    cases : Cases
    features : (n,)
        Fingerprints of their features.
    key : str, optional
        The column that names them, where they have it beside their features.
    """
    from defero.router.fresh import CaseMarks
    from defero.router.seen import with_answers

    table = cases.table
    keyed = _with_key(cases.apart[key], features) if key in cases.apart.columns else None
    return CaseMarks(features, with_answers(features, table.label_idx, coded(table)), keyed)


def coded(table: "ExpertTable") -> Any:
    """Return a table's answers as class numbers, sparse where they are."""
    from defero.core.labels import code_answers

    return code_answers(table.answers, table.classes, name="answers")


def _with_key(keys: "pd.Series[Any]", marks: "HashArray") -> "HashArray":
    """Return fingerprints (n,) of keys and features together: numbers that begin anew name other cases."""
    import numpy as np

    from defero.data.cells import is_blank
    from defero.data.fingerprint import row_fingerprints, text_fingerprints
    from defero.data.item_keys import plain_name

    named = text_fingerprints("" if is_blank(cell) else plain_name(cell) for cell in keys.tolist())
    halves = [half for both in (named, marks) for half in (both >> np.uint64(32), both & np.uint64(0xFFFFFFFF))]
    return row_fingerprints(np.column_stack(halves).astype(np.float64))
