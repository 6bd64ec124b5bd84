"""What a training of one team gives, and how it is kept: a figure that is thought of later needs no new training."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from defero.core.errors import InputError
from defero.papers.verma2023.run_record import RunKey
from defero.papers.verma2023.team_outputs import TeamOutputs

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


def save_team(path: Path, team: TrainedTeam) -> None:
    """Write a run's outputs, float32 as the networks give them; a file is whole or not there."""
    facts = {"seconds": team.seconds, "recipe": team.recipe, "link": team.test.link, "made": team.made}
    arrays: dict[str, Any] = {"facts": np.asarray(json.dumps(facts))}
    for part in PARTS:
        arrays |= {f"{part}_{name}": array for name, array in getattr(team, part).pack().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new.npz")
    np.savez(new, **arrays)
    os.replace(new, path)


def load_team(path: Path) -> TrainedTeam:
    """Read a run's outputs."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            facts = json.loads(str(stored["facts"]))
            parts = {part: _outputs(stored, part, facts["link"]) for part in PARTS}
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path} holds no outputs of a run ({error}); remove it to train the run again.") from error
    return TrainedTeam(parts["validation"], parts["test"], facts["seconds"], facts["recipe"], facts["made"])


def _outputs(stored: Any, part: str, link: Any) -> TeamOutputs:
    found = {name: stored[f"{part}_{name}"] for name in _ARRAYS if f"{part}_{name}" in stored.files}
    numbers = {name: array.astype(np.float64) for name, array in found.items() if name.endswith(("logits", "logit"))}
    return TeamOutputs(
        link,
        numbers["class_logits"],
        numbers["expert_logits"],
        found["answers"].astype(np.int64),
        found["labels"].astype(np.int64),
        numbers.get("model_logit"),
    )
