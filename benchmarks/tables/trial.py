"""Trial: what a system did on one split, as a line of JSON; and the file of such lines."""

import json
import math
import os
import platform
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables.outcome import Outcome, System
from benchmarks.tables.split import Split
from defero.data.model_folder import library_versions

Line = dict[str, Any]
PLAIN = "plain"
"""The tag of systems that do not change with defero."""


def run_trial(setting: str, system: System, split: Split) -> Line:
    """Run a system on a split; CPU seconds are those of this process."""
    began = time.process_time()
    team, chosen = system.fit(split)
    fitted = time.process_time()
    outcome = team(split.test)
    answered = time.process_time()
    return {
        "set": setting,
        "system": system.name,
        "split": split.seed,
        "n_train": len(split.train),
        "n_test": len(split.test),
        "n_experts": split.train.n_experts,
        **figures(outcome, split),
        "fit_s": round(fitted - began, 2),
        "answer_s": round(answered - fitted, 2),
        "chosen": chosen,
    }


def figures(outcome: Outcome, split: Split) -> Line:
    """Return the accuracy, the questions, what was promised and what was kept."""
    test = split.test
    right, asked = outcome.label_idx(test) == test.label_idx, outcome.expert >= 0
    line: Line = {
        "accuracy": _mean(right),
        "model_accuracy": _mean(outcome.model_idx == test.label_idx),
        "questions": _mean(asked),
        "promised": _mean(outcome.p_right),
        "promised_asked": _mean(outcome.p_right[asked]),
        "kept_asked": _mean(right[asked]),
    }
    if split.truth is not None:
        line |= {
            "true_value": split.truth.value(outcome.expert, outcome.model_idx),
            "true_model": split.truth.value(np.full(len(test), -1), outcome.model_idx),
            "best_model": split.truth.best_model(),
            "best_team": split.truth.best_team(),
        }
    if outcome.in_turn is not None:
        line |= {
            "turn_accuracy": _mean(outcome.in_turn.label_idx == test.label_idx),
            "turn_questions": _mean(outcome.in_turn.questions),
            "turn_promised": _mean(outcome.in_turn.p_right),
        }
    return line


def _mean(values: Any) -> float | None:
    return None if len(values) == 0 else round(float(np.mean(values)), 5)


@dataclass(frozen=True)
class Results:
    """A file of trials. A run that was cut is taken up where it was.

    Attributes
    ----------
    path : Path
    """

    path: Path

    def read(self) -> dict[tuple[str, str, int, str], Line]:
        """Return the trials by (set, system, split, tag); the latest of each."""
        lines: dict[tuple[str, str, int, str], Line] = {}
        for text in self.path.read_text().splitlines() if self.path.is_file() else ():
            try:
                line = json.loads(text)
            except json.JSONDecodeError:  # cut while it was written
                continue
            lines[line["set"], line["system"], line["split"], line["tag"]] = line
        return lines

    def append(self, line: Mapping[str, Any], *, tag: str) -> None:
        """Write a trial at once."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = {**line, "tag": tag, **where()}
        with self.path.open("a") as file:
            file.write(json.dumps(whole, default=_plain) + "\n")

    def rewrite(self, lines: Iterable[Line]) -> None:
        """Replace the file by these lines."""
        self.path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def where() -> Line:
    """Return what a figure depends on beside the data: the code, the packages, the machine."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "commit": commit.stdout.strip() or None,
        "versions": library_versions(),
        "machine": platform.machine(),
        "threads": os.environ.get("OMP_NUM_THREADS"),
    }


def _plain(value: Any) -> Any:
    number = float(value)
    return number if math.isfinite(number) else None
