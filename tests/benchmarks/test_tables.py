"""The benchmark on tables: laws with a known best team, systems, runs that are taken up, verdicts that can fail."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.tables import bounds, plain
from benchmarks.tables.__main__ import run
from benchmarks.tables.outcome import choose
from benchmarks.tables.page import page
from benchmarks.tables.sets import SETTINGS, few_answers, true_gain
from benchmarks.tables.setting import Setting
from benchmarks.tables.split import Rows, Split, Truth, cut
from benchmarks.tables.summary import Table
from benchmarks.tables.trial import PLAIN, Results
from benchmarks.tables.verdicts import verdicts

from benchmarks import plane

SYSTEMS = {system.name: system for system in plain.SYSTEMS}


@pytest.mark.parametrize("law", [true_gain.constant, true_gain.hard_region])
def test_the_best_team_is_three_points_above_the_best_model(law):
    features = np.random.default_rng(0).normal(size=(400_000, 6))
    truth = law(features)
    model = np.maximum(truth.positive, 1 - truth.positive)
    assert np.maximum(model, truth.right.max(axis=1)).mean() - model.mean() == pytest.approx(0.03, abs=5e-4)


def test_each_expert_has_twenty_answers():
    split = few_answers.draw_skilled(10, 0)
    assert split.train.observed.sum(axis=0).tolist() == [20] * 10
    assert split.test.observed.all()


@pytest.mark.parametrize("law", plane.LAWS)
def test_skill_in_the_plane_swings_by_more_than_two_fifths(law):
    split = plane.draw(law, 0.5, n_learn=2_000, n_test=2_000)
    proba = split.truth.expert_proba
    assert (proba.max(axis=0) - proba.min(axis=0) >= 0.4).all()
    assert split.train.observed.mean() == pytest.approx(0.5, abs=0.03)
    # The answers follow the law, in the test rows as well as in those that are learned from.
    assert split.test.correct.mean(axis=0) == pytest.approx(proba.mean(axis=0), abs=0.05)


def test_true_values_agree_with_a_loop():
    rng = np.random.default_rng(1)
    truth = Truth(rng.dirichlet(np.ones(3), size=50), rng.random((50, 2)))
    expert, model_idx = rng.integers(-1, 2, 50), rng.integers(0, 3, 50)
    by_hand = [
        truth.class_proba[i, model_idx[i]] if expert[i] < 0 else truth.expert_proba[i, expert[i]] for i in range(50)
    ]
    assert truth.value(expert, model_idx) == pytest.approx(np.mean(by_hand))


def test_the_best_expert_who_can_be_asked_decides():
    rows = Rows(pd.DataFrame({"x": [0, 0, 0]}), np.zeros(3, int), np.array([[0, 1], [-1, 0], [0, 0]]))
    class_proba = np.array([[0.7, 0.3], [0.7, 0.3], [0.1, 0.9]])
    outcome = choose(class_proba, np.array([[0.8, 0.75]] * 3), rows)
    assert outcome.expert.tolist() == [0, 1, -1]
    assert outcome.p_right.tolist() == [0.8, 0.75, 0.9]
    assert outcome.label_idx(rows).tolist() == [0, 0, 1]


def test_rows_of_a_group_are_on_one_side():
    groups = np.repeat(np.arange(30), 4)
    rows = Rows(pd.DataFrame({"x": groups}), np.arange(120) % 2, np.zeros((120, 1), int), groups)
    first, second = cut(rows, seed=0)
    assert not set(groups[first]) & set(groups[second])


def tiny(seed: int) -> Split:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, 300)
    features = pd.DataFrame({"x": labels + rng.normal(size=300), "kind": rng.choice(["a", "b"], 300)})
    answers = np.where(rng.random((300, 2)) < 0.8, labels[:, None], 1 - labels[:, None])
    rows = Rows(features, labels, answers)
    return Split(rows.take(np.arange(200)), rows.take(np.arange(200, 300)), n_classes=2, seed=seed)


def test_a_run_is_taken_up_where_it_was(tmp_path, capsys):
    setting, results = Setting("tiny", tiny, "Drawn."), Results(tmp_path / "tables.jsonl")
    run([setting], list(SYSTEMS.values()), results, splits=1, tag="now", seconds=60)
    assert len(results.read()) == len(SYSTEMS)
    with results.path.open("a") as file:
        file.write('{"set": "tiny", "sys')  # cut while it was written
    capsys.readouterr()
    run([setting], list(SYSTEMS.values()), results, splits=1, tag="now", seconds=60)
    assert capsys.readouterr().out == ""
    line = results.read()["tiny", "plain boosted", 0, PLAIN]
    assert line["commit"] or not (Path(__file__).parents[2] / ".git").exists()  # a copy without history has none
    assert 0.5 < line["accuracy"] <= 1
    assert "## Every system" in page(results.read(), {"tiny": setting}, SYSTEMS | ours(), tag="now")


def ours():
    from benchmarks.tables.ours import SYSTEMS as OURS

    return {system.name: system for system in OURS}


def lines(system: str, tag: str, accuracy: float, **more: float) -> dict:
    return {
        ("tiny", system, seed, tag): {
            "set": "tiny", "system": system, "split": seed, "tag": tag, "n_train": 200, "n_test": 100,
            "accuracy": accuracy + seed / 1000, "questions": 0.5, "promised": accuracy + seed / 900, **more,
        }
        for seed in range(10)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("default", "promised", "kind", "failing"),
    [
        (0.90, 0.90, "table", []),
        (0.85, 0.85, "table", ["no significant loss", "no mean more than 0.5"]),
        (0.90, 0.95, "table", ["promised minus kept, one expert"]),
        (0.90, 0.90, "few answers", ["at least 1 point above every plain system"]),
    ],
)
def test_verdicts_fail_where_they_should(default, promised, kind, failing):
    trials = {
        **lines("default", "now", default, promised=promised),
        **lines("plain boosted", PLAIN, 0.895),
        **lines("model alone", PLAIN, 0.88),
    }
    table = Table(trials, {"tiny": Setting("tiny", tiny, "", kind=kind)}, SYSTEMS | ours(), "now")
    failures = [verdict.claim for verdict in verdicts(table) if verdict.failures]
    assert [claim.startswith(words) for claim, words in zip(failures, failing, strict=True)] == [True] * len(failing)


def test_every_set_has_its_own_name_and_note():
    assert len(SETTINGS) == 18 + 3 + 3 + 5 + 3 + 2
    assert all(setting.note for setting in SETTINGS.values())


def test_a_team_that_is_told_more_gets_further():
    split = few_answers.draw_skilled(10, 1_000)
    alone = float((split.truth.class_proba.argmax(axis=1) == split.test.label_idx).mean())
    assert alone < bounds.law_known(split) < bounds.all_known(split)
    simulated = true_gain.draw(true_gain.hard_region, 1_000)
    told = bounds.BOUNDS["gain3-hard-region"]
    reached = [bound(simulated) for bound in told.values()]
    assert reached[0] == pytest.approx(simulated.truth.best_team())
    assert simulated.truth.best_model() < reached[1] <= reached[0]


def test_experts_who_share_the_highest_count_are_found():
    split = few_answers.draw_skilled(50, 1_000)
    right = (split.train.correct & split.train.observed).sum(axis=0)
    found = bounds.tied_experts(split)
    assert found["n"] == (right == right.max()).sum()
    assert 0.5 < found["mean"] <= 1
    assert (found["range"] == 0) == (found["n"] == 1)


def test_every_set_of_few_answers_or_true_gain_has_a_bound():
    judged = [name for name, setting in SETTINGS.items() if setting.kind in ("few answers", "true gain")]
    assert sorted(bounds.BOUNDS) == sorted(judged) == sorted(bounds.stored())
    assert all(what in bounds.WHAT for told in bounds.BOUNDS.values() for what in told)
