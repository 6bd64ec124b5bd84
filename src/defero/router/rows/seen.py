"""Rows that an earlier stage has used: nothing can be promised on those."""

import math
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defero.core.answers import Answers
from defero.core.checks.arrays import IntArray
from defero.core.errors import Argument, InputError
from defero.core.lookup import MISSING
from defero.data.fingerprint import ListedRows, held_out, row_fingerprints
from defero.data.recipes.pictures import PictureFiles, PictureRecipe
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.rows_key import VARIABLE
from defero.router.rows.look_alikes import chance_alike, equal_pairs, most_by_chance

Fingerprints = NDArray[np.uint64]
ANSWERED = "+answers"
"""Marks fingerprints of rows with their labels and answers."""
KEYED = "keys" + ANSWERED
"""Fingerprints of features with keys, of the rows of all stages: gone as soon as a stage uses other rows."""
ANSWERS_AT_ONCE = 1 << 18
"""Answers listed at a time: one takes a few dozen bytes."""
FORGOTTEN = "forgotten"
"""In place of a key's id: the fingerprints were left out."""


def check_rows_known(rows_key: str | None, *, argument: str = "all_rows_new") -> None:
    """Raise where rows that a team has seen cannot be told from new ones.

    Parameters
    ----------
    rows_key : str, optional
        `Router.rows_key`: None where the fingerprints were made with this user's key.
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
        f"this model {why}, so that rows it has seen cannot be told from new ones; {remedy}pass ",
        Argument(argument, True),
        " where none of these rows was used to fit it.",
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

    Parameters
    ----------
    seen : mapping
        So far: for each stage the fingerprints of its rows' features, and with labels and answers.
    stage : str
        Its own earlier rows are replaced.
    X, label_idx, answers
        The rows; the answers as class numbers (n, J), -1 where missing, or as `Answers`. X is None for a router on
        arrays: there are no rows to tell apart.
    disjoint : bool
        The caller vouches that no earlier stage used them.
    """
    if X is None:
        return dict(seen)
    table = X if hasattr(X, "columns") else np.asarray(X)
    rows = row_fingerprints(table[:, None] if table.ndim == 1 else table)
    whole = with_answers(rows, label_idx, answers)
    before = {name: marks for name, marks in seen.items() if name not in (stage, stage + ANSWERED, KEYED)}
    if not disjoint:
        plain = {name: marks for name, marks in before.items() if not name.endswith(ANSWERED)}
        features_alike = partial(chance_alike, table)

        def wholly_alike() -> float:
            return features_alike() * equal_pairs(with_answers(np.zeros_like(rows), label_idx, answers))

        refuse_seen(stage, rows, plain, alike=features_alike, tell_doubt=False)
        known = {name: before[name + ANSWERED] for name in plain if name + ANSWERED in before}
        refuse_seen(stage, whole, known, alike=wholly_alike, tell_doubt=True)
        unknown = {name: plain[name] for name in plain if name not in known}
        refuse_seen(stage, rows, unknown, alike=features_alike, tell_doubt=True)
    return {**before, stage: rows, stage + ANSWERED: whole}


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
    plain = [rows for name, rows in seen.items() if not name.endswith(ANSWERED)]
    return np.concatenate([np.empty(0, np.uint64), *plain])


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


def refuse_seen(
    stage: str,
    rows: Fingerprints,
    earlier: Mapping[str, Fingerprints],
    *,
    alike: Callable[[], float],
    tell_doubt: bool,
) -> None:
    """Raise where rows were used by an earlier stage.

    In a table with few distinct feature values different cases look alike. If a share d of the earlier rows repeats
    another, a new row equals one of them by chance with probability about 2 d; only more than that is taken for
    reuse. A small table of whole numbers may repeat no row and still share one with another: what `alike` expects of
    its columns is forgiven too. Without either a single shared row is reuse.

    Parameters
    ----------
    stage : str
        Who wants to use the rows.
    rows : (n,) fingerprints
    earlier : mapping
        The fingerprints that each earlier stage has used.
    alike : callable
        Gives the chance that two different cases have the same row; asked only where rows are shared.
    tell_doubt : bool
        Warn where rows repeat so often that the check cannot tell.
    """
    used = np.concatenate([np.empty(0, np.uint64), *earlier.values()])
    shared, by_chance = shared_rows(rows, used)
    if shared > most_by_chance(by_chance) and shared > most_by_chance(-math.expm1(-len(used) * alike()) * len(rows)):
        raise InputError(
            f"{stage}: {shared} of {len(rows)} rows were seen by {' or '.join(earlier)}, and nothing can be promised "
            f"on those; pass rows of their own. The first is row {int((~held_out(used, rows)).argmax())}, counted from "
            "0; where other cases merely look alike, leave it out."
        )
    if tell_doubt and shared and by_chance >= 0.5 * len(rows):
        warnings.warn(
            f"{stage}: so many rows repeat that reuse of rows of {' or '.join(earlier)} cannot be told from "
            "coincidence; make sure that the parts are disjoint.",
            stacklevel=5,
        )


def shared_rows(rows: Fingerprints, used: Fingerprints) -> tuple[int, float]:
    """Return how many rows (n,) are among those used before, and how many chance makes so: see `refuse_seen`."""
    repeated = 1 - len(np.unique(used)) / len(used) if len(used) else 0.0
    return int((~held_out(used, rows)).sum()), 2 * repeated * len(rows)
