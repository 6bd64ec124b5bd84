import json
import math
import warnings

import numpy as np
import pytest
from conformal_problems import problems
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from defero.core import ExpertSets, InputError
from defero.core.codec import Packed, pack, unpack
from defero.core.errors import ModelFolderError
from defero.decide.panels import ExpertSetPredictor

TARGETS = ["all-correct", "missed-share", "any-correct"]
PREDICTORS = [lambda alpha, target=target: ExpertSetPredictor(target=target, alpha=alpha) for target in TARGETS]
alphas = st.floats(0.02, 0.98)


def draw_team(n, *, n_experts=4, seed=0):
    rng = np.random.default_rng(seed)
    proba = rng.random((n, n_experts))
    return proba, rng.random((n, n_experts)) < proba


def quietly_fitted(predictor, *data, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return predictor.fit(*data, **more)


@pytest.mark.parametrize("target", TARGETS)
@given(problems(), alphas, st.randoms(use_true_random=False))
def test_permuting_experts_permutes_the_mask(target, problem, alpha, random):
    scores, right = problem
    experts = list(range(scores.shape[1]))
    random.shuffle(experts)
    predictor = ExpertSetPredictor(target=target, alpha=alpha)
    plain = quietly_fitted(predictor, scores, right).predict(scores, fill_empty=False).mask
    shuffled = quietly_fitted(predictor, scores[:, experts], right[:, experts])
    assert np.array_equal(shuffled.predict(scores[:, experts], fill_empty=False).mask, plain[:, experts])


@pytest.mark.parametrize("make", PREDICTORS)
@given(problems(min_items=4), alphas)
def test_filling_only_adds_the_top_expert_to_empty_sets(make, problem, alpha):
    scores, _ = problem
    predictor = quietly_fitted(make(alpha), *problem)
    raw, filled = (predictor.predict(scores, fill_empty=fill) for fill in (False, True))
    empty = ~raw.mask.any(axis=1)
    assert not raw.filled.any()
    assert np.array_equal(filled.filled, empty)
    assert np.array_equal(filled.raw_mask, raw.mask)
    assert np.array_equal(filled.mask[~empty], raw.mask[~empty])
    assert (filled.size[empty] == 1).all()
    assert (scores[filled.mask & empty[:, None]] == scores[empty].max(axis=1)).all()


@pytest.mark.parametrize("make", PREDICTORS)
def test_each_stratum_is_calibrated_as_if_it_were_alone(make):
    proba, correct = draw_team(300)
    strata = np.array(["north", "south", "west"])[np.arange(300) % 3]
    new = draw_team(90, seed=1)[0]
    together = make(0.2).fit(proba, correct, strata=strata).predict(new, strata=strata[:90]).mask
    for stratum in ("north", "south", "west"):
        alone = make(0.2).fit(proba[strata == stratum], correct[strata == stratum])
        assert np.array_equal(together[strata[:90] == stratum], alone.predict(new[strata[:90] == stratum]).mask)


@pytest.mark.parametrize("make", PREDICTORS)
def test_answers_that_were_not_observed_do_not_count(make):
    proba, correct = draw_team(300)
    observed = np.random.default_rng(5).random((300, 4)) < 0.5
    found = make(0.2).fit(proba, correct, observed)
    assert found.thresholds_ == make(0.2).fit(proba, correct & observed).thresholds_
    assert found.n_rows_ == {None: int((correct & observed).any(axis=1).sum())}


def test_a_stratum_that_calibration_did_not_see_gets_full_sets():
    proba, correct = draw_team(100)
    predictor = ExpertSetPredictor(target="any-correct", alpha=0.2).fit(proba, correct, strata=[1, 2] * 50)
    with pytest.warns(UserWarning, match="strata 3 did not occur in calibration: their items get the full set"):
        sets = predictor.predict([[0.9, 0.1, 0.1, 0.1]] * 2, strata=[3, 1])
    assert sets.mask.tolist() == [[True] * 4, [True, False, False, False]]


def test_strata_belong_to_both_calls_or_to_neither():
    proba, correct = draw_team(100)
    predictor = ExpertSetPredictor(target="any-correct", alpha=0.2).fit(proba, correct, strata=[1, 2] * 50)
    with pytest.raises(InputError, match="strata were given to fit but not to predict"):
        predictor.predict(proba)
    with pytest.raises(InputError, match="strata were given to predict but not to fit"):
        predictor.fit(proba, correct).predict(proba, strata=[1, 2] * 50)


@pytest.mark.parametrize("make", PREDICTORS)
def test_too_few_rows_warn_of_how_many_it_takes(make):
    proba, correct = np.full((8, 2), 0.5), np.ones((8, 2))
    with pytest.warns(UserWarning, match="alpha=0.1 needs 9 calibration rows .* got 8: full sets there"):
        predictor = make(0.1).fit(proba, correct)
    assert predictor.predict([[0.0, 0.0]]).mask.all()


def test_too_few_rows_in_one_stratum_warn_of_that_stratum():
    strata = ["large"] * 20 + ["small"] * 3
    with pytest.warns(UserWarning, match="needs 9 calibration rows .* got 3 in stratum small: full sets there"):
        predictor = ExpertSetPredictor(target="all-correct", alpha=0.1).fit(
            np.ones((23, 2)), np.ones((23, 2)), None, strata
        )
    assert predictor.thresholds_ == {"large": 1.0, "small": -math.inf}
    assert predictor.predict([[0.5, 0.5]] * 2, strata=["large", "small"], fill_empty=False).size.tolist() == [0, 2]


def test_absent_experts_are_left_out_and_the_top_one_present_fills():
    predictor = ExpertSetPredictor(target="any-correct", alpha=0.2).fit(*draw_team(100))
    proba = [[0.9, 0.8, 0.1, 0.0]] * 3
    available = np.array([[True, False, True, True], [False, False, True, True], [False] * 4])
    sets = predictor.predict(proba, available=available)
    assert sets.mask.tolist() == [[True, False, False, False], [False, False, True, False], [False] * 4]
    assert sets.filled.tolist() == [False, True, False]
    assert predictor.predict(proba, available=[False, True, True, True]).members(0) == ["expert_1"]


def test_sets_carry_the_names():
    predictor = ExpertSetPredictor(target="any-correct", alpha=0.2).fit(*draw_team(100))
    sets = predictor.predict([[0.9, 0.8, 0.1, 0.0]], expert_names=["ann", "bob", "cy", "di"])
    assert isinstance(sets, ExpertSets)
    assert sets.members(0) == ["ann", "bob"]
    assert not sets.mask.flags.writeable


def test_one_expert_and_no_expert():
    alone = ExpertSetPredictor(target="any-correct", alpha=0.2).fit(*draw_team(100, n_experts=1))
    assert alone.predict([[1.0], [0.0]], fill_empty=False).mask.tolist() == [[True], [False]]
    nobody = quietly_fitted(
        ExpertSetPredictor(target="any-correct", alpha=0.2), np.empty((5, 0)), np.empty((5, 0), bool)
    )
    assert nobody.predict(np.empty((2, 0))).size.tolist() == [0, 0]
    assert len(alone.predict(np.empty((0, 1)))) == 0


@pytest.mark.parametrize("target", TARGETS)
@given(problems(), alphas, st.booleans())
def test_a_predictor_survives_json(target, problem, alpha, stratified):
    scores, right = problem
    strata = np.arange(len(scores)) % 3 if stratified else None
    predictor = quietly_fitted(ExpertSetPredictor(target=target, alpha=alpha), scores, right, right, strata)
    packed = pack(predictor)
    again = unpack(ExpertSetPredictor, Packed(json.loads(json.dumps(packed.manifest, allow_nan=False))))
    assert again.__dict__ == predictor.__dict__
    assert again.promise() == predictor.promise()


@pytest.mark.parametrize(
    "change", [{"target": "best"}, {"alpha": 2}, {"strata": 3}, {"strata": [{}]}, {"n_experts": None}]
)
def test_damaged_settings_are_refused(change):
    good = pack(ExpertSetPredictor(target="any-correct", alpha=0.2).fit(*draw_team(100))).manifest
    with pytest.raises(ModelFolderError, match="fit again or restore it"):
        unpack(ExpertSetPredictor, Packed({**good, **change}))


def test_the_promise_is_one_sentence():
    proba, correct = np.ones((20, 2)), np.ones((20, 2))
    told = {t: ExpertSetPredictor(target=t, alpha=0.1).fit(proba, correct).promise() for t in TARGETS}
    start = "For new items like the 20 it was calibrated on, which some expert gets right: "
    assert told == {
        "all-correct": start + "with probability at least 0.9 every expert who is right is in the set.",
        "missed-share": start + "the expected share of the right experts who are left out of the set is at most 0.1.",
        "any-correct": start + "with probability at least 0.9 at least one expert who is right is in the set.",
    }
    observed, strata = np.tile([[True, False]], (20, 1)), ["a", "b"] * 10
    partial = ExpertSetPredictor(target="any-correct", alpha=0.1).fit(proba, correct, observed, strata)
    assert partial.promise() == (
        "For new items like the 20 it was calibrated on, which some observed expert gets right, "
        "inside each of the strata a, b: "
        "with probability at least 0.9 at least one observed expert who is right is in the set."
    )


@given(arrays(np.int64, st.integers(1, 20), elements=st.integers(0, 5)))
def test_strata_may_be_of_any_type(codes):
    proba, correct = np.ones((len(codes), 2)), np.ones((len(codes), 2))
    made = [
        quietly_fitted(ExpertSetPredictor(target="any-correct", alpha=0.4), proba, correct, None, strata).n_rows_
        for strata in (codes, codes.tolist(), codes.astype(str), codes.astype(str).astype(object))
    ]
    assert made[0] == made[1] == {int(k): int((codes == k).sum()) for k in codes}
    assert made[2] == made[3] == {str(k): n for k, n in made[0].items()}


BAD_FITS = [
    ({"expert_proba": [[0.5, 1.5]]}, r"expert_proba must lie in \[0, 1\], got 1.5 at row 0, column 1"),
    ({"expert_proba": [[-0.1, 0.5]]}, r"expert_proba must lie in \[0, 1\], got -0.1 at row 0, column 0"),
    ({"expert_proba": [[0.5, math.nan]]}, "expert_proba must be finite, got nan at row 0, column 1"),
    ({"expert_proba": [0.5, 0.5]}, r"expert_proba must have two axes \(n, columns\), got shape \(2,\)"),
    ({"correct": [[True]]}, r"correct must have shape \(1, 2\) of the other arguments, got \(1, 1\)"),
    ({"correct": [[True, True]] * 2}, r"correct must have shape \(1, 2\) of the other arguments, got \(2, 2\)"),
    ({"correct": [[2, 0]]}, r"correct must be True or False \(or 1 or 0\) in each cell"),
    ({"correct": [["yes", "no"]]}, r"correct must be True or False \(or 1 or 0\) in each cell"),
    ({"observed": [True, True]}, r"observed must have shape \(1, 2\) of the other arguments, got \(2,\)"),
    ({"strata": ["a", "b"]}, r"strata must have shape \(1,\), one stratum per item, got \(2,\)"),
    ({"strata": [None]}, "strata must be given in every row, got none in row 0"),
    ({"strata": [math.nan]}, "strata must be given in every row, got nan in row 0"),
]


@pytest.mark.parametrize("make", PREDICTORS)
@pytest.mark.parametrize(("change", "message"), BAD_FITS)
def test_what_is_wrong_with_fit_is_said(make, change, message):
    with pytest.raises(InputError, match=message):
        make(0.5).fit(**{"expert_proba": [[0.5, 0.5]], "correct": [[True, False]], **change})


@pytest.mark.parametrize("make", PREDICTORS)
def test_what_is_wrong_with_predict_is_said(make):
    with pytest.raises(InputError, match=r"is not calibrated yet: call fit\(expert_proba, correct\) first"):
        make(0.5).predict([[0.5]])
    predictor = make(0.5).fit(*draw_team(50))
    with pytest.raises(InputError, match="expert_proba must have 4 columns like the one given to fit, got 3"):
        predictor.predict([[0.5, 0.5, 0.5]])
    with pytest.raises(InputError, match=r"expert_proba must lie in \[0, 1\]"):
        predictor.predict([[0.5, 0.5, 0.5, 2.0]])
    with pytest.raises(InputError, match=r"available must have shape \(4,\) or \(1, 4\)"):
        predictor.predict([[0.5] * 4], available=[True])
    with pytest.raises(InputError, match="expert_names must be 4 names"):
        predictor.predict([[0.5] * 4], expert_names=["a"])


@pytest.mark.parametrize("call", ["promise", "to_saved"])
def test_before_fit_there_is_nothing_to_tell(call):
    with pytest.raises(InputError, match="This ExpertSetPredictor is not calibrated yet"):
        getattr(ExpertSetPredictor(target="any-correct", alpha=0.1), call)()


def test_what_is_wrong_with_the_options_is_said():
    with pytest.raises(InputError, match=r"target must be one of .*all-correct.*, got 'best'"):
        ExpertSetPredictor(target="best", alpha=0.1)
    for make in PREDICTORS:
        for alpha in (0.0, 1.0, -1.0, math.nan):
            with pytest.raises(InputError, match=r"alpha must lie in \(0, 1\), got"):
                make(alpha)
