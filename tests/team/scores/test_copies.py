"""Copies of a prompt stay together; rows of categories alone are items of a kind."""

import numpy as np
import pandas as pd
import pytest
from scored import fitted

from defero import ExpertPool
from defero.data.copies import equal_rows, rows_are_kinds
from defero.estimators.pool import expert_pool
from defero.learn.fit_scores import fit_scores


def prompts(n=60, copies=4):
    rng = np.random.default_rng(0)
    text = np.repeat([f"write a short poem on number {k}" for k in range(n)], copies)
    return pd.DataFrame({"prompt": text, "a": rng.integers(0, 2, n * copies), "b": rng.integers(0, 2, n * copies)})


@pytest.mark.parametrize("copies", [2, 3, 10])
def test_copies_of_a_prompt_are_in_one_part_and_one_fold(copies):
    table = prompts(copies=copies)
    study = fitted(table, expert_names=["a", "b"], text="prompt")
    test = set(study.parts[3].features["prompt"])
    assert len(study.parts[3]) == copies * len(test)
    groups = equal_rows(table[["prompt"]], text=["prompt"])
    assert len(np.unique(groups)) == 60
    assert (groups.reshape(60, copies) == groups.reshape(60, copies)[:, :1]).all()


def test_a_prompt_of_fit_is_not_new_however_often_it_comes():
    table = prompts()
    study = fitted(table, expert_names=["a", "b"], text="prompt")
    n_test = len(study.parts[3])
    again = study.evaluate(pd.concat([table, table, table], ignore_index=True))
    assert again.seen_by_fit == 3 * (len(table) - n_test)
    assert len(again.cases) == 3 * n_test


def test_sentences_and_embeddings_are_copies_and_categories_are_kinds():
    long, short = np.repeat(["how many days has a leap year", "who wrote this old book"], 50), np.repeat(["a", "b"], 50)
    assert not rows_are_kinds(pd.DataFrame({"prompt": long}))
    assert rows_are_kinds(pd.DataFrame({"task": short, "level": np.tile([1, 2], 50)}))
    assert not rows_are_kinds(pd.DataFrame({"task": short}), text=["task"])
    assert not rows_are_kinds(np.repeat([[0.25, 1.5]], 9, axis=0))
    assert rows_are_kinds(np.repeat([[0.0, 1.0], [1.0, 0.0]], 9, axis=0))
    assert not rows_are_kinds(pd.DataFrame({"task": [f"task {k}" for k in range(9)]}))


def test_equal_embeddings_are_held_out_together(monkeypatch):
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(40, 3))
    X, seen = np.repeat(distinct, 6, axis=0), []

    def fit(features, scores, *, columns, fold):
        seen.extend(features[fold == f] for f in np.unique(fold))
        return fit_scores(features, scores, columns=columns, fold=fold)

    monkeypatch.setattr(expert_pool, "fit_scores", fit)
    ExpertPool().fit(X, rng.integers(0, 2, (240, 2)))
    assert len(seen) == 5
    for features in seen:
        _, counts = np.unique(features, axis=0, return_counts=True)
        assert (counts == 6).all()
