"""Newcomers: what each way says of somebody with few answers, and how it is judged."""

import numpy as np
import pytest
from benchmarks.field.newcomers import WAYS, Scene, draw_two_kinds, figures, run_split, scene_of
from benchmarks.field.newcomers_page import difference, winners
from benchmarks.field.problem import FieldSet

SMALL = FieldSet("small", draw_two_kinds, "Two kinds.", "simulated", n_train=500, n_test=200, fresh=True)


@pytest.fixture(scope="module")
def scene(monkeypatch_module):
    return scene_of(SMALL.problem(0))


@pytest.fixture(scope="module")
def monkeypatch_module():
    """Train L2D-Pop for a moment only: nothing here depends on how good it is."""
    patch = pytest.MonkeyPatch()
    patch.setattr("benchmarks.field.methods.small_training.MOST_EPOCHS", 2)
    patch.setattr("benchmarks.field.methods.first_stage.MOST_CLASSES_TO_BOOST", 0)
    patch.setattr("benchmarks.field.methods.l2d_pop.ALL_EPISODES", 60)
    patch.setattr("benchmarks.field.newcomers.N_ANSWERS", (0, 30))
    yield
    patch.undo()


def test_two_kinds_are_each_good_where_the_others_are_not():
    split = draw_two_kinds(0)
    region = split.train.features.to_numpy()[:, 5:9].argmax(axis=1)
    rate = [
        split.train.correct[region < 2][:, kind::2][split.train.observed[region < 2][:, kind::2]].mean()
        for kind in (0, 1)
    ]
    assert rate == pytest.approx([0.95, 0.3], abs=0.03)


@pytest.mark.parametrize("way", WAYS)
def test_nothing_of_a_newcomer_is_known_before_they_join(scene, way):
    problem = scene.problem
    join = WAYS[way](scene)
    nothing = join(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    assert nothing.shape == (len(problem.test),)
    assert ((nothing > 0) & (nothing < 1)).all()
    # Answers of newcomers in the training table change nothing: they were left out.
    other = np.where(scene.new, (problem.train.answer_idx + 1) % 4, problem.train.answer_idx)
    changed = problem.train.__class__(problem.train.features, problem.train.label_idx, other)
    twin = Scene(problem.__class__(**(vars(problem) | {"train": changed})), scene.new, scene.mean, scene.attention)
    np.testing.assert_allclose(WAYS[way](twin)(*(np.zeros(0, dtype=np.int64),) * 2), nothing, atol=1e-6)


def test_shrunken_share_by_hand(scene):
    rows = np.flatnonzero(scene.problem.train.label_idx >= 0)[:10]
    right = scene.problem.train.label_idx[rows]
    mean = scene.known_answers()[2].mean()
    assert WAYS["shrunken share"](scene)(rows, right)[0] == pytest.approx((10 + 10 * mean) / 20)


def test_figures_by_hand(scene):
    test = scene.problem.test
    sure = np.where(test.correct, 1.0, 0.0)
    line = figures(scene, sure)
    assert line["log_loss"] == pytest.approx(1e-4, abs=1e-5)
    can = test.observed & scene.new
    rows = can.any(axis=1)
    model = (scene.class_proba().argmax(axis=1) == test.label_idx)[rows]
    assert line["accuracy"] == pytest.approx(((test.correct & can)[rows].any(axis=1) | model).mean(), abs=1e-4)


def test_every_way_has_a_line_for_each_number_of_answers(scene, monkeypatch):
    monkeypatch.setattr("benchmarks.field.newcomers.scene_of", lambda problem: scene)
    lines = run_split(SMALL, 0)
    assert {(line["system"], line["n_answers"]) for line in lines} == {(way, n) for way in WAYS for n in (0, 30)}


def test_the_winner_is_named_after_holm():
    lines = [
        {"set": one, "system": way, "split": seed, "n_answers": 5, "log_loss": loss + 0.001 * seed * (way[0] == "L")}
        | {"n_train": 100, "n_test": 50}
        for one in ("wedge-two-kinds",)
        for way, loss in (("shrunk heads", 0.5), ("L2D-Pop, mean", 0.4), ("L2D-Pop, attention", 0.6))
        for seed in range(5)
    ]
    assert difference(lines, "wedge-two-kinds", "L2D-Pop, mean", 5).mean == pytest.approx(-0.098)
    assert "| wedge-two-kinds, 5 answers | L2D-Pop, mean | -0.098" in winners(lines)
    assert "L2D-Pop, mean wins" in winners(lines)
