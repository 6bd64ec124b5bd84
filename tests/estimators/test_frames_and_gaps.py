"""What `fit` says of labels that are missing, of columns that it cannot use, and of models that want a DataFrame."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from defero import DeferralClassifier, InputError, ModelOnly, TwoStageDeferral

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
        with pytest.raises(InputError, match=r"^y must have a label in every row, got none in row 4; drop such rows"):
            team.fit(features, given, ANSWERS)


@pytest.mark.parametrize("features", [FRAME, FRAME.to_numpy()], ids=["frame", "array"])
def test_a_number_that_is_no_label_is_named(features):
    labels = (LABELS == "malign").astype(float)
    labels[7] = np.nan
    with pytest.raises(InputError, match=r"^y must have a label in every row, got nan in row 7"):
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
    assert list(team.dropped_columns_) == ["fee", "price", "day", "unit", "empty"]
    team.save(tmp_path / "model")
    assert type(team).load(tmp_path / "model").dropped_columns_ == team.dropped_columns_


def test_columns_that_say_nothing_are_left_out_in_silence():
    team = TwoStageDeferral().fit(FRAME.assign(unit="mm", empty=None), LABELS, ANSWERS)
    assert team.dropped_columns_ == {"unit": "the same in every row", "empty": "blank in every row"}
    assert TwoStageDeferral().fit(FRAME.to_numpy(), LABELS, ANSWERS).dropped_columns_ == {}


def picking(columns):
    return make_pipeline(ColumnTransformer([("scaled", StandardScaler(), columns)]), LogisticRegression())


@pytest.mark.parametrize(
    "columns",
    ["age", ["age", "size"], np.array(["size"]), pd.Index(["age"]), slice("age", "size"), make_column_selector()],
)
def test_models_that_pick_columns_by_name_are_refused(columns):
    model = picking(columns)
    what = r"its ColumnTransformer selects columns by (name \(\w+(, \w+)?\)|their type)"
    fitted = picking(columns if not isinstance(columns, str) else [columns]).fit(FRAME, LABELS)
    for name, team in (
        ("classifier", TwoStageDeferral(model)),
        ("classifier", TwoStageDeferral(FrozenEstimator(fitted))),
        ("classifier", ModelOnly(model)),
        ("expert_model", TwoStageDeferral(expert_model=model)),
        ("expert_model", TwoStageDeferral(expert_model=[LogisticRegression(), model])),
    ):
        with pytest.raises(InputError, match=rf"^{name}: {what}"):
            team.fit(FRAME, LABELS, ANSWERS)


def test_columns_may_be_picked_by_number():
    for columns in ([0], slice(0, 2), lambda X: [0]):
        team = TwoStageDeferral(picking([0]), picking(columns)).fit(FRAME, LABELS, ANSWERS)
        assert team.score(FRAME, LABELS, ANSWERS) > 0.8
