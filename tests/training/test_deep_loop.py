"""The loop on small pictures: what it learns, keeps, watches, and goes on from."""

import dataclasses
import math
import os

import numpy as np
import pytest
import torch
from deep_cases import SETTINGS, J, K, feed, fitted, small_net
from torch import nn

from defero.core.errors import InputError
from defero.core.scores import Scores
from defero.judge import expected_calibration_error, system_accuracy
from defero.losses import DeferralLoss
from defero.nets import DenseNet, Logits
from defero.training.answer_source import FixedAnswers
from defero.training.evaluate import all_logits, evaluate, judge
from defero.training.feeds import DeviceFeed, Rank
from defero.training.loop import _checkpoint_exists, fit_deep
from defero.training.loop_settings import LoopSettings
from defero.training.machine import start_machine
from defero.training.optimisers import BestSoFar
from defero.training.training_state import FILE
from defero.training.verdicts import Verdicts


def changed(**options):
    return dataclasses.replace(SETTINGS, **options)


def same_bits(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))


@pytest.mark.parametrize("options", [{}, {"optimiser": "adamw", "learning_rate": 0.02, "schedule": "cosine"}])
def test_it_learns_and_says_so(options, tmp_path):
    net = small_net()
    fit = fitted(net, settings=changed(epochs=12, patience=None, clip_norm=5.0, **options), folder=tmp_path)
    assert fit.epochs == 12
    assert fit.lines[-1].loss < 0.8 * fit.lines[0].loss
    assert fit.lines[-1].class_accuracy > 0.9
    assert not net.training
    assert fit.checkpoint == tmp_path / FILE
    assert all(math.isfinite(line.seconds) and line.images_per_second > 0 for line in fit.lines)


@pytest.mark.parametrize("name", ["softmax", "ova", "decoupled", "asymmetric"])
def test_every_loss_goes_through(name):
    net = small_net()
    fit = fit_deep(net, DeferralLoss(name), feed(), settings=changed(epochs=1), seed=0, device="cpu")
    assert math.isfinite(fit.lines[0].loss)


def test_a_mixture_reads_its_own_column():
    class Mixture(nn.Module):
        def __init__(self):
            super().__init__()
            self.columns = nn.Linear(3 * 64, K + J + 1)

        def forward(self, pictures):
            out = self.columns(pictures.flatten(1))
            return Logits(out[:, :K], out[:, K : K + J], out[:, K + J])

    fit = fit_deep(
        Mixture(), DeferralLoss("moe"), feed(), feed(24, seed=1), settings=changed(epochs=1), seed=0, device="cpu"
    )
    assert 0 <= fit.lines[0].system_accuracy <= 1


def test_rows_of_numbers_and_few_answers_train_the_same_way():
    rng = np.random.default_rng(0)
    inputs, labels = torch.from_numpy(rng.normal(size=(40, 4))).float(), torch.from_numpy(rng.integers(K, size=40))
    answers = torch.from_numpy(rng.integers(-1, K, size=(40, J)))
    dense = Verdicts.from_codes(answers, labels)
    listed = Verdicts(dense.correct.flip(1), dense.observed.flip(1), torch.tensor([[1, 0]]).expand(40, 2))
    losses = []
    for verdicts in (dense, listed):
        net = DenseNet(4, n_classes=K, n_experts=J, generator=torch.Generator().manual_seed(0))
        train = DeviceFeed(inputs, labels, FixedAnswers(verdicts), seed=0)
        fit = fit_deep(net, DeferralLoss("ova"), train, train, settings=changed(epochs=2), seed=0, device="cpu")
        losses.append([line.held_out_loss for line in fit.lines] + [fit.lines[-1].system_accuracy, fit.lines[-1].ece])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_the_same_seed_gives_the_same_bits_and_leaves_the_callers_numbers_alone():
    before = torch.get_rng_state()
    first, second, other = small_net(), small_net(), small_net()
    fitted(first)
    fitted(second)
    assert same_bits(first, second)
    assert torch.equal(before, torch.get_rng_state())
    fit_deep(other, DeferralLoss("ova"), feed(redrawn=True), settings=SETTINGS, seed=6, device="cpu")
    assert not same_bits(first, other)


def test_a_finished_run_is_not_run_again(tmp_path):
    net, again = small_net(), small_net(seed=9)
    first = fitted(net, folder=tmp_path)
    second = fitted(again, folder=tmp_path)
    assert same_bits(net, again)
    assert [line.loss for line in first.lines] == [line.loss for line in second.lines]
    assert math.isnan(second.first_step_seconds)


def test_another_run_is_not_gone_on_with(tmp_path):
    fitted(small_net(), folder=tmp_path)
    with pytest.raises(InputError, match=r"checkpoint of another run: learning_rate was 0\.05 and is now 0\.1"):
        fitted(small_net(), settings=changed(learning_rate=0.1), folder=tmp_path)
    fit = fitted(small_net(), settings=changed(learning_rate=0.1, epochs=1), folder=tmp_path, resume="never")
    assert [line.epoch for line in fit.lines] == [1]
    with pytest.raises(InputError, match="resume must be one of auto, never, got 'yes'"):
        fitted(small_net(), folder=tmp_path, resume="yes")


def test_a_damaged_checkpoint_is_told(tmp_path):
    (tmp_path / FILE).write_bytes(b"nothing")
    with pytest.raises(InputError, match="is no checkpoint of a training"):
        fitted(small_net(), folder=tmp_path)


class Hostile:
    """Its pickle makes a folder when it is read as code."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_checkpoint_from_elsewhere_runs_no_code(tmp_path):
    path = tmp_path / FILE
    fitted(small_net(), folder=tmp_path)
    for state in (Hostile(tmp_path / "made"), torch.load(path) | {"net": Hostile(tmp_path / "made")}):
        torch.save(state, path)
        with pytest.raises(InputError, match="is no checkpoint of a training"):
            fitted(small_net(), folder=tmp_path)
        assert not (tmp_path / "made").exists()
        torch.load(path, weights_only=False)  # what a reader without care runs
        (tmp_path / "made").rmdir()
        fitted(small_net(), folder=tmp_path, resume="never")


@pytest.mark.parametrize("lost", ["all", "same", "seconds", "net", "loss_sum", "optimiser"])
def test_a_checkpoint_that_lacks_something_is_told(tmp_path, lost):
    path = tmp_path / FILE
    fitted(small_net(), folder=tmp_path)
    state = torch.load(path)
    torch.save([state] if lost == "all" else {name: value for name, value in state.items() if name != lost}, path)
    with pytest.raises(InputError, match=r"is no checkpoint of a training.*remove it") as error:
        fitted(small_net(), folder=tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("ema_decay", [None, 0.5])
def test_the_best_epoch_is_kept_and_patience_ends_a_run(ema_decay):
    net = small_net()
    settings = changed(epochs=40, learning_rate=1.0, schedule="constant", patience=2, ema_decay=ema_decay)
    fit = fitted(net, settings=settings)
    losses = [line.held_out_loss for line in fit.lines]
    assert fit.best_epoch == 1 + int(np.argmin(losses))
    assert fit.epochs == fit.best_epoch + 2 < 40
    machine = start_machine(SETTINGS, device="cpu")
    held_out = feed(24, seed=1, augmented=False)
    held_out.place(machine.device)
    assert evaluate(net, DeferralLoss("ova"), held_out, machine).loss == pytest.approx(min(losses), rel=1e-6)


def test_system_accuracy_can_be_watched():
    fit = fitted(small_net(), settings=changed(epochs=4, watch="system_accuracy", patience=None))
    assert fit.best_epoch == 1 + int(np.argmax([line.system_accuracy for line in fit.lines]))


def test_best_so_far_keeps_a_copy():
    best, weight = BestSoFar("system_accuracy", None), torch.zeros(1)
    best.take(0.5, {"weight": weight}, epoch=1)
    weight += 1
    assert not best.take(0.5, {"weight": weight}, epoch=2)
    assert (best.epoch, best.state["weight"].item()) == (1, 0.0)


def test_looks_can_be_rare_but_the_last_epoch_is_seen():
    fit = fitted(small_net(), settings=changed(epochs=4, evaluate_every=3, patience=None))
    assert [math.isfinite(line.held_out_loss) for line in fit.lines] == [False, False, True, True]


def test_evaluation_is_in_eval_mode_and_leaves_the_mode_as_it_was():
    net = small_net().train()
    net.trunk[1].eval()
    machine = start_machine(SETTINGS, device="cpu")
    held_out = feed(24, seed=1, augmented=False)
    held_out.place(machine.device)
    statistics = net.trunk[1].running_mean.clone()
    one, two = (all_logits(net, held_out, machine, batch_size=size) for size in (24, 5))
    torch.testing.assert_close(one.classes, two.classes)
    assert net.training
    assert not net.trunk[1].training
    assert torch.equal(statistics, net.trunk[1].running_mean)


def test_judged_as_the_metrics_judge():
    rng = np.random.default_rng(2)
    class_proba = rng.dirichlet(np.ones(K), size=200)
    expert_proba = rng.random((200, J))
    labels, answers = rng.integers(K, size=200), rng.integers(K, size=(200, J))
    scores = Scores.from_probabilities(class_proba, expert_proba)
    correct = answers == labels[:, None]
    found = judge(scores, labels, correct, np.ones_like(correct))
    best = expert_proba.argmax(1)
    asked = np.where(expert_proba.max(1) >= class_proba.max(1), best, -1)
    assert found.system_accuracy == system_accuracy(labels, class_proba.argmax(1), answers, asked)
    assert found.class_accuracy == np.mean(class_proba.argmax(1) == labels)
    assert found.ece == expected_calibration_error(expert_proba, correct)
    assert found.deferred == np.mean(asked >= 0)


def test_who_did_not_answer_is_not_asked():
    scores = Scores.from_probabilities([[0.6, 0.4]] * 2, [[0.9], [0.9]])
    observed = np.array([[True], [False]])
    found = judge(scores, np.array([1, 1]), np.array([[True], [True]]), observed)
    assert (found.system_accuracy, found.deferred) == (0.5, 0.5)


def test_without_experts_there_is_no_calibration_error():
    scores = Scores.from_probabilities([[0.6, 0.4]], np.zeros((1, 0)))
    none = np.zeros((1, 0), dtype=bool)
    assert math.isnan(judge(scores, np.array([0]), none, none).ece)


def test_without_a_held_out_part_the_last_average_is_kept():
    net = small_net()
    fit = fit_deep(
        net, DeferralLoss("ova"), feed(), settings=LoopSettings(epochs=2, batch_size=16), seed=0, device="cpu"
    )
    assert fit.best_epoch == fit.epochs == 2
    assert fit.checkpoint is None


def test_a_checkpoint_that_one_process_does_not_find_is_told(tmp_path):
    here = start_machine(SETTINGS, device="cpu")
    here.piece = Rank(1, 2)  # on another disk than the leader's
    here.agreed = lambda value: True
    with pytest.raises(InputError, match=r"process 1 finds no .*; take a folder that all share"):
        _checkpoint_exists(tmp_path / FILE, here)
