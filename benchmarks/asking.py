"""What ways of asking promise and keep, before and after the calibration of their verdicts, on sets with real people.

    python -m benchmarks.asking [SET ...]

Each set is cut into four parts (50, 15, 15, 20 %; rows that belong together stay together), a team is fitted,
calibrated and conformalized, and every way of asking settles the test part; a question costs 0.01 of an error.
"Before" is the posterior of the label as it is. Digits have noisy pictures and six simulated specialists.
"""

import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.people.crowd import Crowd
from defero import DeferralClassifier, ExpertTable, Team
from defero.core.splits import split_groups, split_rows
from defero.data.model_folder import library_versions
from defero.datasets import recidivism_people
from defero.decide import ask_in_turn
from defero.decide.terms import Terms
from defero.team import try_out

SHARES = (0.5, 0.15, 0.15, 0.2)
N_SPLITS = 10
NET = "linear"
WAYS = ("one", "sequential", "panel", "everybody_bayes")


def digits() -> Crowd:
    """Return noisy digits and six specialists, each good at three of them."""
    features, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    answers = np.empty((len(labels), 6), dtype=np.int64)
    for j in range(6):
        knows = np.isin(labels, [(2 * j) % 10, (2 * j + 1) % 10, (2 * j + 2) % 10])
        right = rng.random(len(labels)) < np.where(knows, 0.95, 0.55)
        answers[:, j] = np.where(right, labels, (labels + rng.integers(1, 10, len(labels))) % 10)
    noisy = features + rng.normal(0, 12, features.shape)
    return Crowd(ExpertTable(labels, answers, noisy, classes=list(range(10))))


def recidivism() -> Crowd:
    """Return the defendants with the answers of laypeople."""
    return Crowd(recidivism_people())


def of_people(name: str) -> Callable[[], Crowd]:
    """Return the loader of a set of the people's table."""
    crowd: Callable[[], Crowd] = import_module(f"benchmarks.people.sets.{name}").load
    return crowd


SETS: dict[str, Callable[[], Crowd]] = {
    "recidivism-people": recidivism,
    "chexpert-readers": of_people("chexpert"),
    "keswani-toxicity": of_people("toxicity"),
    "sentiment-polarity-crowd": of_people("sentiment"),
    "labelme-crowd": of_people("labelme"),
    "digits": digits,
}


def cut_crowd(crowd: Crowd, seed: int) -> tuple[Any, list[Any], list[Any]]:
    """Return the rows of each part, the parts, and their features, reduced by what the first part shows."""
    table, rng = crowd.table, np.random.default_rng(seed)
    if crowd.groups is None:
        rows = split_rows(table.label_idx, SHARES, rng=rng)
    else:
        rows = split_groups(crowd.groups, table.label_idx, SHARES, rng=rng)
    parts = [table.take(part) for part in rows]
    features: list[Any] = [part.features for part in parts]
    if isinstance(features[0], np.ndarray):
        first, rest = crowd.reduce(features[0], np.concatenate(features[1:]))
        features = [first, *np.split(rest, np.cumsum([len(one) for one in features[1:]])[:-1])]
    return rows, parts, features


def one_split(crowd: Crowd, seed: int) -> dict[str, dict[str, float]]:
    """Return for each way accuracy, questions, cost, and what was promised before and after."""
    rows, parts, features = cut_crowd(crowd, seed)
    text = None if crowd.text is None else list(crowd.text)
    team = DeferralClassifier(NET, loss="auto", text=text, random_state=seed)
    groups = None if crowd.groups is None else crowd.groups[rows[0]]
    team.fit(features[0], parts[0].labels, experts=parts[0].answers, groups=groups)
    router = team.team_.calibrate(features[1], parts[1].labels, parts[1].answers, disjoint=True)
    router.conformalize(features[2], parts[2].labels, parts[2].answers, disjoint=True)
    after = _ways(router, features[3], parts[3])
    assert router.panel is not None
    plain = replace(router, law=None, selection=None)
    before = _ways(plain, features[3], parts[3])
    return {name: {**after[name], **_before(before[name])} for name in WAYS}


def _before(way: dict[str, float]) -> dict[str, float]:
    return {f"{name}_before": value for name, value in way.items()}


def _ways(router: Team, features: Any, test: ExpertTable) -> dict[str, dict[str, float]]:
    trial = try_out(router, features, test.labels, test.answers, disjoint=True)
    return {
        way.name: {
            "accuracy": float(way.right.mean()),
            "questions": float(way.questions.mean()),
            "cost": float(way.cost.mean()),
            "gap": float((way.promised - way.right).mean()),
        }
        for way in trial.ways
        if way.promised is not None
    } | {"model": {"accuracy": float(trial.model_correct.mean())}}


def run(names: list[str], n_splits: int = N_SPLITS) -> dict[str, Any]:
    """Return the means over the splits, and of the gaps the standard errors."""
    figures: dict[str, Any] = {}
    for name in names:
        crowd, began = SETS[name](), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            splits = [one_split(crowd, seed) for seed in range(n_splits)]
        figures[name] = {way: _summary([split[way] for split in splits]) for way in WAYS}
        figures[name]["cpu_s"] = round(time.process_time() - began, 1)
        print(name, json.dumps(figures[name]), flush=True)
    return figures


def _summary(splits: list[dict[str, float]]) -> dict[str, float]:
    means = {key: round(float(np.mean([split[key] for split in splits])), 4) for key in splits[0]}
    errors = {
        f"{key}_se": round(float(np.std([split[key] for split in splits], ddof=1) / np.sqrt(len(splits))), 4)
        for key in ("gap", "gap_before")
    }
    return means | errors


def speed() -> dict[str, float]:
    """Return CPU seconds of asking one after the other: 20,000 cases, 25 experts, and 5,000 cases, 900 experts."""
    seconds: dict[str, float] = {}
    for n_classes, n_experts, n_cases in ((2, 25, 20_000), (3, 25, 20_000), (10, 25, 20_000), (2, 900, 5_000)):
        rng = np.random.default_rng(0)
        model = rng.dirichlet(np.full(n_classes, 0.7), size=n_cases)
        labels = (model.cumsum(axis=1) < rng.random((n_cases, 1))).sum(axis=1).clip(0, n_classes - 1)
        skill = rng.beta(6, 3, size=(n_cases, n_experts))
        wrong = (labels[:, None] + rng.integers(1, n_classes, size=skill.shape)) % n_classes
        answers = np.where(rng.random(skill.shape) < skill, labels[:, None], wrong)
        began = time.process_time()
        ask_in_turn(answers, skill, model, terms=Terms(fees=np.full(n_experts, 0.02)))
        what = f"{n_cases:,} cases, {n_experts} experts, {n_classes} classes"
        seconds[what] = round(time.process_time() - began, 2)
    return seconds


def main() -> None:
    """Measure, and keep the figures in benchmarks/results/asking.json."""
    names = [name for name in sys.argv[1:] or SETS if name != "speed"]
    target = Path(__file__).parent / "results" / "asking.json"
    kept = json.loads(target.read_text())["figures"] if target.is_file() else {}
    facts = {
        "command": "OMP_NUM_THREADS=1 python -m benchmarks.asking",
        "what": f"net={NET!r}, loss='auto', {N_SPLITS} splits (seeds 0 to {N_SPLITS - 1}); means over the splits. gap: "
        "promised minus kept over all cases of the test part, with its standard error over the splits; *_before: "
        "without calibration after selection and of verdicts. cost: errors and 0.01 a question.",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, one thread",
        "versions": library_versions(),
        "cpu_seconds": speed(),
        "figures": kept | run(names),
    }
    target.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
