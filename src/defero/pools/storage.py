"""What a pool keeps on disk: its parts as a manifest and arrays, and back."""

import json
import warnings
from pathlib import Path

import numpy as np

from defero.core.codec import Packed
from defero.core.errors import ModelFolderError
from defero.data.model_folder import MANIFEST, files_of, fitted_of, read_folder, write_folder
from defero.pools.router import PoolRouter


def write_pool(team: PoolRouter, folder: Path) -> None:
    """Write the model folder, whole or not at all."""
    write_folder(folder, files_of(team))


def load_pool(folder: Path) -> PoolRouter:
    """Read a pool's folder; the folder of another model, or a damaged one, gives a clear error."""
    model = read_folder(folder)
    if model.manifest.get("kind") != PoolRouter.kind:
        raise ModelFolderError(f"{folder}: is not a pool but a team with classes; load it with Team.load.")
    return read_pool(folder, model)


def is_pool_folder(folder: Path) -> bool:
    """Tell whether a folder's model.json says that it is a pool; False for whatever cannot be read."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == PoolRouter.kind


def read_pool(folder: Path, model: Packed) -> PoolRouter:
    """Build the team of a pool from what its folder holds."""
    return fitted_of(folder, model, PoolRouter, _check_parts)


def _check_parts(team: PoolRouter) -> None:
    """Raise unless the parts fit together: one item of zeros goes through the team."""
    width = team.model.n_features
    if team.recipe is not None and len(team.recipe.names) != width:
        raise ModelFolderError(f"{MANIFEST}: the recipe makes {len(team.recipe.names)} features, not {width}.")
    if team.price_model is not None and team.price_model.n_features != width:
        raise ModelFolderError(f"{MANIFEST}: prices need {team.price_model.n_features} features, not {width}.")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        team.model.predict(np.zeros((1, width)))
