"""DeferralClassifier with deep nets: pictures in, a team out."""

import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.base import clone
from tiny_pictures import Pooled, pictures, small_team

from defero import Team
from defero.core.errors import InputError
from defero.data.recipes.pictures import PictureFiles
from defero.learn.scorer import SkillScorer

X, Y, M = pictures()
NEW_X, NEW_Y, NEW_M = pictures(120, seed=1)


@pytest.fixture(scope="module")
def own_module():
    return small_team(Pooled(), max_epochs=20, learning_rate=0.05).fit(X, Y, experts=M)


def test_a_module_learns_classes_and_who_is_right(own_module):
    assert (own_module.predict(NEW_X) == NEW_Y).mean() > 0.95
    believed = own_module.predict_expert_proba(NEW_X).mean(axis=0)
    assert (np.diff(believed) < 0).all()  # the experts come from the best to the worst
    np.testing.assert_allclose(believed, (NEW_Y[:, None] == NEW_M).mean(axis=0), atol=0.15)
    np.testing.assert_allclose(own_module.predict_proba(NEW_X).sum(axis=1), 1.0)


def test_the_users_module_is_copied():
    module = Pooled()
    before = module.layer.weight.detach().clone()
    first = small_team(module).fit(X, Y, experts=M)
    assert torch.equal(module.layer.weight, before)
    again = clone(first).fit(X, Y, experts=M)
    np.testing.assert_array_equal(first.predict_proba(NEW_X), again.predict_proba(NEW_X))


def test_a_module_that_has_learned_before_starts_from_its_weights():
    trunk = Pooled()
    torch.nn.init.constant_(trunk.layer.weight, 0.25)
    team = small_team(trunk, max_epochs=1, learning_rate=0.0).fit(X, Y, experts=M)
    assert torch.equal(team.team_.scorer.base.net.trunk.layer.weight, trunk.layer.weight)


def test_the_scores_are_those_of_the_net_whatever_the_block(own_module, monkeypatch):
    scorer = own_module.team_.scorer.base
    with torch.no_grad():
        colours = (torch.from_numpy(NEW_X).float() - scorer.inputs.center) / scorer.inputs.scale
        logits = scorer.net(colours.permute(0, 3, 1, 2))
    np.testing.assert_allclose(own_module.predict_expert_proba(NEW_X), torch.sigmoid(logits.experts).numpy(), atol=1e-6)
    whole = scorer.score_with_embedding(NEW_X)
    monkeypatch.setattr("defero.nets.deep_scorer.MOST_AT_ONCE", 7)
    pieces = scorer.score_with_embedding(NEW_X)
    np.testing.assert_allclose(pieces[0].expert_raw, whole[0].expert_raw, atol=1e-5)
    np.testing.assert_allclose(pieces[1], whole[1], atol=1e-5)
    assert scorer.score(NEW_X[:0]).expert_proba.shape == (0, 4)


def test_the_heads_of_newcomers_look_at_the_net_and_not_at_pixels(own_module):
    scorer = own_module.team_.scorer
    assert isinstance(scorer, SkillScorer)
    assert len(scorer.skill.directions.center) == 8  # of 8 x 8 x 3 pixels
    joined = clone(own_module)._adopt(own_module.team_)
    good = np.where(np.arange(120) % 10 == 0, (NEW_Y + 1) % 3, NEW_Y)
    joined.add_expert("eva", NEW_X, NEW_Y, good)
    believed = joined.predict_expert_proba(X)
    np.testing.assert_array_equal(believed[:, :4], own_module.predict_expert_proba(X))
    assert 0.8 < believed[:, 4].mean() < 0.95
    with pytest.raises(InputError, match="seen by"):
        joined.conformalize(NEW_X, NEW_Y, experts=np.column_stack([NEW_M, good]))


def test_a_newcomers_strength_is_found_in_what_the_net_sees(own_module):
    joined = clone(own_module)._adopt(own_module.team_)
    joined.add_expert("kim", NEW_X, NEW_Y, np.where(NEW_Y == 0, 0, (NEW_Y + 1) % 3))
    believed = joined.predict_expert_proba(X)[:, 4]
    assert believed[Y == 0].mean() > believed[Y != 0].mean() + 0.2


def test_rows_of_pictures_are_told_apart():
    team = small_team(Pooled(), max_epochs=1).fit(X, Y, experts=M)
    with pytest.raises(InputError, match="200 of 200 rows were seen by fit"):
        team.calibrate(X, Y, experts=M)
    team.calibrate(NEW_X[:60], NEW_Y[:60], experts=NEW_M[:60])
    team.conformalize(NEW_X[60:], NEW_Y[60:], experts=NEW_M[60:])
    assert team.predict_set(NEW_X).mask.shape == (120, 4)


@pytest.mark.parametrize("loss", ["softmax", "asymmetric", "moe", "auto"])
def test_every_loss_has_a_deep_form(loss):
    team = small_team(Pooled(), loss=loss, max_epochs=2).fit(X, Y, experts=M)
    assert team.predict_expert_proba(X).shape == (200, 4)
    assert team.decide(X).expert.max() >= -1


def test_branches_few_answers_and_nobody():
    two = small_team(Pooled(), branches="two", max_epochs=1).fit(X, Y, experts=M)
    scorer = two.team_.scorer.base
    with torch.no_grad():  # newcomers look at what the experts' own trunk sees
        seen = scorer.net.expert_trunk(scorer.inputs(torch.from_numpy(X)))
        other = scorer.net.trunk(scorer.inputs(torch.from_numpy(X)))
    np.testing.assert_allclose(scorer.score_with_embedding(X)[1], seen.numpy(), atol=1e-5)
    assert not torch.allclose(seen, other, atol=1e-3)
    some = np.where(np.random.default_rng(0).random(M.shape) < 0.3, M, -1)
    assert small_team(Pooled(), max_epochs=1).fit(X, Y, experts=some).team_.answer_counts.sum() == (some >= 0).sum()
    alone = small_team(Pooled(), max_epochs=1).fit(X, Y)
    assert alone.predict_expert_proba(X).shape == (200, 0)


@pytest.mark.parametrize("net", [Pooled(), "wrn-10-1"])
def test_heads_of_their_own_leave_the_classifier_as_it_is_alone(net, tmp_path):
    settings = {"loss": "decoupled", "max_epochs": 2, "validation_fraction": 0.0}
    with_experts = small_team(net, branches="heads", **settings).fit(X, Y, experts=M)
    alone = small_team(net, **settings).fit(X, Y)
    np.testing.assert_allclose(with_experts.predict_proba(X), alone.predict_proba(X), atol=1e-6)
    assert with_experts.predict_expert_proba(X).shape == (200, 4)
    if isinstance(net, str):
        with_experts.team_.save(tmp_path / "team")
        again = Team.load(tmp_path / "team")
        np.testing.assert_allclose(again.scores(X).expert_proba, with_experts.predict_expert_proba(X), atol=1e-6)


def test_without_a_loss_of_the_users_choice_experts_read_the_trunk_without_changing_it():
    settings = {"max_epochs": 2, "validation_fraction": 0.0}
    auto = small_team(Pooled(), loss="auto", **settings).fit(X, Y, experts=M)
    heads = small_team(Pooled(), loss="decoupled", branches="heads", **settings).fit(X, Y, experts=M)
    shared = small_team(Pooled(), loss="decoupled", **settings).fit(X, Y, experts=M)
    np.testing.assert_array_equal(auto.predict_expert_proba(X), heads.predict_expert_proba(X))
    assert not np.allclose(auto.predict_proba(X), shared.predict_proba(X))
    assert small_team(Pooled(), loss="auto", **settings).fit(X, Y).predict_expert_proba(X).shape == (200, 0)


def test_floats_vectors_and_frames():
    grey = X.astype(np.float32) / 255
    team = small_team(Pooled(), max_epochs=15, learning_rate=0.05).fit(grey, Y, experts=M)
    assert (team.predict(NEW_X / 255.0) == NEW_Y).mean() > 0.9
    vectors = X.reshape(len(X), -1)[:, :40].astype(float)
    text = small_team("text-cnn", max_epochs=1).fit(vectors, Y, experts=M)
    assert text.n_features_in_ == 40
    with pytest.raises(ValueError, match="39 features"):
        text.predict(vectors[:, 1:])


def files_of(folder, pixels):
    """Write pictures to files and return them as such."""
    paths = [folder / f"{number}.png" for number in range(len(pixels))]
    for path, picture in zip(paths, pixels, strict=True):
        Image.fromarray(picture).save(path)
    return PictureFiles(paths, (8, 8))


@pytest.mark.parametrize("limit", [1 << 31, 0])
def test_pictures_in_files_are_read_once_or_again_and_again(tmp_path, monkeypatch, limit):
    from defero.estimators import deep_fit

    monkeypatch.setattr(deep_fit, "IN_MEMORY", limit)
    if limit == 0:  # processes that read are tested with the feed
        real = deep_fit.DiskFeed
        monkeypatch.setattr(deep_fit, "DiskFeed", lambda *given, **options: real(*given, workers=0, **options))
    files = files_of(tmp_path, X)
    team = small_team(Pooled(), max_epochs=8, learning_rate=0.05).fit(files, Y, experts=M)
    assert (team.predict(NEW_X) == NEW_Y).mean() > 0.9
    np.testing.assert_array_equal(team.predict_proba(files), team.predict_proba(X))
    with pytest.raises(InputError, match="200 of 200 rows were seen by fit"):
        team.calibrate(files, Y, experts=M)
    (tmp_path / "new").mkdir()
    later = files_of(tmp_path / "new", NEW_X[:30])
    team.add_expert("eva", later, NEW_Y[:30], np.where(np.arange(30) < 3, -1, NEW_M[:30, 2]))
    assert len(team.team_.seen["add_expert"]) == 27
    with pytest.raises(InputError, match="27 of 27 rows were seen by"):
        team.calibrate(later.take(slice(3, 30)), NEW_Y[3:30], experts=np.column_stack([NEW_M, NEW_M[:, 2]])[3:30])


def test_groups_stay_together(monkeypatch):
    from defero.estimators import deep_fit

    seen, real = [], deep_fit.with_deep_population
    monkeypatch.setattr(deep_fit, "with_deep_population", lambda *given: seen.append(given[2]) or real(*given))
    groups = np.arange(200) // 10
    small_team(Pooled(), max_epochs=1).fit(X, Y, experts=M, groups=groups)
    by_group = seen[0].reshape(20, 10)
    assert by_group.any(axis=1).sum() == 2
    assert (by_group.all(axis=1) == by_group.any(axis=1)).all()


@pytest.fixture(scope="module")
def checkpointed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpointed")
    return folder, small_team("wrn-10-1", checkpoints=folder).fit(X, Y, experts=M)


def test_a_finished_training_is_not_done_again(checkpointed):
    folder, whole = checkpointed
    assert (folder / "log.jsonl").read_text().count("\n") == 3
    again = small_team("wrn-10-1", checkpoints=folder).fit(X, Y, experts=M)
    np.testing.assert_array_equal(whole.predict_proba(NEW_X), again.predict_proba(NEW_X))


def test_corrected_answers_are_no_longer_the_same_run(checkpointed):
    folder, _ = checkpointed
    for row in (X.shape[0] - 1, *range(3)):  # some of them are held out: the best epoch depends on those
        corrected = M.copy()
        corrected[row, 0] = (M[row, 0] + 1) % 3
        with pytest.raises(InputError, match=r"is a checkpoint of another run: the answers.* are no longer the same"):
            small_team("wrn-10-1", checkpoints=folder).fit(X, Y, experts=corrected)


@pytest.mark.parametrize(
    ("net", "options", "data", "words"),
    [
        ("wrn-10-1", {"learning_rate": 0.5}, X, "learning_rate was 0.0125 and is now 0.5"),
        ("wrn-10-1", {"random_state": 1}, X, "seed was"),
        ("wrn-10-1", {"loss": "softmax"}, X, "loss was 'ova' and is now 'softmax'"),
        ("wrn-10-1", {"augmentation": "crop"}, X, "augmentation was {'pad': 1, 'flip': True, 'cutout': 0} and is now"),
        ("wrn-16-1", {}, X, "the layers of the net are no longer the same"),
        ("wrn-10-1", {"branches": "two"}, X, "the layers of the net are no longer the same"),
        ("wrn-10-1", {}, X[:, :, ::-1], "the items are no longer the same"),
    ],
)
def test_a_checkpoint_is_taken_up_by_no_other_run(checkpointed, net, options, data, words):
    folder, _ = checkpointed
    with pytest.raises(InputError, match=f"checkpoint of another run: {re.escape(words)}"):
        small_team(net, checkpoints=folder, **options).fit(data, Y, experts=M)


def test_one_group_is_learned_from_and_none_is_held_out():
    team = small_team(Pooled(), max_epochs=1, validation_fraction=0.9).fit(X, Y, experts=M, groups=np.zeros(200, int))
    assert team.predict(X).shape == (200,)


@pytest.mark.parametrize(
    ("shape", "n_items", "batch_size"),
    [((32, 32, 3), 50_000, 512), ((224, 224, 3), 50_000, 64), ((100,), 50_000, 512), ((8, 8, 3), 200, 16)],
)
def test_a_batch_of_large_pictures_is_smaller(shape, n_items, batch_size):
    from defero.estimators.deep_fit import _loop_settings

    options = small_team(batch_size=None)._options()
    assert _loop_settings(options, "wrn-28-4", n_items=n_items, shape=shape).batch_size == batch_size


@pytest.mark.parametrize(
    ("team", "data", "words"),
    [
        (small_team("mlp"), X, r"net='mlp' takes \(n, d\) features, got shape \(200, 8, 8, 3\)"),
        (small_team(answer_weights="label"), X, "answer_weights are for net='auto' with loss='auto'"),
        (small_team(precision="float64"), X, "precision of a deep net must be None or one of float32, bf16-mixed"),
        (small_team(precision="bf16-mixed"), X, "needs a GPU, got the device cpu"),
        (small_team(text="note"), X, "text names columns of a DataFrame, but X holds pictures"),
        (small_team(), X[..., 0], r"grey ones have one channel: X\[..., None\]"),
        (small_team(), np.moveaxis(X, -1, 1), "channels first"),
        (small_team(), np.full((200, 8, 8, 3), np.nan), "X must be finite, got nan or inf in row 0"),
        (small_team(), X.reshape(200, -1), "wrn-10-1 takes pictures"),
        (small_team("text-cnn", text="note"), X.reshape(200, -1), "pass a DataFrame"),
        (small_team(7), X, "or a torch.nn.Module, got 7"),
        (small_team("resnet18"), X, "got 'resnet18'; did you mean 'resnet-18'?"),
        (small_team("wrn-27-4"), X, "got 'wrn-27-4'; did you mean 'wrn-28-4'?"),
        (small_team("liner"), X, "got 'liner'; did you mean 'linear'?"),
        (small_team(device="gpu"), X, "device must be .* got 'gpu'"),
    ],
)
def test_options_that_deep_nets_do_not_support_raise(team, data, words):
    with pytest.raises(InputError, match=words):
        team.fit(data, Y, experts=M)


def test_more_errors(own_module, monkeypatch):
    with pytest.raises(InputError, match="sample_weight: deep nets"):
        small_team().fit(X, Y, experts=M, sample_weight=np.ones(200))
    with pytest.raises(InputError, match=r"X must be numbers of shape \(n, 8, 8, 3\) as in fit, got uint8 of shape"):
        own_module.predict(X[:, :4])
    with pytest.raises(InputError, match="branches='two' needs experts"):
        small_team(branches="two").fit(X, Y)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(InputError, match="device='cuda:0': torch finds no GPU"):
        small_team(device="cuda:0").fit(X, Y, experts=M)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match="random_state must be a number"):
        small_team(random_state=None).fit(X, Y, experts=M)


def test_small_nets_do_not_load_the_deep_loop():
    code = (
        "import sys, numpy as np\n"
        "from defero import DeferralClassifier, Recipe\n"
        "DeferralClassifier('mlp', recipe=Recipe(max_epochs=1)).fit(np.eye(40), np.arange(40) % 2)\n"
        "print([name for name in ('lightning_fabric', 'defero.training.loop', 'onnx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
