"""Rows that a team has seen: nothing can be promised on those. Which rows are new, by keys, answers and features."""

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defero.core.answers import MISSING, Answers
from defero.core.checks.arrays import BoolArray, IntArray
from defero.core.errors import Argument, InputError
from defero.core.order import row_order
from defero.data.fingerprint import VARIABLE, ListedRows, held_out, row_fingerprints
from defero.data.recipes.pictures import PictureFiles, PictureRecipe
from defero.data.recipes.recipe import FeatureRecipe

Fingerprints = NDArray[np.uint64]
ANSWERED = "+answers"
"""Marks fingerprints of rows with their labels and answers."""
KEYED = "keys" + ANSWERED
"""Fingerprints of features with keys, of the rows of all stages: gone as soon as a stage uses other rows."""
LEARNS_ON = "partial_fit"
"""The one stage that goes on where its last call ended."""
ANSWERS_AT_ONCE = 1 << 18
"""Answers listed at a time: one takes a few dozen bytes."""
FORGOTTEN = "forgotten"
"""In place of a key's id: the fingerprints were left out."""


def check_rows_known(rows_key: str | None, *, argument: str = "all_rows_new") -> None:
    """Raise where rows that a team has seen cannot be told from new ones.

    Parameters
    ----------
    rows_key : str, optional
        `Team.rows_key`: None where the fingerprints were made with this user's key.
    argument : str
        The argument by which the caller says that all rows are new.
    """
    if rows_key is None:
        return
    why = "keeps no fingerprints of the rows that it was fitted on"
    remedy = ""
    if rows_key != FORGOTTEN:
        why = f"was fitted with another key of row fingerprints (id {rows_key:.40})"
        remedy = f"set {VARIABLE} to that key, or "
    raise InputError(
        f"this model {why}, so that rows it has seen cannot be told from new ones; {remedy}pass "
        f"{Argument(argument, True)} where none of these rows was used to fit it."
    )


def seen_after(
    seen: Mapping[str, Fingerprints],
    stage: str,
    X: Any,
    label_idx: IntArray,
    answers: IntArray | Answers,
    *,
    disjoint: bool,
) -> dict[str, Fingerprints]:
    """Return what has been seen once a stage has used these rows; raises where an earlier stage used them.

    Rows with the features, the label and the answers of a row used before are refused; of a stage that kept features
    alone, such as `add_expert`, rows with the same features. Of other rows that share features the caller is warned.

    Parameters
    ----------
    seen : mapping
        So far: for each stage the fingerprints of its rows' features, and with labels and answers.
    stage : str
        Its own earlier rows are replaced; those of `LEARNS_ON` stay and are refused too.
    X, label_idx, answers
        The rows; the answers as class numbers (n, J), -1 where missing, or as `Answers`. X is None for a team on
        arrays: there are no rows to tell apart.
    disjoint : bool
        The caller vouches that no earlier stage used them.
    """
    if X is None:
        return dict(seen)
    table = X if hasattr(X, "columns") else np.asarray(X)
    rows = row_fingerprints(table[:, None] if table.ndim == 1 else table)
    whole = with_answers(rows, label_idx, answers)
    own = {stage: rows, stage + ANSWERED: whole}
    replaced = () if stage == LEARNS_ON else own
    before = {name: marks for name, marks in seen.items() if name not in (KEYED, *replaced)}
    if not disjoint:
        _refuse_seen(stage, rows, whole, before)
    return before | {name: np.concatenate([before.get(name, marks[:0]), marks]) for name, marks in own.items()}


def _refuse_seen(stage: str, rows: Fingerprints, whole: Fingerprints, before: Mapping[str, Fingerprints]) -> None:
    """Raise where rows were used by an earlier stage, and warn of those that merely have the features of one."""
    plain = {name: marks for name, marks in before.items() if not name.endswith(ANSWERED)}
    known = {name: before[name + ANSWERED] for name in plain if name + ANSWERED in before}
    unknown = {name: marks for name, marks in plain.items() if name not in known}
    for own, earlier in ((whole, known), (rows, unknown)):
        used = _together(earlier.values())
        n_used = n_reused(own, used)
        if n_used:
            first = int((~held_out(used, own)).argmax())
            raise InputError(
                f"{stage}: {n_used} of {len(rows)} rows were seen by {' or '.join(earlier)}, and nothing can be "
                f"promised on those; pass rows of their own. The first is row {first}, counted from 0; where other "
                "cases merely look alike, leave it out."
            )
    n_alike = int((~held_out(_together(plain.values()), rows)).sum())
    if n_alike:
        warnings.warn(
            f"{stage}: {n_alike} of {len(rows)} rows have the features of rows that {' or '.join(plain)} used; make "
            "sure that they are other cases.",
            stacklevel=5,
        )


def n_reused(rows: Fingerprints, used: Fingerprints) -> int:
    """Return how many rows (n,) are among those used before; 0 where so many look alike among the used ones anyway.

    If a share d of the used rows repeats another, a new row equals one of them by chance with probability about 2 d.

    >>> n_reused(np.array([7, 8], np.uint64), np.array([7, 9], np.uint64))
    1
    """
    n_shared = int((~held_out(used, rows)).sum())
    by_chance = 2 * (1 - len(np.unique(used)) / max(len(used), 1)) * len(rows)
    return n_shared if n_shared > by_chance + 4 * math.sqrt(by_chance) else 0


def of_other_experts(seen: Mapping[str, Fingerprints]) -> dict[str, Fingerprints]:
    """Return what has been seen, for a team of other experts: the rows' features alone.

    A row's fingerprint with its answers is another one as soon as an expert more or less is counted. Kept, it would
    tell every row that comes again for a new one.
    """
    stages = [name for name in seen if not name.endswith(ANSWERED)]
    return {name: rows for name, rows in seen.items() if name not in {KEYED, *(stage + ANSWERED for stage in stages)}}


def told_apart_by(X: Any, recipe: FeatureRecipe | PictureRecipe | None) -> Any:
    """Return what tells rows apart: of a table the columns in use, so that a new id makes no new case.

    Pictures in files are told apart by what the files hold, so that a new name makes none either.
    """
    if isinstance(recipe, PictureRecipe):
        X, recipe = recipe.apply(X), None
    if isinstance(X, PictureFiles):
        return X.identities()
    if recipe is None or not hasattr(X, "columns"):
        return X
    used = set(recipe.inputs)
    return X[[name for name in X.columns if str(name) in used]]


def features_seen(seen: Mapping[str, Fingerprints]) -> Fingerprints:
    """Return the fingerprints of the features of every row that some stage has used."""
    return _together(rows for name, rows in seen.items() if not name.endswith(ANSWERED))


def _together(parts: Iterable[Fingerprints]) -> Fingerprints:
    return np.concatenate([np.empty(0, np.uint64), *parts])


def with_answers(rows: Fingerprints, label_idx: IntArray, answers: IntArray | Answers) -> Fingerprints:
    """Return fingerprints of rows together with their labels and answers: these tell more rows apart."""
    coded = Answers.from_cells(answers) if isinstance(answers, np.ndarray) else answers
    n_items, n_experts = coded.shape
    rows_of_answers = ListedRows(n_first=3, n_listed=n_experts, usual=MISSING)
    whole = np.empty(n_items, dtype=np.uint64)
    step = max(1, n_items * ANSWERS_AT_ONCE // max(1, int(coded.per_item().sum())))
    for start in range(0, n_items, step):
        part = np.arange(start, min(start + step, n_items))
        halves = [rows[part] >> np.uint64(32), rows[part] & np.uint64(0xFFFFFFFF)]
        first = np.column_stack([*halves, label_idx[part]]).astype(np.float64)
        whole[part] = rows_of_answers.fingerprints(first, *coded.take(part).triplets())
    return whole


def in_own_order(
    features: Any, label_idx: IntArray, answer_idx: IntArray, expert_names: tuple[str, ...], strata: Any = None
) -> tuple[Any, IntArray, IntArray, Any]:
    """Return a stage's rows in an order that does not depend on the one they came in.

    Features that are no matrix (n, d), such as pictures, stay as they are, and so does all else.
    """
    if not isinstance(features, np.ndarray) or features.ndim != 2 or len(features) != len(label_idx):
        return features, label_idx, answer_idx, strata
    order = row_order(features, label_idx, Answers.from_cells(answer_idx, expert_names=expert_names), stratum=strata)
    return features[order], label_idx[order], answer_idx[order], None if strata is None else strata[order]


@dataclass(frozen=True)
class CaseMarks:
    """Fingerprints of rows, of ever more of what they hold.

    Attributes
    ----------
    features : fingerprints
        Of the features alone.
    answered : fingerprints
        With labels and answers; of rows seen before there may be fewer, as not every stage keeps them.
    keyed : fingerprints, optional
        Features with keys, of every row.
    """

    features: Fingerprints
    answered: Fingerprints
    keyed: Fingerprints | None = None


@dataclass(frozen=True)
class Fresh:
    """What is new among n rows.

    Attributes
    ----------
    rows : (n,) bool
        Not seen before.
    alike : int
        How many of them have the features of a row seen before, and another key.
    """

    rows: BoolArray
    alike: int


def fresh_rows(rows: CaseMarks, seen: CaseMarks) -> Fresh:
    """Tell which rows are new.

    Where keys are known, rows with another key are. Otherwise rows that are the same beyond their features are taken
    out first, on both sides: so cases that look alike are told apart within one table. Of the others, those with the
    features of a row that is left count as seen: its label may have been corrected, or an answer come in.

    Parameters
    ----------
    rows, seen : CaseMarks
        Of n rows, and of those seen before.

    Examples
    --------
    >>> features, answered = np.array([1, 1, 2], np.uint64), np.array([11, 12, 21], np.uint64)
    >>> seen = CaseMarks(features[:1], answered[1:2])
    >>> fresh_rows(CaseMarks(features, answered), seen).rows.tolist()  # the second was seen; the first looks like it
    [True, False, True]
    """
    if rows.keyed is None or seen.keyed is None:
        new = held_out(seen.answered, rows.answered)
        return Fresh(new & ~_shared(rows.features, seen.features, among=new), 0)
    new = held_out(seen.keyed, rows.keyed)
    return Fresh(new, int(_shared(rows.features, seen.features, among=new).sum()))


def _shared(rows: Fingerprints, seen: Fingerprints, *, among: BoolArray) -> BoolArray:
    """Tell which of some rows (n,) are among those seen, less those that the other rows account for."""
    left = seen[held_out(rows[~among], seen)]
    shared = np.zeros(len(rows), dtype=np.bool_)
    shared[np.flatnonzero(among)] = ~held_out(left, rows[among])
    return shared
