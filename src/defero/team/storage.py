"""What a team keeps on disk: its parts as a manifest and arrays, and back."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from defero.calibration import Calibrator
from defero.calibration.after_selection import SelectionMap
from defero.core.errors import InputError, ModelFolderError
from defero.core.labels import find_classes
from defero.data.fingerprint import combined
from defero.data.model_folder import MANIFEST, WEIGHTS, ModelFiles, damaged, read_folder, write_folder
from defero.data.recipes.pictures import PictureRecipe
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.recipes.text_encoder import Encoder, find_encoder
from defero.data.recipes.usual import UsualRanges
from defero.data.rows_key import key_id, known_key_id, rows_key
from defero.decide.rules import rule_from_settings, rule_settings
from defero.scorers import Packed, unpack_scorer
from defero.scorers.team import TeamScorer
from defero.team.facts import FitFacts
from defero.team.panel import Panel
from defero.team.schema import check_manifest

if TYPE_CHECKING:
    from defero.pools.router import PoolRouter
    from defero.team.team import Team


Fitted = TypeVar("Fitted", bound="Team | PoolRouter")
POOL = "pool"
"""Kind of model.json that another room reads."""
LEAST_BYTES = 1 << 16
"""Even the smallest folder may speak of so many columns."""


def write_team(team: "Team", folder: Path) -> None:
    """Write the model folder, whole or not at all."""
    write_folder(folder, router_files(team))


def router_files(team: "Team") -> ModelFiles:
    """Return what a model folder holds; raises where a team cannot be saved."""
    packed = team.scorer.pack()
    manifest = {
        "kind": team.scorer.kind,
        "classes": team.classes.tolist(),
        "experts": list(team.expert_names),
        "answer_counts": team.answer_counts.tolist(),
        "min_answers": team.min_answers,
        "rule": rule_settings(team.rule),
        "n_features": team.n_features,
        "item_shape": None if team.item_shape is None else list(team.item_shape),
        "recipe": None if team.recipe is None else team.recipe.to_dict(),
        "data_fingerprint": combined(team.all_seen()) if team.seen else None,
        "rows_key": _saved_key(team),
        "scorer": packed.settings,
        "calibrator": None if team.calibrator is None else team.calibrator.settings(),
        "selection": None if team.selection is None else team.selection.settings(),
        "panel": None if team.panel is None else team.panel.settings(),
        "facts": team.facts.to_dict(),
    }
    arrays = {**packed.arrays, **{f"seen.{stage}": rows for stage, rows in team.seen.items()}}
    if team.usual is not None:
        arrays["usual"] = np.array([team.usual.low, team.usual.high])
    return ModelFiles(manifest, arrays, dict(packed.files))


def read_team(folder: Path, build: "type[Team]") -> "Team | PoolRouter":
    """Read a model folder and build the team again; a damaged or older one gives a clear error."""
    model = read_folder(folder)
    if model.manifest.get("kind") == POOL:
        from defero.pools.storage import read_pool  # most folders hold no pool: its room is not loaded for them

        return read_pool(folder, model)
    manifest, arrays = model.manifest, model.arrays
    n_bytes = sum(array.nbytes for array in arrays.values()) + sum(map(len, model.files.values()))
    try:
        check_manifest(manifest, n_bytes=n_bytes + len(str(manifest["recipe"])) + LEAST_BYTES)
        recipe, calibrator, panel = manifest["recipe"], manifest["calibrator"], manifest["panel"]
        selection = manifest["selection"]
        team = build(
            scorer=unpack_scorer(manifest["kind"], Packed(manifest["scorer"], arrays, model.files)),
            classes=find_classes(manifest["classes"], name="classes"),
            expert_names=tuple(manifest["experts"]),
            answer_counts=np.array(manifest["answer_counts"], dtype=np.int64),
            rule=rule_from_settings(manifest["rule"]),
            min_answers=manifest["min_answers"],
            recipe=None if recipe is None else _recipe(recipe),
            n_features=manifest["n_features"],
            usual=_usual(arrays.get("usual"), n_features=manifest["n_features"]),
            item_shape=None if manifest["item_shape"] is None else tuple(manifest["item_shape"]),
            calibrator=None if calibrator is None else Calibrator.from_settings(calibrator),
            selection=None if selection is None else SelectionMap.from_settings(selection),
            panel=None if panel is None else Panel.from_settings(panel),
            seen={name.removeprefix("seen."): rows for name, rows in arrays.items() if name.startswith("seen.")},
            rows_key=None if manifest["rows_key"] == known_key_id() else manifest["rows_key"],
            facts=FitFacts.from_dict(manifest["facts"]),
        )
        _check_parts(team)
        return team
    except ModelFolderError as error:
        raise ModelFolderError(f"{folder}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        raise damaged(folder / MANIFEST, f"{type(error).__name__}: {error}") from error


def with_encoder(team: Fitted, text_encoder: Encoder) -> Fitted:
    """Return the team with the encoder of its texts as given, if it has one; a name in a model folder loads nothing."""
    recipe = team.recipe
    embedded = recipe.embedded if isinstance(recipe, FeatureRecipe) else ()
    encoder = find_encoder(text_encoder)
    if encoder is None and (text_encoder is None or not embedded):
        return team
    if encoder is None:
        raise InputError(
            f"must be {embedded[0].encoder!r}, which the model was fitted with, got {text_encoder!r}.",
            argument="text_encoder",
        )
    if not isinstance(recipe, FeatureRecipe) or not embedded:
        raise InputError(
            "is not needed: this model reads no text by an encoder; leave it out.", argument="text_encoder"
        )
    return replace(team, recipe=recipe.with_encoder(encoder))


def _check_parts(team: "Team") -> None:
    """Raise unless a team's parts are made for the same experts and classes: one item of zeros goes through it."""
    n_experts = len(team.expert_names)
    widths = {
        "calibrator": n_experts if team.calibrator is None else team.calibrator.experts.n_experts,
        "selection": n_experts if team.selection is None else len(team.selection.expert_shift),
        "panel": n_experts if team.panel is None else team.panel.predictor.n_experts_,
        "discount": n_experts if team.panel is None else len(team.panel.discount),
    }
    panel = team.panel
    if panel is not None:
        widths |= {
            "fees": n_experts if panel.fees is None else len(panel.fees),
            "available": n_experts if panel.available is None else len(panel.available),
        }
        if panel.cost_matrix is not None and panel.cost_matrix.shape != (len(team.classes),) * 2:
            raise ModelFolderError(f"{MANIFEST}: the cost matrix of the panel is not of the classes; fit again.")
        if not ((panel.discount >= 0) & (panel.discount <= 1)).all():
            raise ModelFolderError(f"{MANIFEST}: the discounts of the panel must be in [0, 1]; fit again.")
    scorer = team.scorer
    trees = scorer.trees if isinstance(scorer, TeamScorer) else None
    if isinstance(scorer, TeamScorer) and trees is not None and (trees.expert_idx >= scorer.heads.n_experts).any():
        raise ModelFolderError(f"{MANIFEST}: trees are made for an expert who has no head; fit again.")
    odd = [name for name, width in widths.items() if width != n_experts]
    if odd:
        raise ModelFolderError(
            f"{MANIFEST}: {odd[0]} is made for {widths[odd[0]]} experts, not {n_experts}; fit again."
        )
    base = getattr(team.scorer, "base", team.scorer)
    if base.kind in ("deep", "onnx"):  # a net is slow to build, and its weights were compared by their names
        return
    width = team.n_features if team.recipe is None else len(getattr(team.recipe, "names", ()))
    if width is not None:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            team.score_features(np.zeros((1, width)))


def _saved_key(team: "Team") -> str | None:
    """Return the id of the key that the fingerprints were made with; None where there are none."""
    if team.rows_key is not None:
        return team.rows_key
    return key_id(rows_key()) if team.seen else None


def _usual(bounds: Any, *, n_features: int | None) -> UsualRanges | None:
    """Return the usual range of each column of a matrix; the array (2, d) has the lower and the upper bounds."""
    if bounds is None:
        return None
    if bounds.shape != (2, n_features) or bounds.dtype.kind != "f" or not (bounds[0] < bounds[1]).all():
        raise ModelFolderError(f"{WEIGHTS}: usual must be two bounds for each of {n_features} columns; fit again.")
    return UsualRanges(tuple(bounds[0].tolist()), tuple(bounds[1].tolist()))


def _recipe(values: dict[str, Any]) -> FeatureRecipe | PictureRecipe:
    return PictureRecipe.from_dict(values) if "pictures" in values else FeatureRecipe.from_dict(values)
