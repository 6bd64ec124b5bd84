"""Columns that are known only after a call and would become features."""

import numpy as np
import pandas as pd
from scored import fitted

from defero.data.scored_cases import late_columns


def table(n=200):
    rng = np.random.default_rng(0)
    scores = {name: rng.integers(0, 2, n).astype(float) for name in ("gpt", "llama", "qwen")}
    rated = np.where(rng.random(n) < 0.3, np.nan, rng.random(n))
    return pd.DataFrame(
        {
            "task": rng.choice(["law", "maths"], n),
            "words": rng.integers(5, 90, n),
            "share": rng.random(n),
            **scores,
            "phi": rated,
            "gpt_price": 0.01 * rng.random(n),
            "tokens_out": rng.integers(1, 500, n),
        }
    )


def test_scores_prices_and_tokens_of_others_are_told_from_features():
    frame = table()
    features = ["task", "words", "share", "qwen", "phi", "gpt_price", "tokens_out"]
    assert late_columns(frame, features, fees=[]) == {
        "scores": ["qwen", "phi"],
        "prices": ["gpt_price"],
        "figures of a call": ["tokens_out"],
    }
    frame["copy"] = frame["gpt_price"]
    assert late_columns(frame, ["task", "copy"], fees=["gpt_price"]) == {"prices": ["copy"]}
    assert late_columns(frame, ["task", "words", "share"], fees=["gpt_price"]) == {}


def test_fit_names_them_unless_features_are_named():
    frame = table()
    notes = fitted(frame, expert_names=["gpt", "llama"]).notes
    (note,) = [one for one in notes if "qwen" in one]
    assert all(word in note for word in ("qwen", "phi", "gpt_price", "tokens_out", "features"))
    named = fitted(frame, expert_names=["gpt", "llama"], features=["task", "words", "qwen"])
    assert not named.notes
