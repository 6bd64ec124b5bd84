import os
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from defero import InputError
from defero.training import Augmentation, LoopSettings
from defero_verma2023.experiments import EXPERIMENTS
from defero_verma2023.pools.ham10000 import ham10000_pool
from defero_verma2023.pools.pool import ExpertPool, PoolExpert
from defero_verma2023.pools.tables import guess_table
from defero_verma2023.runs.trainer import Task
from defero_verma2023.training import galaxyzoo as galaxyzoo_training
from defero_verma2023.training import ham10000 as ham10000_training
from defero_verma2023.training import picture_training
from defero_verma2023.training.frozen_team import train_frozen_team
from defero_verma2023.training.frozen_trunk import FrozenTrunk, principal_directions
from defero_verma2023.training.mixer_expert import MixerCases, MixerRecipe, MlpMixer, answers_of_mixer
from defero_verma2023.training.picture_parts import PARTS, PictureParts, Stock
from defero_verma2023.training.picture_training import train_picture_team

NEEDS_DATA = pytest.mark.skipif(not os.environ.get("DEFERO_DATA"), reason="DEFERO_DATA names no data folder")
SETTINGS = LoopSettings(epochs=4, batch_size=16, learning_rate=0.05, ema_decay=None)
NET = "wrn-10-1"
POOL = ExpertPool("two", (PoolExpert("guess", "label", guess_table(3)), PoolExpert("sure", "label", np.eye(3))))


def coloured(n_items: int = 180, *, stock: Stock | None = None) -> PictureParts:
    """Pictures whose brightest colour is their class."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=n_items)
    pictures = rng.integers(0, 120, size=(n_items, 16, 16, 3))
    pictures[np.arange(n_items), :, :, labels] += 60
    rows = dict(zip(PARTS, np.split(np.arange(n_items), [n_items // 2, 3 * n_items // 4]), strict=True))
    return PictureParts(
        "coloured", torch.from_numpy(pictures.astype(np.uint8)), labels, 3, rows, 0, stock=stock or Stock()
    )


def trained(parts: PictureParts, pool: ExpertPool | None, method: str, net: str = NET):
    return train_picture_team(parts, pool, method, seed=0, net=net, settings=SETTINGS, augmentation=Augmentation(pad=2))


# --- parts ------------------------------------------------------------------------------------------------------------


def test_the_first_experts_answer_alike_whoever_comes_after_them():
    parts = coloured()
    both, one = (parts.held_out_answers(pool, "test", seed=5) for pool in (POOL, POOL.take([0])))
    np.testing.assert_array_equal(both[:, :1], one)
    assert (both[:, 1] == parts.labels[parts.rows["test"]]).all()


def test_nothing_is_read_that_no_expert_reads():
    parts = PictureParts(
        "x",
        torch.zeros(4, 2, 2, 3, dtype=torch.uint8),
        np.array([0, 1, 2, 3]),
        7,
        {"test": np.array([3, 1])},
        0,
        read={"recorded": lambda: np.array([6, 5, 4, 3])},
    )
    pool = ham10000_pool(variant="as_published")
    assert parts.draw(pool, "test", rng=np.random.default_rng(0))[:, 7].tolist() == [3, 5]
    silent = PictureParts("x", parts.pictures, parts.labels, 7, parts.rows, 0)
    assert silent.draw(pool.take(range(7)), "test", rng=np.random.default_rng(0)).shape == (2, 7)


def test_folds_hold_each_place_once_and_keep_groups_together():
    labels, groups = np.tile([0, 1], 30), np.repeat(np.arange(30), 2)
    parts = PictureParts(
        "x", torch.zeros(60, 1, 1, 3, dtype=torch.uint8), labels, 2, {"train": np.arange(10, 60)}, 0, groups
    )
    folds = parts.folds("train", 5, rng=np.random.default_rng(0))
    assert sorted(np.concatenate(folds).tolist()) == list(range(50))
    where = {group: number for number, fold in enumerate(folds) for group in groups[10 + fold]}
    assert all(where[groups[10 + place]] == number for number, fold in enumerate(folds) for place in fold)


def test_the_stock_outlasts_the_process_and_knows_what_differs(tmp_path: Path):
    def refuse() -> dict[str, np.ndarray]:
        raise AssertionError("made twice")

    made = Stock(tmp_path / "stock").take("x", {"epochs": 1}, lambda: {"a": np.arange(3)})
    np.testing.assert_array_equal(Stock(tmp_path / "stock").take("x", {"epochs": 1}, refuse)["a"], made["a"])
    with pytest.raises(AssertionError, match="made twice"):
        Stock(tmp_path / "stock").take("x", {"epochs": 2}, refuse)
    assert len(list((tmp_path / "stock").iterdir())) == 1


# --- end to end -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["ova", "softmax", "moe"])
def test_a_team_is_trained_end_to_end(method: str):
    parts = coloured()
    team = trained(parts, POOL, method)
    assert team.test.link == method
    assert team.test.expert_logits.shape == (45, 2)
    assert len(team.validation) == 45
    assert (team.test.model_logit is not None) == (method == "moe")
    np.testing.assert_array_equal(team.test.labels, parts.labels[parts.rows["test"]])
    asked = np.concatenate([team.test.class_logits.max(axis=1, keepdims=True), team.test.expert_logits], axis=1)
    if method != "moe":
        assert team.test.model_correct.mean() > 0.9
        assert (asked.argmax(axis=1) != 1).mean() > 0.9  # nobody asks the one who guesses


def test_a_seed_gives_the_same_team_again():
    first, second = (trained(coloured(60), POOL, "ova") for _ in range(2))
    np.testing.assert_array_equal(first.test.expert_logits, second.test.expert_logits)
    np.testing.assert_array_equal(first.test.answers, second.test.answers)


def test_one_classifier_is_trained_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(picture_training, "made_here", lambda: {"machine": {"gpu": "big"}})
        first = trained(coloured(stock=Stock(tmp_path)), None, "one classifier")
    assert first.test.model_correct.mean() > 0.9
    assert first.test.answers.shape == (45, 0)
    second = trained(coloured(stock=Stock(tmp_path)), None, "one classifier")
    assert (second.seconds, second.made) == (first.seconds, {"machine": {"gpu": "big"}})
    np.testing.assert_array_equal(first.test.class_logits, second.test.class_logits)


def test_what_cannot_be_trained_is_told():
    with pytest.raises(InputError, match=r"method must be one of ova, .* with the net wrn-10-1, got 'two-stage'"):
        trained(coloured(), POOL, "two-stage")
    with pytest.raises(InputError, match="pool must be left out for one classifier and given for the others"):
        trained(coloured(), None, "ova")


# --- frozen features --------------------------------------------------------------------------------------------------


def test_main_directions_agree_with_scikit_learn():
    features = np.random.default_rng(0).normal(size=(50, 6)) @ np.diag([5.0, 3, 2, 1, 1, 1])
    rows = np.arange(30)
    theirs = PCA(3, whiten=True).fit(features[rows]).transform(features) * np.sqrt(30 / 29)
    np.testing.assert_allclose(np.abs(principal_directions(features, rows, 3)), np.abs(theirs), rtol=1e-8)


@pytest.mark.parametrize("method", ["decoupled", "asymmetric", "two-stage"])
def test_frozen_teams_learn_who_is_right(method: str):
    parts = coloured(400)
    rng = np.random.default_rng(1)
    trunk = FrozenTrunk(rng.normal(size=(400, 2)), 2 * np.eye(3)[parts.labels] + rng.normal(size=(400, 3)))
    team = train_frozen_team(parts, trunk, POOL, method, seed=0)
    assert team.test.link == "decoupled"
    assert len(team.validation) == len(team.test) == 100
    value = team.test.scores.expert_proba.mean(axis=0)
    assert value[1] > value[0] + 0.3
    assert team.test.model_correct.mean() > 0.7
    assert abs(value[0] - 1 / 3) < 0.15


def test_a_validation_picture_is_not_judged_by_a_model_that_saw_it():
    parts = coloured(240)
    noise = FrozenTrunk(np.random.default_rng(2).normal(size=(240, 40)), np.zeros((240, 3)))
    validation = train_frozen_team(parts, noise, POOL, "decoupled", seed=0).validation
    assert validation.model_correct.mean() < 0.6  # 60 rows in 40 directions would be known by heart


# --- the network expert -----------------------------------------------------------------------------------------------


def test_patches_must_fill_the_picture():
    with pytest.raises(InputError, match="patch must divide the pictures' sides 10 and 12, got 4"):
        MlpMixer((10, 12), n_numbers=1, n_classes=2, patch=4)


def test_the_network_expert_reads_pictures_and_numbers():
    rng = np.random.default_rng(0)
    bright, old = rng.integers(2, size=(2, 300))
    pictures = torch.from_numpy(
        (rng.integers(0, 90, (300, 8, 8, 3)) + 90 * bright[:, None, None, None]).astype(np.uint8)
    )
    cases = MixerCases(pictures, np.stack([50.0 + 30 * old], axis=1), 2 * bright + old, 4)
    recipe = MixerRecipe(patch=4, width=16, depth=1, dropout=0.0, epochs=15, batch_size=32, learning_rate=2e-2)
    folds = tuple(np.array_split(np.arange(200), 2))
    found = answers_of_mixer(cases, np.arange(200), folds, recipe=recipe, seed=0)
    assert (found.answers == cases.labels).mean() > 0.9


def test_training_pictures_are_answered_by_networks_that_did_not_see_them():
    rng = np.random.default_rng(0)
    pictures = torch.from_numpy(rng.integers(0, 256, (80, 8, 8, 3)).astype(np.uint8))
    cases = MixerCases(pictures, np.zeros((80, 1)), rng.integers(2, size=80), 2)
    recipe = MixerRecipe(patch=4, width=64, depth=1, dropout=0.0, epochs=40, batch_size=40, learning_rate=1e-2)
    rows = np.arange(80)
    by_heart = answers_of_mixer(cases, rows, (), recipe=recipe, seed=0).answers
    across = answers_of_mixer(cases, rows, tuple(np.array_split(rows, 2)), recipe=recipe, seed=0).answers
    assert (by_heart == cases.labels).mean() > 0.9
    assert (across == cases.labels).mean() < 0.7


# --- the data sets ----------------------------------------------------------------------------------------------------


@NEEDS_DATA
def test_no_lesion_is_in_two_parts_and_classes_are_shared_out():
    labels, _, patients = ham10000_training._known_patients(os.environ["DEFERO_DATA"])
    assert len(labels) == 9_958
    assert np.isfinite(patients).all()
    parts = ham10000_training.load(1, size=(8, 6), limit=30)
    assert {part: len(rows) for part, rows in parts.rows.items()} == dict.fromkeys(PARTS, 30)
    assert parts.groups is not None
    met = [set(parts.groups[rows]) for rows in parts.rows.values()]
    assert len(set.union(*met)) == sum(map(len, met))


@NEEDS_DATA
def test_a_quick_team_of_skin_lesions(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(ham10000_training.QUICK_DATA, "limit", 60)
    trainer = ham10000_training.trainer(quick=True)
    data = trainer.load(0, "as_published")
    pool = EXPERIMENTS["ham10000"].pool(8, 0, "as_published").take([0, 7])
    team = trainer.train(data, Task(pool, "ova", trainer.nets_of("ova")[0], 0, epochs=1))
    assert team.test.class_logits.shape == (60, 7)
    assert team.test.expert_correct[:, 1].mean() > 0.3  # the network expert was trained: a guess has 1 / 7


@NEEDS_DATA
def test_galaxies_have_a_stand_in_each_or_one_for_all():
    one, own = (galaxyzoo_training.load(0, protocol=protocol, side=64) for protocol in ("as_published", "as_written"))
    assert [len(one.rows[part]) for part in PARTS] == [1200, 400, 400]
    human = one.read["human"]()
    assert abs((human == one.labels).mean() - 0.765) < 0.03
    assert own.read["human"]().shape == (2000, 10)
    pools = [EXPERIMENTS["galaxyzoo"].pool(10, 0, protocol) for protocol in ("as_published", "as_written")]
    same, two = (
        (answers[:, 7] == answers[:, 9]).mean()
        for parts, pool in zip((one, own), pools, strict=True)
        for answers in [parts.held_out_answers(pool, "test", seed=0)]
    )
    assert same == 1.0
    assert two < 0.8


@NEEDS_DATA
def test_a_quick_team_of_galaxies(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(galaxyzoo_training.QUICK_DATA, "limit", 60)
    trainer = galaxyzoo_training.trainer(quick=True)
    pool = EXPERIMENTS["galaxyzoo"].pool(2, 0, "as_published")
    data = trainer.load(0, "as_published")
    team = trainer.train(data, Task(pool, "two-stage", trainer.nets_of("two-stage")[0], 0, epochs=1))
    assert team.test.expert_logits.shape == (60, 2)
