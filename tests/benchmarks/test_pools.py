"""The benchmark on pools: splits without shared questions, figures by hand, a page that shows every system."""

import json

import numpy as np
import pandas as pd
import pytest
from benchmarks.pools.__main__ import RESULTS, read
from benchmarks.pools.page import page
from benchmarks.pools.sets import PoolSet
from benchmarks.pools.systems import SYSTEMS
from benchmarks.pools.trial import quality_figures, run_trial


def tiny():
    rng = np.random.default_rng(0)
    task = rng.choice(["maths", "poems"], 240)
    question = [f"{one} number {k % 200} of {k % 7}" for k, one in enumerate(task)]
    right = np.column_stack([task == "maths", task == "poems"]) * 0.8 + 0.1
    scores = (rng.random(right.shape) < right).astype(float)
    return PoolSet(
        "tiny", pd.DataFrame({"task": task, "question": question}), scores, ("a", "b"), np.tile([1.0, 2.0], (240, 1))
    )


def test_equal_questions_are_on_one_side():
    data = tiny()
    train, test = data.split(3)
    assert len(train) + len(test) == len(data.table)
    assert not set(data.table["question"].iloc[train]) & set(data.table["question"].iloc[test])


def test_quality_by_hand():
    expected, scores = np.array([[0.9, 0.1], [0.2, 0.3]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    figures = quality_figures(expected, scores, best=1)
    assert figures == {"quality": 0.5, "best_single": 0.0, "oracle": 1.0, "gap_share": 0.5}


@pytest.mark.parametrize("name", ["best single", "best of the task", "ExpertPool"])
def test_a_trial_is_a_line_of_json(name):
    line = json.loads(json.dumps(run_trial(tiny(), SYSTEMS[name], 0, task=True)))
    assert line["oracle"] >= line["quality"]
    assert {"area", "promised", "cpu_s"} <= set(line)
    if name != "best single":
        assert line["quality"] > 0.7


def test_the_page_is_that_of_the_kept_trials():
    assert page(read(RESULTS / "pools.jsonl")) == (RESULTS / "pools.md").read_text()
