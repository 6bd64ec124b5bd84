"""Team: features to scores to decisions to answers, on anybody's probabilities or a model of ours."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from router_team import small_table

from defero import DeferralClassifier
from defero.core.errors import InputError
from defero.decide.terms import Terms
from defero.team import Team, judge

CLASS_PROBA = [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]
EXPERT_PROBA = [[0.8, 0.7], [0.8, 0.7], [0.8, 0.85]]


@pytest.fixture(scope="module")
def cases():
    return small_table()


@pytest.fixture
def given():
    return Team.from_probabilities(CLASS_PROBA, EXPERT_PROBA, classes=["a", "b"], expert_names=["ann", "bob"])


@pytest.fixture(scope="module")
def router(cases):
    team = DeferralClassifier("linear", loss="decoupled").fit(cases.features, cases.labels, experts=cases.answers)
    return team.team_


def test_arrays_of_probabilities(given):
    assert given.decide().name.tolist() == ["model", "ann", "bob"]
    assert given.predict().tolist() == ["a", "a", "b"]
    assert given.decide(terms=Terms(fees=[0.2, 0.0], available=[True, False])).name.tolist() == [
        "model",
        "ann",
        "model",
    ]


def test_names_and_classes_have_defaults():
    router = Team.from_probabilities(CLASS_PROBA, EXPERT_PROBA)
    assert router.expert_names == ("expert_0", "expert_1")
    assert router.predict().tolist() == [0, 0, 1]


def test_functions_of_the_features():
    router = Team.from_probabilities(
        lambda X: np.stack([X[:, 0], 1 - X[:, 0]], axis=1), lambda X: X[:, 1:], classes=[-1, 1], expert_names=["ann"]
    )
    X = np.array([[0.9, 0.8], [0.4, 0.7]])
    assert router.decide(X).name.tolist() == ["model", "ann"]
    assert router.predict(X).tolist() == [-1, 1]
    assert router.score(X, [-1, -1], experts=[[1], [-1]]) == 1.0


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((CLASS_PROBA, lambda X: X), {}, "class_proba and expert_proba must both be functions, or both be arrays"),
        (
            (len, len),
            {"classes": [0, 1]},
            "classes and expert_names must be given where class_proba and expert_proba are",
        ),
        ((CLASS_PROBA, EXPERT_PROBA), {"classes": ["b", "a"]}, "classes must be distinct and sorted .*, got b, a"),
        ((CLASS_PROBA, EXPERT_PROBA), {"classes": ["a", "a"]}, "classes must be distinct and sorted .*, got a, a"),
        ((CLASS_PROBA, EXPERT_PROBA), {"classes": [0, 1, 2]}, "classes must be 2 labels, one per column .*, got 3"),
        ((CLASS_PROBA, EXPERT_PROBA), {"expert_names": ["a"]}, "expert_names must be 2 names, one per column, got 1"),
        (
            (CLASS_PROBA, EXPERT_PROBA),
            {"expert_names": ["a", "a"]},
            "expert_names must be distinct, got a more than once",
        ),
        (
            (CLASS_PROBA, EXPERT_PROBA[:2]),
            {},
            r"expert_proba must have shape \(3, J\) like class_proba, got \(2, ",
        ),
        (([[2.0, -1.0]], [[0.5]]), {}, "class_proba must lie in .0, 1., got 2 .* pass probabilities, not logits"),
    ],
)
def test_wrong_probabilities_are_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        Team.from_probabilities(*arguments, **options)


def test_a_function_with_other_columns_is_refused():
    router = Team.from_probabilities(
        lambda X: CLASS_PROBA, lambda X: EXPERT_PROBA, classes=["a", "b"], expert_names=["x"]
    )
    with pytest.raises(InputError, match="expected 2 class and 1 expert columns, got 2 and 2"):
        router.decide(None)


def test_arrays_take_no_features(given):
    with pytest.raises(InputError, match=r"X: this team was built from arrays for 3 items, so leave X out \(None\)"):
        given.decide([[1.0]])


@pytest.mark.parametrize("functions", [False, True])
def test_somebody_elses_model_is_not_saved(functions, tmp_path):
    parts = (lambda X: X, lambda X: X) if functions else (CLASS_PROBA, EXPERT_PROBA)
    router = Team.from_probabilities(*parts, classes=["a", "b"], expert_names=["ann", "bob"])
    with pytest.raises(InputError, match="save: this team was built from your own probabilities"):
        router.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_only_recorded_experts_are_asked(given):
    answers = [["b", None], [None, "b"], [None, None]]
    answer = given.answer(None, answers)
    assert answer.label.tolist() == ["a", "b", "b"]
    assert answer.heard.tolist() == [[False, False], [False, True], [False, False]]
    assert answer.by_model.tolist() == [True, False, True]
    assert answer.confidence.tolist() == [0.9, 0.7, 0.8]
    assert given.score(None, ["a", "b", "b"], experts=answers) == 1.0
    assert given.score(None, ["a", "b", "b"]) == pytest.approx(2 / 3)
    assert given.score(None, ["a", "b", "b"], sample_weight=[1, 0, 1]) == 1.0


def test_the_absent_are_not_asked_even_where_they_answered(given):
    answer = given.answer(None, [["b", "b"]] * 3, terms=Terms(available=[False, True]))
    assert answer.heard.tolist() == [[False, False], [False, True], [False, True]]


def test_the_order_of_the_experts_columns_does_not_matter(router, cases):
    plain = router.answer(cases.features, cases.answers)
    turned = router.answer(cases.features, cases.answers[["dr_c", "dr_a", "dr_b"]])
    assert np.array_equal(plain.label, turned.label)
    assert np.array_equal(plain.heard, turned.heard)
    numbered = replace(router, expert_names=("0", "1", "2"))
    answers = cases.answers.set_axis([0, 1, 2], axis=1)
    assert np.array_equal(numbered.answer(cases.features, answers[[2, 0, 1]]).heard, plain.heard)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["dr_a", "dr_b", "dr_x"], r"experts: no expert 'dr_x'.*of fit \(dr_a, dr_b, dr_c\), got dr_a, dr_b, dr_x"),
        (
            ["dr_a", "dr_b"],
            r"experts: expected the experts of fit \(dr_a, dr_b, dr_c\), got dr_a, dr_b; leave a column",
        ),
        (["dr_a", "dr_b", "dr_b"], "got dr_a, dr_b, dr_b; leave a column blank for an expert who was not asked"),
    ],
)
def test_other_experts_than_at_fit_are_refused(router, cases, columns, message):
    answers = pd.DataFrame([["benign"] * len(columns)] * len(cases), columns=columns)
    with pytest.raises(InputError, match=message):
        router.score(cases.features, cases.labels, answers)


@pytest.mark.parametrize("shape", [(120, 2), (120, 4), (119, 3)])
def test_another_number_of_answers_is_refused(router, cases, shape):
    with pytest.raises(
        InputError, match=r"answers must have shape \(120, 3\), one row per item and one column .*, got"
    ):
        router.answer(cases.features, np.full(shape, "benign"))


def test_an_unknown_label_or_answer_is_refused(router, cases):
    with pytest.raises(InputError, match="y: row 0: label 'unsure' is not one of benign, malign"):
        router.score(cases.features, ["unsure"] * 120)
    with pytest.raises(InputError, match="answers: row 0, column dr_a: answer 'unsure' is not one of benign, malign"):
        router.answer(cases.features, cases.answers.assign(dr_a="unsure"))


def test_other_features_than_at_fit_are_refused(router, cases):
    with pytest.raises(InputError, match="X has 3 features, but fit saw 2"):
        router.decide(np.zeros((1, 3)))
    with pytest.raises(InputError, match=r"X must have two axes \(n, columns\), got shape \(2,\)"):
        router.decide(np.zeros(2))
    with pytest.raises(InputError, match="X must be finite, got nan at row 0, column 1"):
        router.decide([[0.0, np.nan]])


def test_a_model_of_a_table_wants_a_table(cases):
    frame = pd.DataFrame(cases.features, columns=["age", "size"]).assign(site=np.tile(["arm", "leg"], 60))
    team = DeferralClassifier("linear", loss="ova").fit(frame, cases.labels, experts=cases.answers)
    router = team.team_
    assert np.array_equal(router.scores(frame[["site", "size", "age"]]).expert_raw, router.scores(frame).expert_raw)
    with pytest.raises(
        InputError, match=r"X must be a DataFrame with the columns of fit \(age, site, size\), got ndarr"
    ):
        router.decide(frame.to_numpy())
    with pytest.raises(InputError, match="X: no column 'site', which training had; did you mean 'sites'"):
        router.decide(frame.rename(columns={"site": "sites"}))


def test_an_expert_without_answers_is_the_mean_of_the_others(cases):
    answers = cases.answers.assign(dr_b=None)
    with pytest.warns(UserWarning, match="no answer of dr_b in the training rows"):
        team = DeferralClassifier("linear", loss="ova").fit(cases.features, cases.labels, experts=answers)
    proba = team.predict_expert_proba(cases.features)
    np.testing.assert_allclose(proba[:, 1], proba[:, [0, 2]].mean(axis=1))


def test_a_judge_counts_what_score_counts(router, cases):
    record = judge(router, cases.features, cases.labels, cases.answers, disjoint=True)
    assert record.team.value == router.score(cases.features, cases.labels, cases.answers)
    assert record.model.value == np.mean(router.predict(cases.features) == cases.labels)
    assert record.recorded_answers_per_item == pytest.approx(cases.observed.sum() / 120)


def test_rows_that_a_stage_has_used_are_remembered(router, cases):
    assert len(router.seen["fit"]) == 120
    more = router.mark_seen("calibrate", cases.features[:5] + 1, np.zeros(5, int), np.zeros((5, 3), int))
    assert len(more.all_seen()) == 125
    assert len(router.all_seen()) == 120
