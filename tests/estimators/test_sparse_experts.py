"""Answers of a sparse table in fit and after: told by the table's classes and names, whatever part they are of."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from sklearn.model_selection import cross_validate

from defero import DeferralClassifier, ExpertTable, InputError, TwoStageDeferral
from defero.core.answers import Answers

WORDS = np.array(["a", "b", "c", None], dtype=object)


def cases(n_items=240, *, seed=0):
    """Three classes seen through noise; ann is right three times in four, bob always says "b" for "c"."""
    rng = np.random.default_rng(seed)
    label_idx = rng.integers(3, size=n_items)
    ann = np.where(rng.random(n_items) < 0.75, label_idx, rng.integers(3, size=n_items))
    bob = np.where(label_idx == 2, 1, label_idx)
    codes = np.stack([ann, bob], axis=1)
    codes[rng.random(codes.shape) < 0.4] = -1
    features = np.eye(3)[label_idx] + rng.normal(size=(n_items, 3))
    return features, label_idx, codes


def tables(n_items=240, *, seed=0):
    features, label_idx, codes = cases(n_items, seed=seed)
    given = {"features": features, "classes": WORDS[:3], "expert_names": ["ann", "bob"]}
    frame = pd.DataFrame(WORDS[codes], columns=["ann", "bob"], dtype=object)
    return (
        ExpertTable(WORDS[label_idx], scipy.sparse.csr_array(codes + 1), **given),
        ExpertTable(WORDS[label_idx], frame, **given),
    )


@pytest.mark.parametrize("build", [lambda: DeferralClassifier("linear", loss="ova"), TwoStageDeferral])
def test_a_sparse_table_does_all_that_a_frame_does(build):
    teams, scores = [], []
    for table in tables():
        train, held, panels, test = table.split(0.5, 0.2, 0.2, 0.1, random_state=0)
        team = build().fit(train.features, train.labels, experts=train.answers)
        team.calibrate(held.features, held.labels, experts=held.answers)
        team.conformalize(panels.features, panels.labels, experts=panels.answers, alpha=0.3)
        assert team.expert_names_ == ("ann", "bob")
        teams.append(team)
        scores.append(team.score(test.features, test.labels, experts=test.answers))
        asked = team.answer(test.features, test.answers)
        scores.append((asked.label == test.labels).mean())
    assert scores[:2] == scores[2:]
    new, _, _ = cases(50, seed=1)
    one, other = teams
    assert np.array_equal(one.predict_expert_proba(new), other.predict_expert_proba(new))
    assert np.array_equal(one.predict_set(new).mask, other.predict_set(new).mask)


def test_a_part_without_a_class_is_told_by_the_table_s_classes():
    """Numbers of a, b, c read among a, c would make bob's "b" a "c", and bob right on every such item."""
    sparse, frame = tables()
    kept = sparse.labels != "b"
    for table in (sparse, frame):
        part = table.take(kept)
        with pytest.raises(InputError, match=r"^experts: row \d+, column \w+: answer 'b' is not one of a, c\."):
            TwoStageDeferral().fit(part.features, part.labels, experts=part.answers)
    never = kept & ~(sparse.answer_idx == 1).any(axis=1)
    found = [
        TwoStageDeferral().fit(part.features, part.labels, experts=part.answers)
        for part in (sparse.take(never), frame.take(never))
    ]
    new, _, _ = cases(50, seed=1)
    assert found[0].classes_.tolist() == ["a", "c"]
    assert np.array_equal(found[0].predict_expert_proba(new), found[1].predict_expert_proba(new))


def test_a_bare_matrix_counts_the_classes_of_y():
    features, label_idx, codes = cases()
    matrix = scipy.sparse.csr_array(codes + 1)
    team = TwoStageDeferral().fit(features, WORDS[label_idx], experts=matrix)
    assert team.expert_names_ == ("expert_0", "expert_1")
    dense = TwoStageDeferral().fit(features, WORDS[label_idx], experts=WORDS[codes])
    assert np.array_equal(team.predict_expert_proba(features), dense.predict_expert_proba(features))
    kept = np.flatnonzero(label_idx != 1)
    with pytest.raises(InputError, match=r"from 1 to 2, got 3; .* pass the answers of an ExpertTable or a data frame"):
        TwoStageDeferral().fit(features[kept], WORDS[label_idx[kept]], experts=matrix[kept])


def test_experts_are_found_by_name():
    table, _ = tables()
    team = TwoStageDeferral().fit(table.features, table.labels, experts=table.answers)
    turned = ExpertTable(
        table.labels,
        scipy.sparse.csr_array(table.answer_idx[:, ::-1] + 1),
        classes=table.classes,
        expert_names=["bob", "ann"],
    )
    usual = team.score(table.features, table.labels, experts=table.answers)
    assert team.score(table.features, table.labels, experts=turned.answers) == usual
    strange = ExpertTable(table.labels, table.answers, classes=table.classes, expert_names=["ann", "cas"])
    with pytest.raises(InputError, match=r"no expert 'cas'.* the experts of fit \(ann, bob\), got ann, cas"):
        team.score(table.features, table.labels, experts=strange.answers)


def test_cross_validation_cuts_them():
    sparse, frame = tables()
    found = []
    for table in (sparse, frame):
        with sklearn.config_context(enable_metadata_routing=True):
            found.append(
                cross_validate(
                    TwoStageDeferral(), table.features, table.labels, params={"experts": table.answers}, cv=3
                )
            )
    assert np.array_equal(found[0]["test_score"], found[1]["test_score"])


def test_rows_are_chosen_as_those_of_an_array():
    table, _ = tables(20)
    answers, codes = table.answers, table.answer_idx
    mask = np.arange(20) % 3 == 0
    for rows in ([3, 3, -1], mask, slice(2, 9), np.array([], dtype=int)):
        assert isinstance(answers[rows], Answers)
        assert np.array_equal(answers[rows].dense(), codes[rows])
        assert np.array_equal(answers[rows, ...].dense(), codes[rows])
    assert answers[4].dense().tolist() == [codes[4].tolist()]
    assert len(answers[mask]) == mask.sum()
    with pytest.raises(IndexError, match="answers are chosen by item alone"):
        answers[rows, 0]
