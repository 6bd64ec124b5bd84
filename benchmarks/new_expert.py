"""How long it takes to add an expert to a team of a thousand, beside training the team anew."""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from defero import DeferralClassifier, Team
from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.scores import sigmoid

N_ITEMS, N_FEATURES, N_EXPERTS, EACH = 5_000, 20, 1_000, 30
GIVEN = 50


def _changed(router: Team, change: str, *given: object) -> object:
    """Change a copy, so that every call starts from the same team."""
    return getattr(router.copy(), change)(*given)


def draw() -> tuple[FloatArray, IntArray, IntArray]:
    """Return features, labels, and answers (n, J) of a thousand who answered 30 items each; -1 where they did not."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(N_ITEMS, N_FEATURES))
    labels = (rng.random(N_ITEMS) < sigmoid(2 * features[:, 0])).astype(np.int64)
    answers = np.full((N_ITEMS, N_EXPERTS), -1, dtype=np.int64)
    for j in range(N_EXPERTS):
        items = rng.choice(N_ITEMS, EACH, replace=False)
        right = rng.random(EACH) < sigmoid(1 + rng.normal() * features[items, 1])
        answers[items, j] = np.where(right, labels[items], 1 - labels[items])
    return features, labels, answers


def seconds(call: Callable[[], object], *, runs: int = 5) -> float:
    """Return the CPU seconds of the best run."""
    found = []
    for _ in range(runs):
        before = time.process_time()
        call()
        found.append(time.process_time() - before)
    return round(min(found), 3)


def run() -> dict[str, float]:
    """Return what each step takes."""
    features, labels, answers = draw()
    rng = np.random.default_rng(1)
    fresh = rng.normal(size=(GIVEN, N_FEATURES))
    truth = (rng.random(GIVEN) < sigmoid(2 * fresh[:, 0])).astype(np.int64)
    said = np.where(rng.random(GIVEN) < 0.8, truth, 1 - truth)
    figures = {}
    for net in ("auto", "linear"):
        before = time.process_time()
        team = DeferralClassifier(net, random_state=0).fit(features, labels, experts=answers)
        training = round(time.process_time() - before, 1)
        router: Team = team.team_.copy().calibrate(*_calibration(rng))
        what = f"{N_EXPERTS:,} experts, net={net!r}"
        figures[f"{what}: train the team, once"] = training
        calls: dict[str, Callable[[], object]] = {
            f"add one with {GIVEN} answers": partial(_changed, router, "add_expert", "new", fresh, truth, said),
            "add one without answers": partial(_changed, router, "add_expert", "new", None, None, None),
            "remove one": partial(_changed, router, "remove_expert", "expert_500"),
        }
        figures |= {f"{what}: {name}": seconds(call) for name, call in calls.items()}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            router.save(path)
            figures[f"{what}: load, add one, save"] = seconds(partial(_on_disk, path, fresh, truth, said))
    return figures


def _calibration(rng: np.random.Generator) -> tuple[FloatArray, IntArray, IntArray]:
    features = rng.normal(size=(500, N_FEATURES))
    labels = (rng.random(500) < sigmoid(2 * features[:, 0])).astype(np.int64)
    right = rng.random((500, N_EXPERTS)) < 0.75
    answers = np.where(right, labels[:, None], 1 - labels[:, None])
    return features, labels, np.where(rng.random(right.shape) < 0.01, answers, -1)


def _on_disk(path: Path, features: FloatArray, labels: IntArray, answers: IntArray) -> None:
    Team.load(path).add_expert("new", features, labels, answers).save(path.with_name("more"))
