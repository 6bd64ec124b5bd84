"""Members with no score, or few: what fit makes of them, and what it says."""

import numpy as np
import pandas as pd
import pytest
from scored import fitted

from defero import ExpertPool


def table(n=400):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"task": rng.choice(["law", "maths"], n), "words": rng.uniform(5, 90, n)})
    right = {"small": 0.5, "large": np.where(frame["task"] == "law", 0.9, 0.7), "medium": 0.6}
    for name, p in right.items():
        frame[name] = (rng.random(n) < p).astype(float)
    return frame


@pytest.mark.parametrize("place", [0, 2])
def test_a_member_without_scores_is_the_average_member(place, tmp_path):
    frame = table()
    names = ["small", "large", "medium"]
    scores = frame[names].copy()
    scores.insert(place, "qwen", np.nan)
    items = frame[["task", "words"]]
    pool = ExpertPool().fit(items, scores, prices={**dict.fromkeys(names, 1.0), "qwen": 2.0})
    assert list(pool.team_.expert_names) == list(scores)
    expected = pd.DataFrame(pool.predict_expert_proba(items), columns=list(scores))
    np.testing.assert_allclose(expected["qwen"], expected[names].mean(axis=1), atol=0.05)
    decision = pool.decide(items)
    assert "qwen" not in set(decision.name)
    highest = expected.max(axis=1)
    assert np.abs(decision.p_right - highest).mean() < 0.1
    assert pool.team_.prices.predict(pool.team_.features(items))[0].tolist() == [
        2.0 if name == "qwen" else 1.0 for name in scores
    ]
    pool.save(tmp_path / "pool")
    np.testing.assert_allclose(type(pool.team_).load(tmp_path / "pool").scores(items).expert_proba, expected)


def test_fit_tells_members_without_scores_and_with_few():
    frame = table()
    frame["qwen"] = np.nan
    frame.loc[20:, "medium"] = np.nan
    study = fitted(frame, expert_names=["small", "large", "medium", "qwen"])
    none = [note for note in study.notes if "qwen" in note]
    assert len(none) == 1
    assert "no score" in none[0]
    few = [note for note in study.notes if "medium" in note]
    count = int(study.team.answer_counts[2])
    assert 0 < count < 30
    assert f"medium {count}" in few[0]
