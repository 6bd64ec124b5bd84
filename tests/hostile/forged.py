"""Model folders of every kind, and forgeries of them: one odd value each, sealed as a stranger would seal it."""

import copy
import hashlib
import json
import warnings

import numpy as np
import pandas as pd
from mutations import VALUES, places
from safetensors.numpy import load, save
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from defero import DeferralClassifier, Team, Terms, TwoStageDeferral
from defero.data.model_folder import MANIFEST, WEIGHTS

NUMBERS = ["x0", "x1", "x2"]
COLUMNS = [*NUMBERS, "site", "note"]
EXPERTS = ["ann", "bob", "cat", "dan", "eve"]
CLASSES = np.array(["high", "low", "none"])
WORDS = ["pale", "small", "round", "flat", "wide", "brown", "itchy", "new", "old", "smooth", "rough", "red"]
TERMS = Terms(fees={"ann": 0.02, "eve": 0.05}, cost_matrix=1.0 - np.eye(3) + np.eye(3, k=1))


def cases(n, *, seed):
    """Return cases, labels and answers: ann is right in two corners, and dan says what cat says."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    label = np.select([x[:, 0] > 0.4, x[:, 0] < -0.4], [0, 2], 1)
    odds = 1.2 + 0.8 * rng.normal(size=(n, 1)) + np.zeros((n, 5))
    odds[:, 0] += 2.5 * np.where((x[:, 1] > 0) == (x[:, 2] > 0), 1, -1)
    right = rng.random((n, 5)) < 1 / (1 + np.exp(-odds))
    said = np.where(right, label[:, None], (label[:, None] + rng.integers(1, 3, (n, 5))) % 3)
    said[:, 3] = said[:, 2]
    frame = pd.DataFrame(x, columns=NUMBERS).assign(site=np.resize(["arm", "leg", "trunk"], n))
    words = rng.choice(WORDS, (n, 4))
    words[:, 0] = np.where(label == 0, "dark", words[:, 0])
    frame["note"] = [" ".join(row) for row in words]
    return frame, CLASSES[label], CLASSES[said]


def save_kinds(folder):
    """Save a team of every kind that loads without torch: the law on a table, kept classifiers, a linear net."""
    frame, labels, said = cases(1_000, seed=0)
    arrays = frame[NUMBERS].to_numpy()
    kept = {
        "forests": TwoStageDeferral(RandomForestClassifier(4, max_depth=4), RandomForestClassifier(3, max_depth=3)),
        "linear": TwoStageDeferral(LogisticRegression(), LogisticRegression()),
        "shared": TwoStageDeferral(LogisticRegression()),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, estimator in kept.items():
            estimator.fit(arrays[:300], labels[:300], experts=said[:300]).save(folder / name)
        net = DeferralClassifier("linear", random_state=0).fit(arrays[:300], labels[:300], experts=said[:300])
        net.calibrate(arrays[300:500], labels[300:500], experts=said[300:500]).save(folder / "net")
        answers = pd.DataFrame(said, columns=EXPERTS)
        old, held_out, of_eve, settled = (slice(0, 700), slice(700, 850), slice(850, 870), slice(870, 880))
        estimator = DeferralClassifier(text="note", random_state=0)
        team = estimator.fit(frame[old], labels[old], experts=answers[old][EXPERTS[:4]]).team_
        team.calibrate(frame[held_out], labels[held_out], answers[held_out][EXPERTS[:4]])
        team.add_expert("eve", frame[of_eve], labels[of_eve], said[of_eve, 4])
        team.partial_fit(frame[settled], labels[settled], answers[settled])
        new, truth, heard = cases(300, seed=1)
        team.conformalize(new, truth, heard, alpha=0.2, terms=TERMS).save(folder / "table")


HUGE = ["x" * 1_000_000, list(range(100_000)), {str(k): k for k in range(50_000)}, [[0.5] * 300] * 300, "9" * 100_000]
ARRAYS = {
    "nan": lambda array, rng: _put(array.astype(np.float64), np.nan, rng),
    "infinity": lambda array, rng: _put(array.astype(np.float64), -np.inf, rng),
    "huge": lambda array, rng: _put(array, 1e300 if array.dtype.kind == "f" else 10**9, rng),
    "next": lambda array, rng: _put(array, int(array.max(initial=0)) + 1, rng),
    "negative": lambda array, rng: _put(array, -1, rng),
    "zero": lambda array, rng: np.zeros_like(array),
    "constant": lambda array, rng: np.full_like(array, array.flat[0] if array.size else 0),
    "reversed": lambda array, rng: array[::-1].copy(),
    "shuffled": lambda array, rng: rng.permutation(array.ravel()).reshape(array.shape),
    "scaled": lambda array, rng: (array * np.asarray(-(2.0**40))).astype(array.dtype),
    "shorter": lambda array, rng: array[:-1].copy(),
    "longer": lambda array, rng: np.concatenate([array, array[-1:]]),
    "empty": lambda array, rng: array[:0].copy(),
    "flat": lambda array, rng: array.ravel(),
    "deeper": lambda array, rng: array[None].copy(),
    "wide": lambda array, rng: np.resize(array, (1, max(array.size, 1) * 64)),
    "turned": lambda array, rng: np.ascontiguousarray(array.T),
    "many": lambda array, rng: np.resize(array, 1 << 20) if array.size else np.zeros(1 << 20, array.dtype),
    "float16": lambda array, rng: array.astype(np.float16),
    "float32": lambda array, rng: array.astype(np.float32),
    "int8": lambda array, rng: array.astype(np.int8),
    "uint64": lambda array, rng: array.astype(np.int64).astype(np.uint64),
    "bool": lambda array, rng: array.astype(np.bool_),
}


def _put(array, value, rng):
    array = array.copy()
    if array.size:
        array.flat[rng.integers(array.size)] = np.asarray(value).astype(array.dtype)
    return array


def forged(manifest, arrays, rng):
    """Return a changed manifest and arrays, and what was done."""
    manifest, arrays = copy.deepcopy(manifest), dict(arrays)
    every = [path for path in places(manifest) if path[0] not in ("checksum", "files", "format", "versions")]
    way = rng.choice(["array", "array", "array", "value", "huge", "missing", "nested", "more", "moved"])
    if way == "array":
        name, how = str(rng.choice(sorted(arrays))), str(rng.choice(sorted(ARRAYS)))
        with np.errstate(all="ignore"):
            arrays[name] = ARRAYS[how](arrays[name], rng)
        if rng.random() < 0.9:
            _set(manifest, name, f"{arrays[name].dtype} {arrays[name].shape}")
        return manifest, arrays, f"array {how}"
    path = every[rng.integers(len(every))]
    *above, key = path
    inner = _inner(manifest, above)
    if way == "missing":
        del inner[key]
    elif way == "value":
        inner[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
    elif way == "huge":
        inner[key] = copy.deepcopy(HUGE[rng.integers(len(HUGE))])
    elif way == "nested":
        for _ in range(int(rng.choice([1, 30, 900]))):
            inner[key] = [inner[key]]
    elif way == "more" and isinstance(inner, list):
        inner.extend(copy.deepcopy(inner) * int(rng.choice([1, 50])))
    elif way == "more":
        inner["stranger"] = copy.deepcopy(inner[key])
    else:
        inner[key] = copy.deepcopy(_inner(manifest, every[rng.integers(len(every))]))
    return manifest, arrays, way


def _inner(manifest, path):
    for step in path:
        manifest = manifest[step]
    return manifest


def _set(manifest, name, words):
    *above, key = [int(step) if step.isdigit() else step for step in name.replace("[", ".").replace("]", "").split(".")]
    _inner(manifest, above)[key] = words


def forge(source, target, rng):
    """Write a sealed forgery of a model folder, and return what was done."""
    manifest, arrays, how = forged(
        json.loads((source / MANIFEST).read_text()), load((source / WEIGHTS).read_bytes()), rng
    )
    weights = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    manifest["files"] = {WEIGHTS: hashlib.sha256(weights).hexdigest()}
    manifest.pop("checksum", None)
    plain = json.dumps(manifest, ensure_ascii=False).encode("utf-8", "surrogatepass")
    target.mkdir(exist_ok=True)
    (target / WEIGHTS).write_bytes(weights)
    (target / MANIFEST).write_text(json.dumps({**manifest, "checksum": hashlib.sha256(plain).hexdigest()}))
    return how


def use(folder):
    """Load a team and let it work; return what is wrong with its probabilities, "" for nothing."""
    frame, _, said = cases(6, seed=2)
    team = Team.load(folder)
    items = frame[NUMBERS].to_numpy() if team.recipe is None else frame[COLUMNS]
    scores, n_experts = team.scores(items), len(team.expert_names)
    decision = team.decide(items)
    answers = np.full((6, n_experts), None, dtype=object)
    answers[:3, : min(n_experts, 5)] = said[:3, :n_experts]
    answers[~np.isin(answers.astype(str), team.classes.astype(str))] = None
    step = team.next_step(items, answers=answers)
    report = team.answer(items, answers)
    if team.panel is not None and not team.panel.useless:
        team.predict_set(items)
    named = {
        "class_proba": scores.class_proba,
        "expert_proba": scores.expert_proba,
        "p_right": decision.p_right,
        "next": step.p_right,
        "answer": report.confidence,
    }
    return ", ".join(name for name, proba in named.items() if not _is_proba(proba))


def _is_proba(proba):
    return proba is None or bool(np.isfinite(proba).all() and (proba >= 0).all() and (proba <= 1 + 1e-9).all())
