"""What a training of one team gives, and how it is kept: a figure that is thought of later needs no new training."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from defero import InputError
from defero_verma2023.measures.team_outputs import TeamOutputs
from defero_verma2023.runs.record import RunKey

PARTS = ("validation", "test")
_ARRAYS = ("class_logits", "expert_logits", "answers", "labels", "model_logit")


@dataclass(frozen=True, eq=False)
class TrainedTeam:
    """A network, judged by what it says.

    Attributes
    ----------
    validation : TeamOutputs
        Of items that it was not trained on, for calibration.
    test : TeamOutputs
    seconds : float
        Of training, without compiling.
    recipe : mapping
        What the training was: every number that was chosen.
    made : mapping
        On what and by what: "machine", "versions" and "command".
    """

    validation: TeamOutputs
    test: TeamOutputs
    seconds: float
    recipe: dict[str, Any]
    made: dict[str, Any] = field(default_factory=dict)


def kept_path(folder: Path, key: RunKey) -> Path:
    """Return where a run's outputs are kept.

    >>> kept_path(Path("kept"), RunKey("sim1", "one classifier", 4.0, 0, "as_published", "wrn-28-4")).name
    'sim1_one-classifier_4_0_as_published_wrn-28-4.npz'
    """
    words = (key.experiment, key.method, f"{key.setting:g}", str(key.seed), key.protocol, key.net)
    return folder / ("_".join(word.replace(" ", "-").replace(":", "-") for word in words) + ".npz")


def pack_team(team: TrainedTeam) -> dict[str, np.ndarray]:
    """Return a run's outputs as arrays, float32 as the networks give them, and what is told of it as JSON in one."""
    facts = {"seconds": team.seconds, "recipe": team.recipe, "link": team.test.link, "made": team.made}
    arrays = {"facts": np.asarray(json.dumps(facts))}
    for part in PARTS:
        arrays |= {f"{part}_{name}": array for name, array in getattr(team, part).pack().items()}
    return arrays


def unpack_team(arrays: Mapping[str, np.ndarray]) -> TrainedTeam:
    """Return the run that was packed."""
    facts = json.loads(str(arrays["facts"]))
    validation, test = (_outputs(arrays, part, facts["link"]) for part in PARTS)
    return TrainedTeam(validation, test, facts["seconds"], facts["recipe"], facts["made"])


def save_team(path: Path, team: TrainedTeam) -> None:
    """Write a run's outputs; a file is whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new.npz")
    np.savez(new, allow_pickle=False, **pack_team(team))
    os.replace(new, path)


def load_team(path: Path) -> TrainedTeam:
    """Read a run's outputs."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return unpack_team(stored)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path} holds no outputs of a run ({error}); remove it to train the run again.") from error


def _outputs(stored: Mapping[str, np.ndarray], part: str, link: Any) -> TeamOutputs:
    arrays = {name: stored[f"{part}_{name}"] for name in _ARRAYS if f"{part}_{name}" in stored}
    numbers = {name: array.astype(np.float64) for name, array in arrays.items() if name.endswith(("logits", "logit"))}
    return TeamOutputs(
        link,
        numbers["class_logits"],
        numbers["expert_logits"],
        arrays["answers"].astype(np.int64),
        arrays["labels"].astype(np.int64),
        numbers.get("model_logit"),
    )
