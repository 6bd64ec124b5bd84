"""What tells cases apart beyond their features: the key where `fit` was told one, else labels and answers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from defero.core import ExpertTable
    from defero.data.case_file import Cases
    from defero.data.fingerprint import HashArray
    from defero.router import Router

_STAGES = ("fit", "calibrate", "conformalize")
_STAGE = "keys"


def _key() -> str:
    """Return the name under which a router keeps keys; by its ending they are no fingerprints of features."""
    from defero.router.seen import ANSWERED

    return _STAGE + ANSWERED


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

    if cases.key is None or cases.key not in cases.apart.columns:
        return {}
    found = [
        _with_key(cases.apart[cases.key].loc[part.features.index], router.seen[stage])
        for stage, part in zip(_STAGES, parts, strict=False)
        if stage in router.seen
    ]
    return {_key(): np.concatenate(found)}


def told_apart(router: "Router", cases: "Cases", marks: "HashArray") -> "tuple[HashArray, HashArray]":
    """Return fingerprints (n,) of what tells these cases apart, and those of the rows that were seen.

    Parameters
    ----------
    router : Router
    cases : Cases of n rows
    marks : (n,)
        Fingerprints of their features.
    """
    import numpy as np

    from defero.core.labels import code_answers
    from defero.router.seen import ANSWERED, with_answers

    known, key = router.seen.get(_key()), router.notes.get("key")
    if known is not None and key in cases.apart.columns:
        return _with_key(cases.apart[key], marks), known
    stages = [name for name in router.seen if name + ANSWERED in router.seen]
    whole = [np.empty(0, np.uint64), *(router.seen[name + ANSWERED] for name in stages)]
    table = cases.table
    answers = code_answers(table.answers, table.classes, name="answers")
    return with_answers(marks, table.label_idx, answers), np.concatenate(whole)


def _with_key(keys: "pd.Series[Any]", marks: "HashArray") -> "HashArray":
    """Return fingerprints (n,) of keys and features together: numbers that begin anew name other cases."""
    import numpy as np

    from defero.data.cells import is_blank
    from defero.data.fingerprint import row_fingerprints, text_fingerprints
    from defero.data.item_keys import plain_name

    named = text_fingerprints("" if is_blank(cell) else plain_name(cell) for cell in keys.tolist())
    halves = [half for both in (named, marks) for half in (both >> np.uint64(32), both & np.uint64(0xFFFFFFFF))]
    return row_fingerprints(np.column_stack(halves).astype(np.float64))
