"""Between two fits: settled cases move the skill of who answered them, however the log is cut, and no row twice."""

import warnings

import numpy as np
import pandas as pd
import pytest
from roster_team import CLASSES, NAMES, cases, own_scorer, shrunk_scorer, team_of

from defero import DeferralClassifier, ExpertPool, InputError, Team
from defero.core.scores import sigmoid

OLD, NEW, LATER, TEST = (cases(seed) for seed in (0, 1, 2, 3))
SHRUNK, OWN = team_of(shrunk_scorer()), team_of(own_scorer())


def heads(team):
    return team.scorer.skill.heads


def learned(team, part=NEW, rows=slice(0, 60)):
    X, y, said = part
    return team.copy().partial_fit(X[rows], y[rows], said[rows, : len(team.expert_names)])


def same_bits(one, other):
    return np.array_equal(heads(one).weights, heads(other).weights) and np.array_equal(
        heads(one).covariance, heads(other).covariance
    )


def test_a_newcomer_learns_what_joining_with_the_answers_teaches():
    X, y, said = NEW
    for m in (10, 20, 100):
        at_once = SHRUNK.copy().add_expert("eve", X[:m], y[:m], said[:m, 4])
        nobody = SHRUNK.copy().add_expert("eve", None, None, None)
        after = nobody.partial_fit(X[:m], y[:m], {"eve": said[:m, 4]})
        gap = np.abs(after.scores(TEST[0]).expert_proba - at_once.scores(TEST[0]).expert_proba)
        assert gap[:, :4].max() == 0
        assert gap[:, 4].mean() < 0.01
        assert gap[:, 4].max() < 0.03
        assert after.answer_counts.tolist() == [400, 400, 400, 400, m]


def test_more_answers_lead_nearer_to_the_truth():
    X, y, said = NEW
    truth = sigmoid(1 + 2 * TEST[0][:, 1])
    team = SHRUNK.copy().add_expert("eve", X[:20], y[:20], said[:20, 4])
    errors = [np.abs(team.scores(TEST[0]).expert_proba[:, 4] - truth).mean()]
    for rows in (slice(20, 60), slice(60, 400)):
        team.partial_fit(X[rows], y[rows], {"eve": said[rows, 4]})
        errors.append(np.abs(team.scores(TEST[0]).expert_proba[:, 4] - truth).mean())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.06


@pytest.mark.parametrize("cuts", [(), (30,), (1, 2, 3), tuple(range(1, 60))])
def test_a_replayed_log_gives_the_same_numbers(cuts, tmp_path):
    """Case by case or at once, with a folder in between: to the last bit."""
    at_once, team = learned(SHRUNK), SHRUNK.copy()
    for start, stop in zip([0, *cuts], [*cuts, 60], strict=True):
        learn = slice(start, stop)
        team = learned(team, rows=learn)
        if start in (0, 30):
            team.save(tmp_path / "team")
            team = Team.load(tmp_path / "team")
    assert same_bits(at_once, team)
    assert at_once.answer_counts.tolist() == team.answer_counts.tolist() == [460] * 4
    assert np.array_equal(at_once.scores(TEST[0]).expert_raw, team.scores(TEST[0]).expert_raw)
    assert len(team.seen["partial_fit"]) == 60


def test_a_table_with_trees_too_gives_the_same_numbers_however_it_is_cut():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 14))  # more than 12 columns: main directions
    label = (X[:, 0] > 0).astype(int)
    right = rng.random((900, 2)) < sigmoid(1 + 2 * np.where(X[:, [1, 2]] > 0, 1, -1) * np.where(X[:, [3]] > 0, 1, -1))
    said = np.where(right, label[:, None], 1 - label[:, None])
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(14)]).assign(site=np.resize(["a", "b", "c"], 900))
    old, new = slice(0, 860), slice(860, 900)
    team = DeferralClassifier(random_state=0).fit(frame[old], label[old], experts=said[old]).team_
    assert team.scorer.skill.trees is not None
    at_once, by_case = team.copy().partial_fit(frame[new], label[new], said[new]), team.copy()
    for row in range(860, 900):
        by_case.partial_fit(frame[row : row + 1], label[row : row + 1], said[row : row + 1])
    assert same_bits(at_once, by_case)
    assert not same_bits(at_once, team)


def test_nothing_else_changes():
    X, y, said = LATER
    ready = SHRUNK.copy().calibrate(X, y, said[:, :4])
    after = learned(ready)
    before, now = ready.scores(TEST[0]), after.scores(TEST[0])
    assert np.array_equal(before.class_proba, now.class_proba)
    assert np.abs(before.expert_proba - now.expert_proba).max() > 0.005
    for part in ("calibrator", "selection", "law", "classes", "facts"):
        assert getattr(after, part) is getattr(ready, part)
    assert heads(after).prior is heads(ready).prior
    assert SHRUNK.answer_counts.tolist() == [400] * 4


def test_rows_without_an_answer_teach_nothing():
    X, y, said = NEW
    gaps = said[:60, :4].copy()
    gaps[::2] = None
    after = SHRUNK.copy().partial_fit(X[:60], y[:60], gaps)
    assert same_bits(after, SHRUNK.copy().partial_fit(X[1:60:2], y[1:60:2], said[1:60:2, :4]))
    assert after.answer_counts.tolist() == [430] * 4


def test_no_row_teaches_twice_and_no_later_stage_takes_it():
    X, y, said = NEW
    after = learned(SHRUNK)
    with pytest.raises(InputError, match="partial_fit: 60 of 60 rows were seen by fit or partial_fit, and nothing can"):
        learned(after)
    with pytest.raises(InputError, match="partial_fit: 60 of 60 rows were seen by fit"):
        learned(SHRUNK, OLD)
    with pytest.raises(InputError, match="calibrate: 60 of 400 rows were seen by fit or partial_fit"):
        after.copy().calibrate(X, y, said[:, :4])
    twice = learned(after, rows=slice(60, 80))
    assert len(twice.seen["partial_fit"]) == 80
    vouched = after.copy().partial_fit(X[:60], y[:60], said[:60, :4], disjoint=True)
    assert vouched.answer_counts.tolist() == [520] * 4


def test_panels_are_dropped_with_a_word():
    X, y, said = LATER
    ready = SHRUNK.copy().conformalize(X, y, said[:, :4])
    with pytest.warns(UserWarning, match="partial_fit drops the panel's thresholds; call conformalize again") as caught:
        after = learned(ready)
    assert caught[0].filename == __file__
    assert after.panel is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learned(after, rows=slice(60, 80))


def test_whom_only_fit_teaches_is_named():
    X, y, said = NEW
    with pytest.raises(
        InputError, match=r"P\(right\) of ann, bob, cat, dan is learned by fit alone, with the model; fit"
    ):
        learned(OWN)
    given = Team.from_probabilities([[0.9, 0.1]], [[0.8]], expert_names=["ann"])
    with pytest.raises(InputError, match=r"P\(right\) of ann is learned by fit alone"):
        given.partial_fit(None, [0], [[1]])
    joined = OWN.copy().add_expert("eve", X[:20], y[:20], said[:20, 4])
    later = slice(20, 60)
    after = joined.copy().partial_fit(X[later], y[later], {"eve": said[later, 4]})
    assert after.answer_counts.tolist() == [400, 400, 400, 400, 60]
    with pytest.raises(InputError, match="leave these experts blank here"):
        joined.partial_fit(X[later], y[later], said[later])


def test_a_team_of_scores_says_that_it_has_no_labels():
    X, rng = NEW[0], np.random.default_rng(0)
    pool = ExpertPool().fit(X, (rng.random((len(X), 2)) < 0.7).astype(float)).team_
    with pytest.raises(InputError, match="partial_fit: the experts of this team have only scores"):
        pool.partial_fit(X[:5], [0] * 5, [[1, 0]] * 5)


def test_bad_input_is_named():
    X, y, said = NEW
    with pytest.raises(InputError, match="experts must have shape"):
        SHRUNK.copy().partial_fit(X[:5], y[:5], said[:5])
    with pytest.raises(InputError, match=r"row 0: label 'odd' is not one of benign, malign"):
        SHRUNK.copy().partial_fit(X[:5], ["odd"] * 5, said[:5, :4])
    with pytest.raises(InputError, match="no expert 'zoe'"):
        SHRUNK.copy().partial_fit(X[:5], y[:5], {"zoe": said[:5, 0]})
    with pytest.raises(InputError, match="X must have one row per label: 5 labels, 4 rows"):
        SHRUNK.copy().partial_fit(X[:4], y[:5], said[:5, :4])
    assert tuple(CLASSES) == ("benign", "malign")
    assert SHRUNK.expert_names == NAMES
