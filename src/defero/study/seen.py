"""Which cases are new to a team: told by features, labels and answers, by keys and by groups where `fit` kept them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from defero.core import ExpertTable
from defero.core.checks.arrays import BoolArray
from defero.core.errors import Argument, InputError, Message
from defero.core.order import HashArray
from defero.data.cases import Cases
from defero.data.copies import mostly_equal, tells_items_apart
from defero.data.fingerprint import row_fingerprints, text_fingerprints
from defero.data.recipes.pictures import PictureRecipe
from defero.data.tables.cells import is_blank
from defero.data.tables.wide import plain_name
from defero.team import Team
from defero.team.rows import ANSWERED, KEYED, CaseMarks, Fresh, check_rows_known, fresh_rows, with_answers

_STAGES = ("fit", "calibrate", "conformalize")
_GROUPS = "groups" + ANSWERED
"""Under this name a team keeps groups; by its ending they are no fingerprints of features."""


def seen_keys(team: Team, cases: Cases, parts: Sequence[ExpertTable]) -> dict[str, HashArray]:
    """Return fingerprints of key and features of the rows that the stages saw, as a team keeps them.

    Parameters
    ----------
    team : Team
        Has been through its stages, with the parts in this order.
    cases : Cases
        Have the key beside their features; there is nothing to return where they have none.
    parts : the parts of the stages
    """
    if cases.key is None or cases.key not in cases.apart.columns:
        return {}
    marks = [
        _with_key(cases.apart[cases.key].loc[part.features.index], team.seen[stage])
        for stage, part in zip(_STAGES, parts, strict=False)
        if stage in team.seen
    ]
    return {KEYED: np.concatenate(marks)}


def fresh_cases(team: Team, cases: Cases, *, key: str | None, all_rows_new: bool = False) -> tuple[Fresh, BoolArray]:
    """Tell which cases are new to a team, and which (n,) of these are of no group that it saw.

    Raises where nobody can tell.

    Parameters
    ----------
    team : Team
    cases : Cases
    key : str, optional
        The column that names them, where they have it.
    all_rows_new : bool
        The caller vouches that all are new. Where the rows can be checked, they are checked all the same.
    """
    table, everything = cases.table, np.ones(len(cases.table), dtype=np.bool_)
    if not all_rows_new:
        check_rows_known(team.rows_key)
    if team.rows_key is not None:
        return Fresh(everything, 0), everything
    features = _marks_of_rows(team, cases)
    if team.scored_only:
        new = _scored_rows(team, cases, features, all_rows_new=all_rows_new)
        return Fresh(new, 0), new & ~_of_seen_groups(team, cases)
    keyed = _with_key(cases.apart[key], features) if key in cases.apart.columns else None
    answered = with_answers(features, table.label_idx, table.coded)
    fresh = fresh_rows(CaseMarks(features, answered, keyed), _marks_seen(team))
    return fresh, fresh.rows & ~_of_seen_groups(team, cases)


def _scored_rows(team: Team, cases: Cases, marks: HashArray, *, all_rows_new: bool) -> BoolArray:
    """Tell which items (n,) are new: by their features, and whatever their scores are."""
    seen, text = team.all_seen(), () if team.recipe is None else team.recipe.text
    new: BoolArray = ~np.isin(marks, seen)
    if new.all() or not mostly_equal(seen) or tells_items_apart(cases.table.features, text=text):
        return new
    if all_rows_new:
        return np.ones(len(new), dtype=np.bool_)
    raise InputError(
        f"{cases.source}: most rows that this team was fitted on are equal in the columns that it reads, so that rows "
        f"it has seen cannot be told from new ones; pass {Argument('all_rows_new', True)} where none of these rows was "
        "used to fit it, or fit with more columns."
    )


def rows_are_checked(team: Team, *, all_rows_new: bool) -> tuple[Message, ...]:
    """Say that vouching for the rows has no effect where the team can check them itself."""
    if not all_rows_new or team.rows_key is not None:
        return ()
    return (
        Message(
            f"{Argument('all_rows_new', True)}: has no effect here; this model can check its rows, and those it "
            "has seen are left out."
        ),
    )


def _marks_of_rows(team: Team, cases: Cases) -> HashArray:
    """Return one fingerprint per row, (n,), as the model keeps them of the rows that it saw."""
    features = cases.table.features
    if isinstance(team.recipe, PictureRecipe):
        files = team.recipe.apply(features, source=cases.source, first_row=cases.first_row)
        return row_fingerprints(files.identities())
    return row_fingerprints(features)


def _marks_seen(team: Team) -> CaseMarks:
    """Return the marks of the rows that a team has seen."""
    stages = [name for name in team.seen if name + ANSWERED in team.seen]
    answered = [np.empty(0, np.uint64), *(team.seen[name + ANSWERED] for name in stages)]
    return CaseMarks(team.all_seen(), np.concatenate(answered), team.seen.get(KEYED))


def _with_key(keys: "pd.Series[Any]", marks: HashArray) -> HashArray:
    """Return fingerprints (n,) of keys and features together: numbers that begin anew name other cases."""
    halves = [
        half for both in (_fingerprints(keys), marks) for half in (both >> np.uint64(32), both & np.uint64(0xFFFFFFFF))
    ]
    return row_fingerprints(np.column_stack(halves).astype(np.float64))


def seen_groups(cases: Cases, parts: Sequence[ExpertTable], *, groups: str | None) -> dict[str, HashArray]:
    """Return the fingerprints of the groups in these parts of the cases, as a team keeps them; none without any."""
    if groups is None:
        return {}
    rows = [place for part in parts for place in part.features.index]
    names = {plain_name(cell) for cell in cases.apart[groups].loc[rows].tolist()}
    return {_GROUPS: np.unique(text_fingerprints(names))}


def _of_seen_groups(team: Team, cases: Cases) -> BoolArray:
    """Tell which cases (n,) are of a group that `fit` saw; none where it kept no groups or the file names none."""
    known, groups = team.seen.get(_GROUPS), team.facts.spec.groups
    if known is None or groups not in cases.apart.columns:
        return np.zeros(len(cases.table), dtype=np.bool_)
    return np.isin(_fingerprints(cases.apart[groups]), known)


def _fingerprints(cells: "pd.Series[Any]") -> HashArray:
    """Return fingerprints of names (n,); nothing is called as a blank cell is."""
    return text_fingerprints("" if is_blank(cell) else plain_name(cell) for cell in cells.tolist())


def no_groups_sentence(team: Team, cases: Cases) -> tuple[str, ...]:
    """Say that groups cannot be told, where `fit` kept them together and the file does not name them."""
    groups = team.facts.spec.groups
    if team.rows_key is not None or team.seen.get(_GROUPS) is None or groups in cases.apart.columns:
        return ()
    return (f"{cases.source}: no column {groups}, so cases of a {groups} that fit saw cannot be told and are judged.",)


def with_groups_of(newcomer: Team, cases: Cases) -> dict[str, HashArray]:
    """Return what has been seen, with the groups of the cases that a newcomer answered, where groups are kept."""
    groups = newcomer.facts.spec.groups
    if groups is None or groups not in cases.apart.columns:
        return dict(newcomer.seen)
    named = cases.table.take((cases.table.answered > 0) & cases.apart[groups].notna().to_numpy())
    seen = seen_groups(cases, [named], groups=groups) if len(named) else {}
    return {
        **newcomer.seen,
        **{name: np.union1d(rows, newcomer.seen.get(name, rows[:0])) for name, rows in seen.items()},
    }
