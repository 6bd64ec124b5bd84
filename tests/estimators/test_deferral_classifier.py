"""DeferralClassifier: what it learns, what it refuses, and that a seed settles everything."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from defero import DeferralClassifier, InputError, Recipe, TwoStageDeferral
from defero.datasets import wedge
from defero.decide.terms import Terms

CASES = wedge(400, random_state=1)
X, Y, M = CASES.features, CASES.labels, CASES.answers
LOSSES = ["softmax", "ova", "decoupled", "asymmetric", "moe"]


@pytest.mark.parametrize("net", ["linear", "mlp"])
@pytest.mark.parametrize("loss", LOSSES)
def test_probabilities_are_probabilities(net, loss):
    team = DeferralClassifier(net, loss=loss, recipe=Recipe(max_epochs=3 if net == "mlp" else 300), random_state=0).fit(
        X, Y, experts=M
    )
    classes, experts = team.predict_proba(X), team.predict_expert_proba(X)
    np.testing.assert_allclose(classes.sum(axis=1), 1)
    assert classes.shape == (400, 4)
    assert experts.shape == (400, 4)
    assert experts.min() >= 0
    assert experts.max() <= 1
    assert team.decide(X).expert.shape == (400,)


@pytest.mark.parametrize("net", ["linear", "mlp"])
def test_a_seed_makes_runs_bit_equal(net):
    def run():
        return DeferralClassifier(net, loss="ova", random_state=3).fit(X, Y, experts=M).team_.scores(X)

    one, two = run(), run()
    assert np.array_equal(one.class_proba, two.class_proba)
    assert np.array_equal(one.expert_raw, two.expert_raw)


def test_the_linear_model_is_logistic_regression():
    """An independent oracle: decoupled, linear and C = 1 is multinomial and binary logistic regression."""
    team = DeferralClassifier("linear", loss="decoupled").fit(X, Y, experts=M)
    standard = StandardScaler().fit_transform(X)
    plain = LogisticRegression(tol=1e-8, max_iter=5_000).fit(standard, Y)
    np.testing.assert_allclose(team.predict_proba(X), plain.predict_proba(standard), atol=2e-4)
    one = LogisticRegression(tol=1e-8, max_iter=5_000).fit(standard, M[:, 1] == Y)
    np.testing.assert_allclose(team.predict_expert_proba(X)[:, 1], one.predict_proba(standard)[:, 1], atol=2e-4)


@pytest.mark.parametrize("loss", ["ova", "decoupled"])
def test_adding_experts_leaves_the_classifier_alone(loss):
    """Exact: the classes have a branch and an early stopping of their own, so experts change not one bit of them."""
    short = {"loss": loss, "random_state": 0, "recipe": Recipe(max_epochs=8)}
    alone = DeferralClassifier("mlp", **short).fit(X, Y)
    team = DeferralClassifier("mlp", **short).fit(X, Y, experts=M)
    crowd = DeferralClassifier("mlp", **short).fit(X, Y, experts=np.hstack([M] * 5))
    np.testing.assert_array_equal(alone.predict_proba(X), team.predict_proba(X))
    np.testing.assert_array_equal(alone.predict_proba(X), crowd.predict_proba(X))
    hasty = {"loss": loss, "random_state": 0, "recipe": Recipe(patience=1)}
    one = DeferralClassifier("mlp", **hasty).fit(X, Y, experts=M[:, :1])
    np.testing.assert_array_equal(
        one.predict_proba(X), DeferralClassifier("mlp", **hasty).fit(X, Y, experts=np.hstack([M] * 5)).predict_proba(X)
    )


def test_no_experts_is_a_plain_classifier():
    team = DeferralClassifier("linear", loss="ova").fit(X, Y)
    assert team.n_experts_ == 0
    assert team.predict_expert_proba(X).shape == (400, 0)
    assert team.decide(X).coverage == 1
    assert team.score(X, Y) == np.mean(team.predict(X) == Y)


def test_labels_of_any_type_come_back():
    names = np.array(["no", "maybe", "yes", "sure"])
    for y, m in ((names[Y], names[M]), (Y + 10, M + 10), (Y * 2.0, M * 2.0)):
        team = DeferralClassifier("linear", loss="ova").fit(X, y, experts=m)
        assert set(team.predict(X)) <= set(y)
        assert team.score(X, y, experts=m) > 0.8


@pytest.mark.parametrize("estimator", [DeferralClassifier("linear", loss="ova"), TwoStageDeferral()], ids=str)
def test_missing_answers_in_every_form_are_the_same(estimator):
    gone = np.random.default_rng(0).random(M.shape) < 0.4
    as_int = np.where(gone, -1, M)
    as_float = np.where(gone, np.nan, M)
    as_object = np.where(gone, None, M.astype(object))
    as_frame = pd.DataFrame(as_int).replace(-1, pd.NA)
    as_masked = np.ma.MaskedArray(M, mask=gone)
    as_sparse = scipy.sparse.csr_matrix(as_int + 1)
    proba = [
        estimator.fit(X, Y, experts=answers).predict_expert_proba(X)
        for answers in (as_int, as_float, as_object, as_frame, as_masked, as_sparse)
    ]
    for other in proba[1:]:
        np.testing.assert_array_equal(proba[0], other)


def test_an_expert_without_an_answer_warns_and_gets_the_mean():
    silent = np.column_stack([M, np.full(len(M), -1)])
    with pytest.warns(UserWarning, match="no answer of expert_4 in the training rows"):
        team = DeferralClassifier("linear", loss="ova").fit(X, Y, experts=silent)
    proba = team.predict_expert_proba(X)
    np.testing.assert_allclose(proba[:, 4], proba[:, :4].mean(axis=1))


def test_the_score_asks_only_experts_whose_answer_is_recorded():
    team = DeferralClassifier("linear", loss="ova").fit(X, Y, experts=M)
    nobody = np.full(M.shape, -1)
    assert team.score(X, Y, experts=nobody) == np.mean(team.predict(X) == Y)
    first = np.column_stack([M[:, :1], nobody[:, 1:]])
    asked = team.team_.answer(X, first).heard
    assert asked[:, 0].any()
    assert not asked[:, 1:].any()


def test_fees_and_absence_need_no_training():
    team = DeferralClassifier("linear", loss="ova").fit(X, Y, experts=M)
    free, dear = team.decide(X), team.decide(X, terms=Terms(fees=np.full(4, 0.3)))
    assert dear.coverage > free.coverage
    assert (team.decide(X, terms=Terms(available=[False, True, True, True])).expert != 0).all()


def test_sample_weight_moves_a_network_as_far_as_it_should():
    """Half of the weight lies on y = 1, which a tenth of the rows have: P(y = 1) must come out near one half."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4_000, 2)), (rng.random(4_000) < 0.1).astype(int)
    weight = np.where(y == 1, (y == 0).sum() / (y == 1).sum(), 1.0)
    mlp = DeferralClassifier("mlp", loss="ova", random_state=0).fit(x, y, sample_weight=weight)
    assert mlp.predict_proba(x)[:, 1].mean() == pytest.approx(0.5, abs=0.05)


def test_sample_weight_is_taken():
    weight = np.where(Y == 0, 10.0, 1.0)
    plain, heavy = (
        DeferralClassifier("linear", loss="ova").fit(X, Y),
        DeferralClassifier("linear", loss="ova").fit(X, Y, sample_weight=weight),
    )
    assert heavy.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean() + 0.1


def test_a_table_of_numbers_and_categories():
    frame = pd.DataFrame({"x": X[:, 0], "region": np.array(list("abcd"))[X[:, 5:9].argmax(axis=1)]})
    frame.loc[3, "x"] = np.nan
    team = DeferralClassifier("linear", loss="ova").fit(frame, Y, experts=M)
    assert team.predict(frame[["x", "region"]]).shape == (400,)


INFINITE = X.copy()
INFINITE[7, 2] = np.inf


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: DeferralClassifier("linear", loss="ova").fit(INFINITE, Y),
            "X must be finite, got inf at row 7, column 2",
        ),
        (
            lambda: DeferralClassifier("linear", loss="ova").fit(X, Y, experts=M + 1),
            "experts: row .*, column .: answer 4 is not one of 0, 1, 2, 3",
        ),
        (
            lambda: DeferralClassifier("linear", loss="ova").fit(X, Y, experts=M[:-1]),
            "experts must have one row per item: 400 items, got 399",
        ),
        (
            lambda: DeferralClassifier("linear", loss="ova").fit(X, Y, experts=M[:, 0]),
            "two axes .n, J.*for one expert pass a column",
        ),
        (
            lambda: DeferralClassifier("linear", loss="ova").fit(X, Y, experts=np.full(M.shape, -1)),
            "experts: no answers in any row",
        ),
        (
            lambda: DeferralClassifier("linear", loss="ova").fit(
                X, Y, experts=pd.DataFrame(M, columns=["a", "b", "a", "c"])
            ),
            "experts must be distinct, got a more than once",
        ),
        (
            lambda: DeferralClassifier("deep", loss="ova").fit(X, Y),
            "net must be .*auto.*mlp.*, got 'deep'",
        ),
        (
            lambda: DeferralClassifier("linear", loss="hinge").fit(X, Y),
            "loss must be one of softmax, ova, .*, got 'hinge'",
        ),
        (
            lambda: DeferralClassifier("linear", loss="ova", recipe=Recipe(max_epochs=0)).fit(X, Y),
            "max_epochs must be a whole number of at least 1, got 0",
        ),
        (
            lambda: DeferralClassifier("linear", loss="ova", recipe=Recipe(precision="half")).fit(X, Y),
            "precision must be one of None, float32, float64, bf16-mixed, got 'half'",
        ),
        (
            lambda: DeferralClassifier("linear", loss="ova", recipe=Recipe(validation_fraction=1.0)).fit(X, Y),
            r"validation_fraction must lie in \[0, 1\)",
        ),
        (
            lambda: DeferralClassifier("linear", loss="ova", recipe=Recipe(weight_decay=-1)).fit(X, Y),
            "weight_decay must be a number of at least 0, got -1",
        ),
        (
            lambda: DeferralClassifier("linear", loss="ova").fit(X, Y, experts=M).score(X, Y + 1, experts=M),
            "y: row .*: label 4 is not one of 0, 1, 2, 3",
        ),
        (
            lambda: DeferralClassifier("linear", loss="ova").fit(X, Y, experts=M).score(X, Y, experts=M[:, :2]),
            r"experts must have shape \(400, 4\), .* got \(400, 2\)",
        ),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_deciding_before_fitting_names_the_missing_call():
    for method in ("decide", "predict", "predict_proba", "predict_expert_proba"):
        with pytest.raises(NotFittedError, match=r"This DeferralClassifier is not fitted yet: call fit\(X, y, experts"):
            getattr(DeferralClassifier("linear", loss="ova"), method)(X)


def test_other_experts_than_at_fit_are_named():
    names = ["ann", "bob", "cas", "dee"]
    team = DeferralClassifier("linear", loss="ova").fit(X, Y, experts=pd.DataFrame(M, columns=names))
    with pytest.raises(InputError, match=r"experts: no expert 'eve'.* the experts of fit .ann, bob, cas, dee., got"):
        team.score(X, Y, experts=pd.DataFrame(M, columns=["ann", "bob", "cas", "eve"]))
    shuffled = pd.DataFrame(M[:, ::-1], columns=names[::-1])
    assert team.score(X, Y, experts=shuffled) == team.score(X, Y, experts=pd.DataFrame(M, columns=names))


def test_save_and_load_give_the_same_team(tmp_path):
    team = DeferralClassifier("mlp", loss="softmax", recipe=Recipe(max_epochs=2), random_state=0).fit(X, Y, experts=M)
    team.save(tmp_path / "model")
    again = DeferralClassifier.load(tmp_path / "model")
    assert again.get_params() == team.get_params()
    np.testing.assert_array_equal(again.predict_expert_proba(X), team.predict_expert_proba(X))
    with pytest.raises(InputError, match="was written by DeferralClassifier, not TwoStageDeferral"):
        TwoStageDeferral.load(tmp_path / "model")


def test_a_diverging_network_says_what_to_do():
    with pytest.raises(InputError, match=r"training diverged in epoch .* lower learning_rate"):
        DeferralClassifier("mlp", loss="ova", recipe=Recipe(learning_rate=1e30, max_epochs=5), random_state=0).fit(
            X, Y, experts=M
        )
