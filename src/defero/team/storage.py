"""What a team keeps on disk: its parts as a manifest and arrays, and back."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from defero.core.errors import InputError, ModelFolderError
from defero.data.model_folder import MANIFEST, files_of, fitted_of, read_folder, write_folder
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.recipes.text_encoder import Encoder, find_encoder
from defero.learn.scorer import SkillScorer
from defero.learn.two_stage import TwoStageScorer

if TYPE_CHECKING:
    from defero.team.team import Team


def write_team(team: "Team", folder: Path) -> None:
    """Write the model folder, whole or not at all; warn of classifiers that it does not hold."""
    write_folder(folder, files_of(team))
    for argument, name in _not_kept(team).items():
        warnings.warn(
            f"save: the folder does not hold the {argument} ({name}): it keeps linear models and trees of scikit-learn "
            f"and LightGBM. Keep the fitted one, {argument}_, yourself, and pass it to "
            f"Team.load(folder, {argument}=...).",
            stacklevel=3,
        )


def read_team(folder: Path, build: "type[Team]") -> "Team":
    """Read a model folder and build the team again; a damaged or older one gives a clear error."""
    model = read_folder(folder)
    return fitted_of(folder, model, build, _check_parts)


def with_encoder(team: "Team", text_encoder: Encoder) -> "Team":
    """Return the team with the encoder of its texts as given, if it has one; a name in a model folder loads nothing."""
    if text_encoder is None:
        return team
    recipe = team.recipe
    embedded = recipe.embedded if isinstance(recipe, FeatureRecipe) else ()
    encoder = find_encoder(text_encoder)
    if encoder is None and not embedded:
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


def with_classifiers(team: Any, folder: Path, *, classifier: Any, expert_model: Sequence[Any] | None) -> Any:
    """Return the team with the classifiers that its folder does not hold; raise where one is missing."""
    given = {"classifier": classifier, "expert_model": expert_model}
    missing = _not_kept(team)
    for argument, value in given.items():
        if value is not None and argument not in missing:
            raise InputError("is not needed: the folder holds it, or there is none; leave it out.", argument=argument)
        if value is None and argument in missing:
            raise ModelFolderError(
                f"{folder}: does not hold the {argument} ({missing[argument]}), which was fitted with the team; "
                f"pass it: load(folder, {argument}=...)."
            )
    if not missing:
        return team
    base = _base(team).with_models(classifier, expert_model, team.classes)
    return replace(team, scorer=replace(team.scorer, base=base) if isinstance(team.scorer, SkillScorer) else base)


def _base(team: Any) -> Any:
    """Return the scorer of a team below the skill of its experts."""
    scorer = getattr(team, "scorer", None)
    return getattr(scorer, "base", scorer)


def _not_kept(team: Any) -> dict[str, str]:
    base = _base(team)
    return base.not_kept() if isinstance(base, TwoStageScorer) else {}


def _check_parts(team: "Team") -> None:
    """Raise unless a team's parts are made for the same experts and classes: one item of zeros goes through it."""
    n_experts = len(team.expert_names)
    widths = {
        "calibrator": n_experts if team.calibrator is None else team.calibrator.n_experts,
        "panel": n_experts if team.panel is None else team.panel.predictor.n_experts_,
        "prices": n_experts if team.prices is None else len(team.prices.known),
        "scores": n_experts if team.score_facts is None else len(team.score_facts.train_score),
        "copies": n_experts if team.law is None or team.law.copies is None else len(team.law.copies),
    }
    panel = team.panel
    if panel is not None:
        widths |= {
            "fees": n_experts if panel.fees is None else len(panel.fees),
            "available": n_experts if panel.available is None else len(panel.available),
        }
        if panel.cost_matrix is not None and panel.cost_matrix.shape != (len(team.classes),) * 2:
            raise ModelFolderError(f"{MANIFEST}: the cost matrix of the panel is not of the classes; fit again.")
    if team.law is not None and team.law.n_classes != len(team.classes):
        raise ModelFolderError(f"{MANIFEST}: the law is not of {len(team.classes)} classes; fit again.")
    odd = [name for name, width in widths.items() if width != n_experts]
    if odd:
        raise ModelFolderError(
            f"{MANIFEST}: {odd[0]} is made for {widths[odd[0]]} experts, not {n_experts}; fit again."
        )
    if team.usual is not None and len(team.usual.low) != team.n_features:
        raise ModelFolderError(
            f"{MANIFEST}: usual must be two bounds for each of {team.n_features} columns; fit again."
        )
    # A net is slow to build, and its weights were compared by their names.
    if _base(team).kind in ("deep", "onnx") or _not_kept(team):
        return
    width = team.n_features if team.recipe is None else len(getattr(team.recipe, "names", ()))
    if team.scored_only != (team.score_facts is not None):
        raise ModelFolderError(f"{MANIFEST}: score_facts are of a team without classes; fit again.")
    if team.prices is not None and len(team.prices.weights) != width:
        raise ModelFolderError(f"{MANIFEST}: the prices are not of {width} features; fit again.")
    if width is not None:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            team.score_features(np.zeros((1, width)))
