"""Rows that an earlier stage has used: nothing can be promised on those."""

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defero.core.checks import IntArray
from defero.core.errors import InputError
from defero.data.fingerprint import held_out, row_fingerprints
from defero.data.recipe import FeatureRecipe

Fingerprints = NDArray[np.uint64]
ANSWERED = "+answers"
"""Marks fingerprints of rows with their labels and answers."""


def seen_after(
    seen: Mapping[str, Fingerprints],
    stage: str,
    X: Any,
    label_idx: IntArray,
    answer_idx: IntArray,
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
    X, label_idx, answer_idx
        The rows. X is None for a router on arrays: there are no rows to tell apart.
    disjoint : bool
        The caller vouches that no earlier stage used them.
    """
    if X is None:
        return dict(seen)
    table = X if hasattr(X, "columns") else np.asarray(X)
    rows = row_fingerprints(table[:, None] if table.ndim == 1 else table)
    whole = with_answers(rows, label_idx, answer_idx)
    before = {name: found for name, found in seen.items() if name not in (stage, stage + ANSWERED)}
    if not disjoint:
        plain = {name: found for name, found in before.items() if not name.endswith(ANSWERED)}
        refuse_seen(stage, rows, plain, tell_doubt=False)
        refuse_seen(stage, whole, {name: before[name + ANSWERED] for name in plain}, tell_doubt=True)
    return {**before, stage: rows, stage + ANSWERED: whole}


def told_apart_by(X: Any, recipe: FeatureRecipe | None) -> Any:
    """Return the part of X that tells rows apart: of a table the columns in use, so that a new id makes no new case."""
    if recipe is None:
        return X
    used = set(recipe.inputs)
    return X[[name for name in X.columns if str(name) in used]]


def features_seen(seen: Mapping[str, Fingerprints]) -> Fingerprints:
    """Return the fingerprints of the features of every row that some stage has used."""
    plain = [rows for name, rows in seen.items() if not name.endswith(ANSWERED)]
    return np.concatenate([np.empty(0, np.uint64), *plain])


def with_answers(rows: Fingerprints, label_idx: IntArray, answer_idx: IntArray) -> Fingerprints:
    """Return fingerprints of rows together with their labels and answers: these tell more rows apart."""
    halves = [rows >> np.uint64(32), rows & np.uint64(0xFFFFFFFF)]
    return row_fingerprints(np.column_stack([*halves, label_idx, answer_idx]).astype(np.float64))


def refuse_seen(stage: str, rows: Fingerprints, earlier: Mapping[str, Fingerprints], *, tell_doubt: bool) -> None:
    """Raise where rows were used by an earlier stage.

    In a table with few distinct feature values different cases look alike. If a share d of the earlier rows repeats
    another, a new row equals one of them by chance with probability about 2 d; only more than that is taken for
    reuse. Without repetitions a single shared row is.

    Parameters
    ----------
    stage : str
        Who wants to use the rows.
    rows : (n,) fingerprints
    earlier : mapping
        The fingerprints that each earlier stage has used.
    tell_doubt : bool
        Warn where rows repeat so often that the check cannot tell.
    """
    used = np.concatenate([np.empty(0, np.uint64), *earlier.values()])
    shared = int((~held_out(used, rows)).sum())
    repeated = 1 - len(np.unique(used)) / len(used) if len(used) else 0.0
    by_chance = 2 * repeated * len(rows)
    if shared > by_chance + 4 * math.sqrt(by_chance):
        raise InputError(
            f"{stage}: {shared} of {len(rows)} rows were seen by {' or '.join(earlier)}, and nothing can be promised "
            "on those; pass rows of their own."
        )
    if tell_doubt and shared and by_chance >= 0.5 * len(rows):
        warnings.warn(
            f"{stage}: so many rows repeat that reuse of rows of {' or '.join(earlier)} cannot be told from "
            "coincidence; make sure that the parts are disjoint.",
            stacklevel=5,
        )
