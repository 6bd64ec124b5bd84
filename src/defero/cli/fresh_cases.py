"""Which cases of a file are new to a team: told by features, labels and answers, and by keys where `fit` kept them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from defero.cli.pictures import marks_of_rows

if TYPE_CHECKING:
    import pandas as pd

    from defero.core import ExpertTable
    from defero.data.case_file import Cases
    from defero.data.fingerprint import HashArray
    from defero.router import Router
    from defero.router.fresh import CaseMarks, Fresh

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


def fresh_cases(router: "Router", cases: "Cases", *, source: str, key: str | None) -> "Fresh":
    """Tell which cases are new to a team.

    Parameters
    ----------
    router : Router
    cases : Cases
    source : str
        What a message calls their file.
    key : str, optional
        The column that names them, where they have it beside their features.
    """
    import numpy as np

    from defero.router.fresh import CaseMarks, fresh_rows
    from defero.router.seen import chance_alike, equal_pairs, told_apart_by, with_answers

    table = cases.table
    answers = table.coded
    features = marks_of_rows(router, table.features, source=source, first_row=cases.first_row)
    keyed = _with_key(cases.apart[key], features) if key in cases.apart.columns else None
    return fresh_rows(
        CaseMarks(features, with_answers(features, table.label_idx, answers), keyed),
        _marks_seen(router),
        same_features=lambda: chance_alike(told_apart_by(table.features, router.recipe)),
        same_answers=lambda: equal_pairs(with_answers(np.zeros_like(features), table.label_idx, answers)),
    )


def _marks_seen(router: "Router") -> "CaseMarks":
    """Return the marks of the rows that a team has seen."""
    import numpy as np

    from defero.router.fresh import CaseMarks
    from defero.router.seen import ANSWERED, KEYED, check_rows_known

    check_rows_known(router.rows_key)
    stages = [name for name in router.seen if name + ANSWERED in router.seen]
    answered = [np.empty(0, np.uint64), *(router.seen[name + ANSWERED] for name in stages)]
    return CaseMarks(router.all_seen(), np.concatenate(answered), router.seen.get(KEYED))


def _with_key(keys: "pd.Series[Any]", marks: "HashArray") -> "HashArray":
    """Return fingerprints (n,) of keys and features together: numbers that begin anew name other cases."""
    import numpy as np

    from defero.data.fingerprint import row_fingerprints, text_fingerprints
    from defero.data.tables.cells import is_blank
    from defero.data.tables.item_keys import plain_name

    named = text_fingerprints("" if is_blank(cell) else plain_name(cell) for cell in keys.tolist())
    halves = [half for both in (named, marks) for half in (both >> np.uint64(32), both & np.uint64(0xFFFFFFFF))]
    return row_fingerprints(np.column_stack(halves).astype(np.float64))
