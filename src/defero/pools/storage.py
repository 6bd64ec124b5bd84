"""What a pool keeps on disk: its parts as a manifest and arrays, and back."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from defero.core.errors import ModelFolderError
from defero.data.checked_values import integer, list_of, mapping_of, maybe, number, recipe_check, record, text
from defero.data.fingerprint import combined
from defero.data.model_folder import MANIFEST, ModelFiles, damaged, read_folder, write_folder
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.rows_key import key_id, known_key_id, rows_key
from defero.pools.models.linear import LinearPart
from defero.pools.models.score_model import ScoreModel
from defero.pools.router import PoolRouter

KIND = "pool"
LEAST_BYTES = 1 << 16
"""Even the smallest folder may speak of so many columns."""
MOST_PARTS = 16


def write_pool(team: PoolRouter, folder: Path) -> None:
    """Write the model folder, whole or not at all."""
    write_folder(folder, pool_files(team))


def pool_files(team: PoolRouter) -> ModelFiles:
    """Return what a pool's folder holds."""
    settings, arrays = team.model.pack()
    if team.price_model is not None:
        arrays |= {f"price.{name}": value for name, value in team.price_model.arrays().items()}
    key = team.rows_key
    if key is None and len(team.seen):
        key = key_id(rows_key())
    manifest = {
        "kind": KIND,
        "experts": list(team.expert_names),
        "n_scores": team.n_scores.tolist(),
        "model": settings,
        "chosen_map": list(team.chosen_map),
        "recipe": None if team.recipe is None else team.recipe.to_dict(),
        "data_fingerprint": combined(team.seen) if len(team.seen) else None,
        "rows_key": key,
        "facts": dict(team.facts),
    }
    arrays |= {
        "train_score": team.train_score,
        "train_price": team.train_price,
        "covariance": team.covariance,
        "price_known": team.price_known.astype(np.uint8),
        "seen": team.seen,
    }
    return ModelFiles(manifest, arrays, {})


def load_pool(folder: Path) -> PoolRouter:
    """Read a pool's folder; the folder of another model, or a damaged one, gives a clear error."""
    model = read_folder(folder)
    if model.manifest.get("kind") != KIND:
        raise ModelFolderError(f"{folder}: is not a pool but a team with classes; load it with Team.load.")
    return read_pool(folder, model)


def is_pool_folder(folder: Path) -> bool:
    """Tell whether a folder's model.json says that it is a pool; False for whatever cannot be read."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == KIND


def read_pool(folder: Path, model: ModelFiles) -> PoolRouter:
    """Build the team of a pool from what its folder holds."""
    manifest, arrays = model.manifest, model.arrays
    try:
        n_bytes = sum(array.nbytes for array in arrays.values()) + len(str(manifest.get("recipe"))) + LEAST_BYTES
        _check_manifest(manifest, n_bytes=n_bytes)
        price = {name.removeprefix("price."): value for name, value in arrays.items() if name.startswith("price.")}
        recipe, (a, b) = manifest["recipe"], manifest["chosen_map"]
        team = PoolRouter(
            ScoreModel.unpack(manifest["model"], arrays),
            tuple(manifest["experts"]),
            np.array(manifest["n_scores"], dtype=np.int64),
            np.asarray(arrays["train_score"], dtype=np.float64),
            np.asarray(arrays["train_price"], dtype=np.float64),
            np.asarray(arrays["covariance"], dtype=np.float64),
            (float(a), float(b)),
            LinearPart.from_arrays(price) if price else None,
            np.asarray(arrays["price_known"]).astype(np.bool_),
            None if recipe is None else FeatureRecipe.from_dict(recipe),
            np.asarray(arrays["seen"], dtype=np.uint64),
            None if manifest["rows_key"] == known_key_id() else manifest["rows_key"],
            manifest["facts"],
        )
        _check_parts(team)
        return team
    except ModelFolderError as error:
        raise ModelFolderError(f"{folder}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        raise damaged(folder / MANIFEST, f"{type(error).__name__}: {error}") from error


def _check_manifest(manifest: dict[str, Any], *, n_bytes: int) -> None:
    """Raise unless model.json has the values that a pool is built from."""
    record(
        experts=list_of(text, least=1),
        n_scores=list_of(integer(0)),
        model=record(parts=list_of(text, least=1, most=MOST_PARTS), weights=list_of(number(), least=1)),
        recipe=maybe(recipe_check(n_bytes)),
        chosen_map=list_of(number(), least=2, most=2),
        data_fingerprint=maybe(text),
        rows_key=maybe(text),
        facts=_check_facts,
    )(manifest, "")


def _check_facts(value: Any, place: str) -> None:
    """Raise unless what `fit` remembered has the types with which it is used later."""
    record()(value, place)
    for name, check in _FACTS.items():
        if name in value:
            check(value[name], f"{place}.{name}")


def _fee(value: Any, place: str) -> None:
    """Check a fee: money, or "@column"."""
    (text if isinstance(value, str) else number(0.0))(value, place)


_FACTS: dict[str, Callable[[Any, str], None]] = {
    "learner": text,
    "held_out": mapping_of(number()),
    "n_items": integer(0),
    "fees": maybe(mapping_of(_fee)),
    "error_cost": maybe(number(0.0)),
    "judge": maybe(list_of(number(0.0), least=2, most=2)),
    "joined": list_of(text),
    "blank": list_of(text),
    **dict.fromkeys(("key", "groups", "split"), maybe(text)),
}


def _check_parts(team: PoolRouter) -> None:
    """Raise unless the parts fit together: one item of zeros goes through the team."""
    width = team.model.n_features
    if team.recipe is not None and len(team.recipe.names) != width:
        raise ModelFolderError(f"{MANIFEST}: the recipe makes {len(team.recipe.names)} features, not {width}.")
    if team.price_model is not None and team.price_model.n_features != width:
        raise ModelFolderError(f"{MANIFEST}: prices need {team.price_model.n_features} features, not {width}.")
    if not np.isfinite(team.covariance).all():
        raise ModelFolderError(f"{MANIFEST}: the covariance must be finite.")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        team.model.predict(np.zeros((1, width)))
