"""What `fit` says of labels that are missing, of columns that it cannot use, and of models that want a DataFrame."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from defero import DeferralClassifier, InputError, ModelOnly, Team, TwoStageDeferral

N = 80
RNG = np.random.default_rng(0)
AGE = RNG.normal(60, 10, N)
LABELS = np.where(AGE + RNG.normal(0, 5, N) > 60, "malign", "benign").astype(object)
ANSWERS = pd.DataFrame({"ann": LABELS, "bob": np.where(RNG.random(N) < 0.7, LABELS, "benign")})
FRAME = pd.DataFrame({"age": AGE, "size": RNG.normal(size=N)})
TEAMS = [DeferralClassifier("linear", loss="ova"), TwoStageDeferral(), ModelOnly()]


@pytest.mark.parametrize("team", TEAMS, ids=lambda team: type(team).__name__)
@pytest.mark.parametrize("features", [FRAME, FRAME.to_numpy()], ids=["frame", "array"])
@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, np.datetime64("NaT").astype(object)])
def test_the_first_row_without_a_label_is_named(team, features, nothing):
    labels = LABELS.copy()
    labels[[4, 9]] = nothing
    for given in (labels, labels.tolist(), pd.Series(labels)):
        with pytest.raises(InputError, match=r"^y must be given in every row, got none in row 4; fill it in or drop"):
            team.fit(features, given, ANSWERS)


@pytest.mark.parametrize("features", [FRAME, FRAME.to_numpy()], ids=["frame", "array"])
def test_a_number_that_is_no_label_is_named(features):
    labels = (LABELS == "malign").astype(float)
    labels[7] = np.nan
    with pytest.raises(InputError, match=r"^y must be given in every row, got nan in row 7"):
        TwoStageDeferral().fit(features, labels[:, None], None)


def odd_frame():
    """Return columns that cannot be used, each for a reason of its own, two of them because they say nothing."""
    fee = [f"{number}.5" for number in range(N)]
    fee[3] = fee[40] = "n/a"
    return FRAME.assign(
        fee=fee,
        price=[f"€{number}.45" for number in range(N)],
        day=pd.date_range("2024-01-01", periods=N),
        unit="mm",
        empty=None,
    )


@pytest.mark.parametrize("team", TEAMS, ids=lambda team: type(team).__name__)
def test_columns_that_are_not_used_are_named_once(team, tmp_path):
    with pytest.warns(UserWarning, match="not used") as warned:
        team.fit(odd_frame(), LABELS, ANSWERS)
    (message,) = [str(one.message) for one in warned]
    for fact in ("X: 3 columns", "fee (numbers beside 'n/a')", "price (", "day (", "dropped_columns_"):
        assert fact in message
    assert warned[0].filename == __file__
    assert list(team.dropped_columns_) == ["day", "empty", "fee", "price", "unit"]
    team.save(tmp_path / "model")
    assert type(team).load(tmp_path / "model").dropped_columns_ == team.dropped_columns_


def test_columns_that_say_nothing_are_left_out_in_silence():
    team = TwoStageDeferral().fit(FRAME.assign(unit="mm", empty=None), LABELS, ANSWERS)
    assert team.dropped_columns_ == {"unit": "the same in every row", "empty": "blank in every row"}
    assert TwoStageDeferral().fit(FRAME.to_numpy(), LABELS, ANSWERS).dropped_columns_ == {}


def picking(columns):
    return make_pipeline(ColumnTransformer([("scaled", StandardScaler(), columns)]), LogisticRegression())


SITES = FRAME.assign(site=np.where(RNG.random(N) < 0.5, "arm", "leg")).mask(RNG.random((N, 3)) < 0.1).assign(unit="mm")


@pytest.mark.parametrize(
    "columns",
    ["age", ["age", "size"], np.array(["size"]), pd.Index(["age"]), slice("age", "size"), make_column_selector()],
)
def test_models_that_pick_columns_by_name_need_a_frame_that_has_them(columns):
    columns = [columns] if isinstance(columns, str) else columns
    for name, team in (
        ("classifier", TwoStageDeferral(picking(columns))),
        ("classifier", ModelOnly(picking(columns))),
        ("expert_model", TwoStageDeferral(expert_model=[LogisticRegression(), picking(columns)])),
    ):
        with pytest.raises(InputError, match=r"selects columns by name or type .*pass a DataFrame") as caught:
            team.fit(FRAME.to_numpy(), LABELS, ANSWERS)
        assert caught.value.argument == name
        assert team.fit(FRAME, LABELS, ANSWERS).decide(FRAME).expert.shape == (N,)


@pytest.mark.parametrize("wanted", ["unit", "sise"])
def test_a_column_that_is_not_used_cannot_be_picked(wanted):
    with pytest.raises(InputError, match=f"selects {wanted}, but the columns in use are age, size, site") as caught:
        TwoStageDeferral(picking(["age", wanted])).fit(SITES, LABELS, ANSWERS)
    assert caught.value.argument == "classifier"


def reading_gaps():
    """Return a classifier of the raw table: categories by name, gaps left to the trees."""
    categories = make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder())
    columns = ColumnTransformer([("numbers", "passthrough", ["age", "size"]), ("site", categories, ["site"])])
    return make_pipeline(columns, HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5, random_state=0))


def test_a_pipeline_of_a_frame_gives_the_same_as_alone_and_is_saved(tmp_path):
    alone = reading_gaps().fit(SITES.drop(columns="unit"), LABELS)
    for model in (reading_gaps(), FrozenEstimator(alone)):
        team = TwoStageDeferral(model, reading_gaps()).fit(SITES, LABELS, ANSWERS)
        np.testing.assert_allclose(team.predict_proba(SITES), alone.predict_proba(SITES), atol=1e-12)
        with pytest.warns(UserWarning, match="does not hold the"):
            team.save(tmp_path / "model")
        given = {"classifier": team.classifier_, "expert_model": team.expert_model_}
        loaded = TwoStageDeferral.load(tmp_path / "model", **given)
        np.testing.assert_array_equal(loaded.predict_proba(SITES), team.predict_proba(SITES))
        np.testing.assert_array_equal(loaded.predict_expert_proba(SITES), team.predict_expert_proba(SITES))
        assert loaded.decide(SITES[:1].assign(site="toe")).unusual.tolist() == ["site"]


def test_skill_goes_with_a_pipeline_of_a_frame():
    team = TwoStageDeferral(reading_gaps()).fit(SITES, LABELS, ANSWERS)
    alone = reading_gaps().fit(SITES.drop(columns="unit"), LABELS)
    np.testing.assert_allclose(team.predict_proba(SITES), alone.predict_proba(SITES), atol=1e-12)


ARRAY = SITES[["age", "size"]].to_numpy(dtype=float)


@pytest.mark.parametrize(
    "team",
    [
        DeferralClassifier(random_state=0),
        DeferralClassifier("linear", random_state=0),
        TwoStageDeferral(HistGradientBoostingClassifier(max_iter=5)),
        ModelOnly(),
    ],
    ids=lambda team: str(team)[:40],
)
def test_an_array_with_gaps_is_taken_as_a_frame_is(team, tmp_path):
    as_array = clone(team).fit(ARRAY, LABELS, ANSWERS)
    as_frame = clone(team).fit(pd.DataFrame(ARRAY, columns=["a", "b"]), LABELS, ANSWERS)
    assert as_array.n_features_in_ == 2
    assert not hasattr(as_array, "feature_names_in_")
    frame_proba = as_frame.predict_proba(pd.DataFrame(ARRAY, columns=["a", "b"]))
    np.testing.assert_array_equal(as_array.predict_proba(ARRAY), frame_proba)
    by_hand = isinstance(team, TwoStageDeferral)
    with pytest.warns(UserWarning, match="HistGradient") if by_hand else nullcontext():
        as_array.save(tmp_path / "model")
    loaded = Team.load(tmp_path / "model", **({"classifier": as_array.classifier_} if by_hand else {}))
    np.testing.assert_array_equal(loaded.scores(ARRAY).class_proba, frame_proba)
    assert loaded.decide([[999.0, np.nan]]).unusual.tolist() == ["column 0"]
    with pytest.raises(InputError, match="3 features, but fit saw 2"):
        loaded.decide(np.ones((1, 3)))
    with pytest.raises(InputError, match="inf at row 0, column 1"):
        loaded.decide([[1.0, np.inf]])
    with pytest.raises(InputError, match=r"rows.* fit"):
        as_array.calibrate(ARRAY, LABELS, ANSWERS)


def test_what_an_array_cannot_have():
    endless = ARRAY.copy()
    endless[3, 1] = np.inf
    for team in (DeferralClassifier("linear"), TwoStageDeferral()):
        with pytest.raises(InputError, match="inf at row 3, column 1"):
            team.fit(endless, LABELS, ANSWERS)
    whole = TwoStageDeferral().fit(FRAME.to_numpy(), LABELS, ANSWERS)
    with pytest.raises(InputError, match=r"nan at row .*pass a DataFrame"):
        whole.predict(ARRAY)


def test_a_deep_net_takes_no_gaps():
    net = pytest.importorskip("torch").nn.Linear(2, 3)
    with pytest.raises(InputError, match="nan at row"):
        DeferralClassifier(net).fit(ARRAY, LABELS, ANSWERS)


def test_columns_may_be_picked_by_number():
    for columns in ([0], slice(0, 2), lambda X: [0]):
        team = TwoStageDeferral(picking([0]), picking(columns)).fit(FRAME, LABELS, ANSWERS)
        assert team.score(FRAME, LABELS, ANSWERS) > 0.8


@pytest.mark.parametrize("make", [lambda: DeferralClassifier("linear"), lambda: ModelOnly(LogisticRegression())])
def test_a_text_in_an_array_is_named_by_row_column_and_value(make):
    rng = np.random.default_rng(0)
    numbers = rng.random((60, 3))
    labels = (numbers[:, 0] > 0.5).astype(int)
    texts = numbers.astype(object)
    texts[7, 1] = "abc"
    team = make().fit(numbers, labels, experts=labels[:, None])
    for call in (
        lambda: make().fit(texts, labels, experts=labels[:, None]),
        lambda: team.predict(texts),
        lambda: team.team_.decide(texts),
    ):
        with pytest.raises(InputError) as error:
            call()
        assert error.value.argument == "X"
        assert all(fact in str(error.value) for fact in ("row 7", "column 1", "'abc'", "DataFrame"))
