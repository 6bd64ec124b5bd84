"""Groups that `fit` kept together, such as patients: a new case of one that it saw is no new evidence."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from defero.core import ExpertTable
    from defero.core.checks import BoolArray
    from defero.data.case_file import Cases
    from defero.data.fingerprint import HashArray
    from defero.router import Router

_STAGE = "groups"


def _key() -> str:
    """Return the name under which a router keeps groups; by its ending they are no fingerprints of features."""
    from defero.router.seen import ANSWERED

    return _STAGE + ANSWERED


def seen_groups(cases: "Cases", parts: "Sequence[ExpertTable]", *, group: str | None) -> "dict[str, HashArray]":
    """Return the fingerprints of the groups in these parts of the cases, as a router keeps them; none without any."""
    import numpy as np

    from defero.data.fingerprint import text_fingerprints
    from defero.data.tables.item_keys import plain_name

    if group is None:
        return {}
    rows = [place for part in parts for place in part.features.index]
    names = {plain_name(cell) for cell in cases.apart[group].loc[rows].tolist()}
    return {_key(): np.unique(text_fingerprints(names))}


def of_seen_groups(router: "Router", cases: "Cases") -> "BoolArray":
    """Tell which cases (n,) are of a group that `fit` saw; none where it kept no groups or the file names none."""
    import numpy as np

    from defero.data.fingerprint import text_fingerprints
    from defero.data.tables.cells import is_blank
    from defero.data.tables.item_keys import plain_name

    known, group = router.seen.get(_key()), router.notes.get("group")
    if known is None or group not in cases.apart.columns:
        return np.zeros(len(cases.table), dtype=np.bool_)
    cells = cases.apart[group].tolist()
    names = ["" if is_blank(cell) else plain_name(cell) for cell in cells]  # no group is called so
    return np.isin(text_fingerprints(names), known)


def no_groups_sentence(router: "Router", cases: "Cases", *, table: str) -> tuple[str, ...]:
    """Say that groups cannot be told, where `fit` kept them together and the file does not name them."""
    group = router.notes.get("group")
    if router.seen.get(_key()) is None or group in cases.apart.columns:
        return ()
    return (f"{table}: no column {group}, so cases of a {group} that fit saw cannot be told and may be judged.",)
