"""RouterDC's protocol (NeurIPS 2024) on its own files: five tasks to learn from, their test parts, and three new tasks.

    python -m benchmarks.pools --studies "router dc"

The tasks of training and test have one name each, such as gsm8k. Figures are means over tasks. The settings of
the regression come from `llm_routing_9` and from the training parts.
"""

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.pools.sets import PoolSet
from defero import ExpertPool
from defero.core.checks.arrays import FloatArray

TRAIN = ("gsm8k-train", "humaneval_train", "arc_challenge_train", "cmmlu_train", "mmlu_train")
SEEN = ("gsm8k-test", "humaneval_test", "arc_challenge_test", "cmmlu_test", "mmlu_test")
UNSEEN = ("MATH_prealgebra", "mbpp", "ceval")
SEEDS = 3
WORDS, CATEGORY = "question", "task"
READS = {"words and category": [CATEGORY, WORDS], "words": [WORDS], "category": [CATEGORY]}
PUBLISHED = {"seen": 58.54, "unseen": 45.85}
"""Recalled from the paper, not read again."""


def run_router_dc(data: PoolSet, seed: int) -> list[dict[str, Any]]:
    """Return the quality on each task by what the pool reads, and that of the best member, of all and of each task."""
    raw = data.table["task"].to_numpy(dtype=str)
    table = data.table.assign(task=data.table["task"].str.replace(r"[_-](train|test)$", "", regex=True))
    train = np.flatnonzero(np.isin(raw, TRAIN))
    test = np.flatnonzero(np.isin(raw, SEEN + UNSEEN))
    expected = {"best single": np.tile(data.scores[train].mean(axis=0), (len(test), 1))}
    for reads, columns in READS.items():
        pool = ExpertPool(text=WORDS if WORDS in columns else None, random_state=seed)
        pool.fit(table.iloc[train][columns], data.scores[train], expert_names=data.expert_names)
        expected[reads] = pool.predict_expert_proba(table.iloc[test][columns])
    means = pd.DataFrame(data.scores[test]).groupby(raw[test]).mean()
    expected["best member of each task, in hindsight"] = means.loc[raw[test]].to_numpy()
    return [
        {
            "study": "router dc",
            "set": data.name,
            "system": system,
            "split": seed,
            "n_train": len(train),
            **_figures(values, data.scores[test], raw[test]),
        }
        for system, values in expected.items()
    ]


def _figures(expected: FloatArray, scores: FloatArray, task: Any) -> dict[str, Any]:
    quality = scores[np.arange(len(scores)), expected.argmax(axis=1)]
    by_task = {one: round(100 * float(quality[task == one].mean()), 3) for one in SEEN + UNSEEN}
    return {
        "seen": round(float(np.mean([by_task[one] for one in SEEN])), 3),
        "unseen": round(float(np.mean([by_task[one] for one in UNSEEN])), 3),
        "tasks": by_task,
    }
