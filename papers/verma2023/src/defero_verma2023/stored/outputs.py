"""What the paper's authors stored of their runs: network outputs, expert answers and labels on the test set."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from defero import InputError
from defero.datasets import data_folder
from defero_verma2023.measures.team_outputs import TeamOutputs

FOLDER = "verma2023_outputs"
ROOT_VARIABLE = "DEFERO_DATA"
_WHERE = "`defero datasets info verma2023-outputs` says where they come from."
_VOTES = {"standard": "top_expert", "ensemble": "top5"}
_OWN_VOTE = {"naive": "naive_as_run", "regularized": "regularized"}


@dataclass(frozen=True)
class RunEntry:
    """One line of the index.

    Attributes
    ----------
    file : str
        Path of the npz file inside the folder.
    experiment, method : str
        e.g. "cifar10_oracle_withnoise"; "ova", "softmax" or "moe".
    setting_name, setting : str, float
        What the experiment varies, and its value in this run, e.g. "k" and 2.
    seed : int or None
        None where the authors set none.
    n_classes, n_experts : int
    has_logits : bool
        The mixture of experts has allocator weights instead, and a few runs have answers alone.
    published_size : mapping
        "naive" and "regularized" -> the mean set size that the authors published for this run, where they did.
    published : mapping
        What else they published for this run, under the names of `measures.measure`; shares, not percent. The CIFAR-10
        accuracies without a vote are those of the mirrored expert, see docs/explanation/errata.md.
    """

    file: str
    experiment: str
    method: str
    setting_name: str
    setting: float
    seed: int | None
    n_classes: int
    n_experts: int
    has_logits: bool
    published_size: dict[str, float]
    published: dict[str, float] = field(default_factory=dict)


def outputs_folder() -> Path:
    """Return the folder of stored outputs inside the folder of all data sets: DEFERO_DATA, else the user's cache."""
    folder = data_folder() / FOLDER
    if not (folder / "index.json").is_file():
        if not os.environ.get(ROOT_VARIABLE):
            raise InputError(
                f"{ROOT_VARIABLE} is not set: let it name the folder that holds {FOLDER}/, the authors' stored "
                f"outputs, which are not in {folder} either. {_WHERE}"
            )
        raise InputError(f"{folder} must hold index.json and the npz files that it names; there is none. {_WHERE}")
    return folder


def list_runs(folder: Path, *, seed: int | None = None) -> tuple[RunEntry, ...]:
    """Return the index of the stored runs whose files are there, all of them or those of one seed."""
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    entries = [_entry(raw) for raw in index["entries"]]
    return tuple(entry for entry in entries if (seed is None or entry.seed == seed) and (folder / entry.file).is_file())


def read_run(folder: Path, entry: RunEntry) -> TeamOutputs:
    """Read one run, float32 numbers widened without loss; only one-vs-all and softmax have class and expert outputs."""
    if not entry.has_logits:
        raise InputError(f"{entry.file} holds no logits; choose an 'ova' or 'softmax' entry with has_logits.")
    try:
        with np.load(folder / entry.file) as stored:
            logits, answers, labels = (stored[key] for key in ("logits", "expert_preds", "labels"))
    except FileNotFoundError as error:
        raise InputError(f"{folder / entry.file} is not there, although the index names it.") from error
    expected = (len(labels), entry.n_classes + entry.n_experts)
    if logits.shape != expected or answers.shape != (len(labels), entry.n_experts):
        raise InputError(
            f"{entry.file} must hold logits {expected} and answers {(len(labels), entry.n_experts)}, "
            f"got {logits.shape} and {answers.shape}."
        )
    class_logits, expert_logits = np.split(logits.astype(np.float64), [entry.n_classes], axis=1)
    link = entry.method
    return TeamOutputs(link, class_logits, expert_logits, answers.astype(np.int64), labels.astype(np.int64))


def _entry(raw: dict[str, Any]) -> RunEntry:
    published = raw.get("published_conformal") or {}
    return RunEntry(
        file=raw["file"],
        experiment=raw["experiment"],
        method=raw["method"],
        setting_name=raw["config_name"],
        setting=float(raw["config_value"]),
        seed=raw["seed"] if isinstance(raw["seed"], int) else None,
        n_classes=raw["K"],
        n_experts=raw["J"],
        has_logits=bool(raw["has_logits"]) and raw["conf_kind"] == "logits",
        published_size={kind: float(sizes["avg_set_size"]["voting"]) for kind, sizes in published.items()},
        published=published_measures(raw),
    )


def published_measures(raw: Mapping[str, Any]) -> dict[str, float]:
    """Return what was published of one run, from its entry in the index, under the names of `measures.measure`.

    Shares, not percent. Votes are from the authors' one split: "naive:votes.top5.system_accuracy" is that of the run
    with naive sets.

    >>> published_measures({"published_eval": {"coverage": "3 out of4", "system_accuracy": 50.0}})
    {'coverage': 0.75, 'system_accuracy': 0.5}
    """
    measures: dict[str, float] = {}
    result = raw.get("published_eval") or {}
    if "coverage" in result:
        n_kept, total = result["coverage"].split("out of")
        measures["coverage"] = int(n_kept) / int(total)
    for theirs, ours in (("system_accuracy", "system_accuracy"), ("alone_classifier", "class_accuracy")):
        if theirs in result:
            measures[ours] = result[theirs] / 100
    for run, one in (raw.get("published_conformal") or {}).items():
        measures |= {f"{run}:{name}": value for name, value in _conformal(run, one).items()}
    return measures


def _conformal(run: str, one: Mapping[str, Any]) -> dict[str, float]:
    accuracy = one["system_accuracy"]
    names = {"voting": _OWN_VOTE[run], **_VOTES}
    return {
        f"sets.{run}_as_run.size": float(one["avg_set_size"]["voting"]),
        "coverage": float(one["coverage_test"]),
        **{f"votes.{ours}.system_accuracy": float(accuracy[theirs]) for theirs, ours in names.items()},
    }
