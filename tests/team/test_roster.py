"""Who is on the team: joining, leaving, another name; nobody else changes, and no row is used twice."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from roster_team import CLASSES, NAMES, cases, network, own_scorer, shrunk_scorer, team_of

from defero import DeferralClassifier, InputError, Team, TwoStageDeferral
from defero.core.scores import sigmoid
from defero.data.fingerprint import held_out, row_fingerprints
from defero.learn.heads import fit_head
from defero.learn.scorer import SkillScorer
from defero.learn.skill import with_class
from defero.team import judge
from defero.team.roster import moved_here

OLD, CAL, CONF, TEST = (cases(seed) for seed in (0, 1, 2, 3))
SHRUNK, OWN, SOFTMAX = (team_of(scorer) for scorer in (shrunk_scorer(), own_scorer(), own_scorer("softmax")))
ROUTERS = pytest.mark.parametrize("router", [SHRUNK, OWN, SOFTMAX], ids=["shrunk", "own", "softmax"])


def joined(router, m=50, part=CAL, name="eve"):
    X, y, said = part
    return router.copy().add_expert(name, X[:m], y[:m], said[:m, 4])


def calibrated(router, method="auto"):
    X, y, said = CAL
    return router.copy().calibrate(X, y, said[:, :4], method=method)


def parameters(router):
    """Return the experts' own numbers, in their order."""
    team = router.scorer
    own = np.full((team.n_own, team.skill.heads.weights.shape[1]), np.nan)
    return np.vstack([own, team.skill.heads.weights])[team.order]


@ROUTERS
def test_a_newcomer_joins_at_the_end_and_changes_nobody(router):
    after = joined(router)
    assert after.expert_names == (*NAMES, "eve")
    assert after.answer_counts.tolist() == [400, 400, 400, 400, 50]
    before, now = router.scores(TEST[0]), after.scores(TEST[0])
    assert np.array_equal(parameters(after)[:4], parameters(router), equal_nan=True)
    np.testing.assert_allclose(now.expert_raw[:, :4], before.expert_raw, rtol=1e-12, atol=1e-12)
    assert np.array_equal(now.class_proba, before.class_proba)
    assert np.array_equal(now.model_proba, before.model_proba)
    assert router.expert_names == NAMES  # the old one is as it was


@ROUTERS
def test_the_newcomers_head_is_that_of_their_answers_and_the_prior(router):
    X, y, said = CAL
    team = router.scorer
    proba = team.base.score(X[:50]).class_proba if team.skill.reads_belief else np.full((50, 2), 0.5)
    phi = with_class(team.skill.directions.of(X[:50]), proba, (y[:50] == CLASSES[1]).astype(int))
    alone = fit_head(phi, said[:50, 4] == y[:50], team.skill.heads.prior)
    found = joined(router).scorer.skill.heads
    np.testing.assert_allclose(found.weights[-1], alone.weights[0], rtol=1e-12)
    assert found.n_answers[-1] == 50


def test_a_few_answers_tell_somebody():
    X = TEST[0]
    truth = sigmoid(1 + 2 * X[:, 1])
    errors = [np.abs(joined(SHRUNK, m).scores(X).expert_proba[:, 4] - truth).mean() for m in (0, 50, 400)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.06


def test_the_order_of_the_answers_does_not_matter():
    X, y, said = CAL
    turned = SHRUNK.copy().add_expert("eve", X[49::-1], y[49::-1], said[49::-1, 4])
    np.testing.assert_allclose(parameters(turned), parameters(joined(SHRUNK)), rtol=1e-8)


def test_rows_without_an_answer_are_left_out():
    X, y, said = CAL
    gappy, labels = said[:80, 4].copy(), y[:80].copy()
    gappy[50:], labels[60:] = None, None  # nor is a label needed there
    after = SHRUNK.copy().add_expert("eve", X[:80], labels, gappy)
    assert np.array_equal(parameters(after), parameters(joined(SHRUNK)))
    assert np.array_equal(after.seen["add_expert"], joined(SHRUNK).seen["add_expert"])


@pytest.mark.parametrize(
    "given",
    [(None, None, None), ([], [], []), (CAL[0][:3], CAL[1][:3], [None] * 3), (np.empty((0, 3)), [], np.empty(0))],
)
@ROUTERS
def test_without_answers_there_is_the_population(router, given):
    after = router.copy().add_expert("eve", *given)
    prior = after.scorer.skill.heads.prior
    assert np.array_equal(after.scorer.skill.heads.weights[-1], prior.mean)
    np.testing.assert_allclose(after.scorer.skill.heads.covariance[-1], prior.covariance(), atol=1e-9)
    assert list(after.seen) == ["fit"]
    assert np.array_equal(after.seen["fit"], router.seen["fit"])
    proba = after.scores(TEST[0]).expert_proba[:, 4]
    assert 0.3 < proba.mean() < 0.8


@pytest.mark.parametrize("method", ["auto", "none"])
@ROUTERS
def test_calibration_leaves_the_others_alone_and_learns_nothing_from_the_newcomers_rows(router, method):
    honest = calibrated(router, method)
    after = joined(honest, part=CONF)
    before, now = honest.scores(TEST[0]), after.scores(TEST[0])
    np.testing.assert_allclose(now.expert_proba[:, :4], before.expert_proba, rtol=1e-9, atol=1e-12)
    raw = joined(router, part=CONF).scores(TEST[0]).expert_proba[:, 4]
    a, b = honest.calibrator.line  # that of all, without a shift of their own
    logit = np.clip(np.log(raw / (1 - raw)), -7, 7)
    np.testing.assert_allclose(now.expert_raw[:, 4], a + b * logit, rtol=1e-6, atol=1e-9)
    gone = after.copy().remove_expert("bob").scores(TEST[0])
    np.testing.assert_allclose(gone.expert_proba, np.delete(now.expert_proba, 1, axis=1), rtol=1e-9, atol=1e-12)
    back = after.copy().remove_expert("eve").scores(TEST[0])
    np.testing.assert_allclose(back.expert_proba, before.expert_proba, rtol=1e-9, atol=1e-12)


@ROUTERS
def test_who_joined_and_left_was_never_there(router):
    honest = calibrated(router)
    back = joined(honest, part=CONF).remove_expert("eve")
    assert back.expert_names == honest.expert_names
    assert np.array_equal(back.scores(TEST[0]).expert_raw, honest.scores(TEST[0]).expert_raw)
    assert back.answer_counts.tolist() == honest.answer_counts.tolist()


@ROUTERS
def test_who_leaves_changes_nobody(router):
    after = joined(router).remove_expert("ann").remove_expert("dan")
    assert after.expert_names == ("bob", "cat", "eve")
    assert np.array_equal(parameters(after), parameters(joined(router))[[1, 2, 4]], equal_nan=True)
    assert after.answer_counts.tolist() == [400, 400, 50]
    for name in after.expert_names:
        after = after.copy().remove_expert(name)
    assert after.scores(TEST[0]).expert_proba.shape == (400, 0)
    assert (after.decide(TEST[0]).expert == -1).all()


def test_another_name_changes_nothing_else():
    X, y, said = CONF
    ready = calibrated(SHRUNK).conformalize(X, y, said[:, :4])
    after = ready.copy().rename_expert("bob", "rob")
    assert after.expert_names == ("ann", "rob", "cat", "dan")
    assert np.array_equal(after.scores(TEST[0]).expert_raw, ready.scores(TEST[0]).expert_raw)
    assert np.array_equal(after.predict_set(TEST[0]).mask, ready.predict_set(TEST[0]).mask)
    assert after.rename_expert("rob", "rob") is after


def test_panels_are_dropped_with_a_word():
    X, y, said = CONF
    ready = calibrated(SHRUNK).conformalize(X, y, said[:, :4])
    with pytest.warns(UserWarning, match="add_expert drops the panel's thresholds; call conformalize again") as told:
        after = joined(ready, part=TEST)
    assert told[0].filename == __file__
    assert after.panel is None
    with pytest.warns(UserWarning, match="remove_expert drops the panel's thresholds; call conformalize again"):
        assert ready.copy().remove_expert("ann").panel is None
    again = after.copy().conformalize(X, y, said)
    assert again.predict_set(TEST[0]).mask.shape == (400, 5)


def test_the_newcomers_rows_are_used_up():
    X, y, said = CAL
    after = joined(SHRUNK)
    for use in (lambda: judge(after, X, y, said), lambda: after.copy().calibrate(X, y, said)):
        with pytest.raises(InputError, match="50 of 400 rows were seen by fit or add_expert, and nothing can be"):
            use()
    with pytest.raises(InputError, match="conformalize: 50 of 50 rows were seen by fit or add_expert"):
        after.copy().conformalize(X[:50], y[:50], said[:50])
    assert judge(after, X[50:], y[50:], said[50:]).team.total == 350
    twice = joined(after, 80, name="fay")
    assert len(twice.seen["add_expert"]) == 80  # a row counts once, whoever answered it


def test_rows_that_calibrated_may_teach_a_newcomer_but_not_calibrate_again():
    X, y, said = CAL
    after = joined(calibrated(SHRUNK))
    assert [len(after.seen[stage]) for stage in ("fit", "calibrate", "add_expert")] == [400, 350, 50]
    with pytest.raises(InputError, match="calibrate: 50 of 400 rows were seen by fit or add_expert"):
        after.copy().calibrate(X, y, said)
    assert after.copy().calibrate(X[50:], y[50:], said[50:]).calibrator is not None


def test_rows_that_fit_saw_stay_seen_once():
    X, y, said = OLD
    with pytest.warns(UserWarning, match="50 of the 50 cases that eve answered are among those that fit learned from"):
        after = SHRUNK.copy().add_expert("eve", X[:50], y[:50], said[:50, 4])
    assert np.array_equal(np.sort(after.all_seen()), np.sort(SHRUNK.all_seen()))
    with pytest.warns(UserWarning, match="30 of the 60 cases that fay answered are among those that fit learned from"):
        after.copy().add_expert(
            "fay",
            *(np.concatenate([a[:30], b[:30]]) for a, b in zip(OLD[:2], CAL[:2], strict=True)),
            np.concatenate([said[:30, 4], CAL[2][:30, 4]]),
        )
    for part in (X[:50], X[50:], X):  # no part of fit's rows is taken for a coincidence
        with pytest.raises(InputError, match=f"judge: {len(part)} of {len(part)} rows were seen by fit or add_expert"):
            judge(after, part, y[: len(part)], said[: len(part)])


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)))
def test_moved_rows_are_neither_lost_nor_doubled(first, second, rows):
    """As multisets: everything that was seen, and no more of a row than the larger of both counts."""
    arrays = [np.array(one, np.uint64) for one in (first, second, rows)]
    after = moved_here({"calibrate": arrays[0], "add_expert": arrays[1]}, arrays[2])
    together = np.concatenate([after["calibrate"], after["add_expert"]])
    for value in range(6):
        was = (arrays[0] == value).sum() + (arrays[1] == value).sum()
        assert (together == value).sum() == max(was, (arrays[2] == value).sum())
        assert (after["add_expert"] == value).sum() >= (arrays[2] == value).sum()
    assert not held_out(together, arrays[2]).any()


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)))
def test_fit_keeps_its_rows(first, rows):
    """`fit` is never run again, and whoever joins next must hear of its rows too."""
    learned, newcomers = np.array(first, np.uint64), np.array(rows, np.uint64)
    after = moved_here({"fit": learned, "groups+answers": learned}, newcomers)
    assert np.array_equal(after["fit"], learned)
    assert np.array_equal(after["groups+answers"], learned)
    assert np.array_equal(after["add_expert"], newcomers[held_out(learned, newcomers)])


def test_a_head_that_does_not_look_at_the_classes_may_learn_from_rows_of_fit():
    X, y, said = OLD
    after = OWN.copy().add_expert("eve", X[:50], y[:50], said[:50, 4])  # a warning would be an error
    assert len(after.seen["add_expert"]) == 0


@pytest.mark.parametrize("change", ["add", "remove"])
def test_where_rows_repeat_a_changed_team_cannot_tell_reuse_and_says_so(change):
    rng = np.random.default_rng(0)
    X, label = rng.integers(0, 4, (600, 2)).astype(float), rng.integers(0, 2, 600)
    said = np.where(rng.random((600, 6)) < 0.8, label[:, None], 1 - label[:, None])
    router = TwoStageDeferral().fit(X[:300], label[:300], experts=said[:300, :5]).team_
    with pytest.raises(InputError, match="300 of 300 rows were seen by fit"):  # by features, labels and answers
        router.copy().calibrate(X[:300], label[:300], said[:300, :5])
    if change == "add":
        after, now = router.copy().add_expert("eve", X[300:400], label[300:400], said[300:400, 5]), said
    else:
        after, now = router.copy().remove_expert("expert_4"), said[:, :4]
    with pytest.warns(UserWarning, match="300 of 300 rows have the features of rows that fit"):
        after.copy().calibrate(X[:300], label[:300], now[:300])


@pytest.mark.parametrize(
    "kind", ["list", "array", "text", "series", "column", "frame", "masked", "categories"], ids=lambda kind: kind
)
def test_answers_may_come_in_any_form(kind):
    X, y, said = CAL
    plain = said[:50, 4].tolist()
    forms = {
        "list": plain,
        "array": np.array(plain, dtype=object),
        "text": np.array(plain),
        "series": pd.Series(plain, index=range(7, 57)),
        "column": np.array(plain, dtype=object)[:, None],
        "frame": pd.DataFrame({"eve": plain}),
        "masked": np.ma.array(np.array([*plain, "benign"]), mask=[False] * 50 + [True]),
        "categories": pd.Series(plain, dtype="category"),
    }
    m = len(forms[kind])
    after = SHRUNK.copy().add_expert("eve", X[:m], pd.Series(y[:m]), forms[kind])
    assert np.array_equal(parameters(after), parameters(joined(SHRUNK)))


@pytest.mark.parametrize("missing", ["minus one", "nan", "NA"])
def test_whole_numbers_have_their_own_gaps(missing):
    X, y, said = CAL
    numbers = Team(**{**vars(SHRUNK), "classes": np.array([0, 1])})
    codes = (said[:60, 4] == CLASSES[1]).astype(int)
    gap = np.arange(60) >= 50
    forms = {
        "minus one": np.where(gap, -1, codes),
        "nan": np.where(gap, np.nan, codes),
        "NA": pd.Series(codes).astype("Int64").mask(gap),
    }
    after = numbers.copy().add_expert("eve", X[:60], (y[:60] == CLASSES[1]).astype(int), forms[missing])
    assert np.array_equal(parameters(after), parameters(joined(SHRUNK)))


@pytest.mark.parametrize(
    ("name", "y", "answers", "message"),
    [
        ("bob", CAL[1][:3], ["benign"] * 3, "there is an expert 'bob' already; choose another name"),
        ("model", CAL[1][:3], ["benign"] * 3, "name must not be 'model': that word names the model in every decision."),
        (" ", CAL[1][:3], ["benign"] * 3, "name must not be blank, got ' '."),
        (7, CAL[1][:3], ["benign"] * 3, "name must be a text, got a int"),
        ("eve", CAL[1][:3], ["benign", "odd", None], "answers of eve: row 1, column 0: answer 'odd' is not one of ben"),
        ("eve", ["benign", "x", "benign"], ["benign"] * 3, "y: row 1: label 'x' is not one of benign, malign"),
        ("eve", None, ["benign"] * 3, "y must be the true label of each row: without labels nobody can say which"),
        ("eve", ["benign", None, "benign"], ["benign"] * 3, "y must have a label in every row with an answer, got none "
            "in row 1: without it nobody can say whether the answer is right; fill it in or leave the row out."),
        ("eve", ["benign"] * 2, ["benign"] * 3, "answers must have one entry per label: 2 labels, 3 answers."),
        ("eve", ["benign"] * 4, ["benign"] * 4, "X must have one row per label: 4 labels, 3 rows."),
        ("eve", ["benign"] * 3, [["benign", "malign"]] * 3, "answers must be of one expert, (m,), got"),
    ],
)  # fmt: skip
def test_bad_input_is_told(name, y, answers, message):
    form = np.array(answers, dtype=object) if isinstance(answers[0], list) else answers
    with pytest.raises(InputError, match=re.escape(message)):
        SHRUNK.copy().add_expert(name, CAL[0][:3], y, form)


def test_strangers_are_told():
    for call in (lambda: SHRUNK.copy().remove_expert("zoe"), lambda: SHRUNK.copy().rename_expert("zoe", "zed")):
        with pytest.raises(InputError, match=r"no expert 'zoe'\. There are ann, bob, cat, dan"):
            call()
    with pytest.raises(InputError, match=r"no expert 'anne'; did you mean 'ann'\? There are ann, bob, cat, dan"):
        SHRUNK.copy().remove_expert("anne")
    with pytest.raises(InputError, match=r"there is an expert 'cat' already(?!.*remove_expert)"):
        SHRUNK.copy().rename_expert("ann", "cat")
    with pytest.raises(InputError, match="X has 2 features, but fit saw 3"):
        SHRUNK.copy().add_expert("eve", CAL[0][:3, :2], CAL[1][:3], CAL[2][:3, 4])


def test_a_model_without_a_population_says_what_to_do():
    router = Team.from_probabilities([[0.9, 0.1]], [[0.8]], expert_names=["ann"])
    with pytest.raises(InputError, match=r"add_expert: this model \(.*\) was made without the population of its exp"):
        router.copy().add_expert("eve", CAL[0][:3], [0, 1, 0], [0, 1, 0])
    with pytest.raises(InputError, match=r"To leave somebody out, Terms\(absent=\[name\]\) will do"):
        router.copy().remove_expert("ann")
    assert router.copy().rename_expert("ann", "eve").expert_names == ("eve",)
    alone = Team(network(0), CLASSES, (), np.empty(0, np.int64), n_features=3)
    with pytest.raises(InputError, match="this model knows no experts who could tell what to expect of somebody new"):
        joined(alone)


@pytest.mark.parametrize("m", [0, 5])
def test_nobody_joins_a_mixture(m):
    with pytest.raises(InputError, match="no expert can join; fit again"):
        joined(team_of(own_scorer("moe")), m)


@ROUTERS
def test_somebody_always_right_is_drawn_to_the_population(router):
    X, y, _ = CAL
    with pytest.warns(UserWarning, match="all 30 answers of eve are right") as told:
        after = router.copy().add_expert("eve", X[:30], y[:30], y[:30])
    assert told[0].filename == __file__
    proba = after.scores(X).expert_proba[:, 4]
    assert 0.75 < proba.mean() < 0.99
    assert np.isfinite(after.scores(X).expert_raw).all()


@ROUTERS
def test_the_folder_keeps_the_newcomer(router, tmp_path):
    after = joined(calibrated(router), part=CONF).remove_expert("cat")
    after.save(tmp_path / "model")
    again = Team.load(tmp_path / "model")
    assert again.expert_names == ("ann", "bob", "dan", "eve")
    assert np.array_equal(again.scores(TEST[0]).expert_raw, after.scores(TEST[0]).expert_raw)
    assert np.array_equal(again.expert_sd(TEST[0]), after.expert_sd(TEST[0]), equal_nan=True)
    with pytest.raises(InputError, match="50 of 400 rows were seen by"):
        judge(again, *CONF[:2], np.delete(CONF[2], 2, axis=1))


@pytest.mark.parametrize("make", [lambda: DeferralClassifier("linear", loss="ova"), lambda: TwoStageDeferral()])
def test_estimators_hand_it_on(make, tmp_path):
    frame = [pd.DataFrame(part[0], columns=["age", "size", "dose"]) for part in (OLD, CAL)]
    answers = pd.DataFrame(OLD[2][:, :4], columns=NAMES)
    team = make().fit(frame[0], OLD[1], experts=answers)
    before = team.predict_expert_proba(frame[1])
    same = team.add_expert("eve", frame[1][:50], CAL[1][:50], CAL[2][:50, 4])
    assert same is team
    assert (team.n_experts_, team.expert_names_[4]) == (5, "eve")
    np.testing.assert_allclose(team.predict_expert_proba(frame[1])[:, :4], before, rtol=1e-12)
    seen = row_fingerprints(frame[1][:50])
    assert np.isin(seen, team.team_.all_seen()).all()
    team.remove_expert("ann").rename_expert("bob", "rob")
    assert team.expert_names_ == ("rob", "cat", "dan", "eve")
    team.add_expert("fay", [], [], [])
    team.save(tmp_path / "model")
    assert type(team).load(tmp_path / "model").expert_names_ == ("rob", "cat", "dan", "eve", "fay")


def test_joining_a_thousand_takes_less_than_a_second():
    team = SHRUNK.scorer
    scorer = SkillScorer(team.base, team.skill.take(np.arange(1_000) % 4), 0, np.arange(1_000))
    names = tuple(f"expert {j}" for j in range(1_000))
    crowd = Team(scorer, CLASSES, names, np.full(1_000, 400), n_features=3, seen=SHRUNK.seen)
    assert len(joined(crowd).expert_names) == 1_001
