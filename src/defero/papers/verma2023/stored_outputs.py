"""What the paper's authors stored of their runs: network outputs, expert answers and labels on the test set."""

import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from defero.core.checks import BoolArray, FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.scores import split_columns

ROOT_VARIABLE = "DEFERO_DATA"
FOLDER = "verma2023_outputs"


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


@dataclass(frozen=True, eq=False)
class StoredRun:
    """One run on its test set of n items.

    Attributes
    ----------
    entry : RunEntry
    class_logits, expert_logits : (n, K), (n, J)
        The float32 numbers of the file, widened without loss.
    answers : (n, J) int
    labels : (n,) int
    """

    entry: RunEntry
    class_logits: FloatArray
    expert_logits: FloatArray
    answers: IntArray
    labels: IntArray

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def expert_correct(self) -> BoolArray:
        """(n, J): was expert j right?"""
        return self.answers == self.labels[:, None]


def outputs_folder() -> Path:
    """Return the folder of stored outputs inside the folder that DEFERO_DATA names."""
    root = os.environ.get(ROOT_VARIABLE)
    if not root:
        raise InputError(
            f"{ROOT_VARIABLE} is not set: let it name the folder that holds {FOLDER}/, the authors' stored outputs."
        )
    folder = Path(root) / FOLDER
    if not (folder / "index.json").is_file():
        raise InputError(f"{folder} must hold index.json and the npz files that it names; there is none.")
    return folder


def list_runs(folder: Path, *, seed: int | None = None) -> tuple[RunEntry, ...]:
    """Return the index of the stored runs whose files are there, all of them or those of one seed."""
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    entries = [_entry(raw) for raw in index["entries"]]
    return tuple(entry for entry in entries if (seed is None or entry.seed == seed) and (folder / entry.file).is_file())


def read_run(folder: Path, entry: RunEntry) -> StoredRun:
    """Read one run; only those with logits, one-vs-all and softmax, have class and expert outputs."""
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
    class_logits, expert_logits = split_columns(logits.astype(np.float64), n_classes=entry.n_classes)
    return StoredRun(entry, class_logits, expert_logits, answers.astype(np.int64), labels.astype(np.int64))


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
        published_size={kind: float(found["avg_set_size"]["voting"]) for kind, found in published.items()},
    )
