"""CIFAR-10's teams, on pictures made here: answers that all methods share, and each way of training once."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from defero.core.errors import InputError
from defero.nets import DeferralNet
from defero.papers.verma2023 import cifar10_training
from defero.papers.verma2023.cifar10_parts import Cifar10Parts
from defero.papers.verma2023.cifar10_training import classifier_trunk, train_team, workshop
from defero.papers.verma2023.experiments import EXPERIMENTS
from defero.papers.verma2023.methods import ONE_CLASSIFIER
from defero.papers.verma2023.workshop import Task, Workshop
from defero.training.deep.loop import DeepFit
from defero.training.deep.recipe import Recipe

N = 120
NET = "wrn-10-1"
RECIPE = Recipe(epochs=3, batch_size=20, learning_rate=0.05, ema_decay=None)
POOL = EXPERIMENTS["sim2"].pool(0.95, 0, "as_published")


@pytest.fixture(scope="module")
def parts() -> Cifar10Parts:
    """Ten classes that are told apart by how bright a picture is."""
    rng = np.random.default_rng(0)
    labels = {part: rng.integers(10, size=N) for part in ("train", "validation", "test")}

    def pictures(own: np.ndarray) -> torch.Tensor:
        made = rng.integers(0, 40, size=(N, 32, 32, 3))
        made += 20 * own[:, None, None, None]
        return torch.from_numpy(made.astype(np.uint8))

    return Cifar10Parts({part: pictures(own) for part, own in labels.items()}, labels)


@pytest.mark.parametrize("method", ["ova", "moe", ONE_CLASSIFIER])
def test_each_way_of_training_once(parts: Cifar10Parts, method: str) -> None:
    pool = None if method == ONE_CLASSIFIER else POOL
    team = train_team(parts, pool, method, seed=0, net=NET, recipe=RECIPE)
    n_experts = 0 if pool is None else 4
    for part in ("validation", "test"):
        outputs = getattr(team, part)
        assert (outputs.class_logits.shape, outputs.expert_logits.shape) == ((N, 10), (N, n_experts))
        np.testing.assert_array_equal(outputs.labels, parts.labels[part])
        assert (outputs.model_logit is not None) == (method == "moe")
    assert team.recipe["n_train"] == N
    if method != "moe":
        assert team.test.model_correct.mean() > 0.2  # a guess has a tenth


def test_all_methods_of_a_seed_meet_the_same_answers(parts: Cifar10Parts) -> None:
    first, second = (train_team(parts, POOL, method, seed=1, net=NET, recipe=RECIPE) for method in ("ova", "softmax"))
    np.testing.assert_array_equal(first.test.answers, second.test.answers)
    np.testing.assert_array_equal(first.validation.answers, second.validation.answers)
    other = train_team(parts, POOL, "ova", seed=2, net=NET, recipe=RECIPE)
    assert not np.array_equal(first.test.answers, other.test.answers)
    again = train_team(parts, POOL, "ova", seed=1, net=NET, recipe=RECIPE)
    np.testing.assert_array_equal(first.test.expert_logits, again.test.expert_logits)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Workshop:
    monkeypatch.setattr(cifar10_training, "QUICK_RECIPE", RECIPE)
    monkeypatch.setattr(cifar10_training, "QUICK_TUNING", replace(RECIPE, epochs=1, learning_rate=0.01))
    return workshop(quick=True)


def test_two_stages_start_from_one_classifier_and_meet_the_same_answers(parts: Cifar10Parts, bench: Workshop) -> None:
    team = bench.train(parts, Task(POOL, "two-stage", *bench.nets_of("two-stage"), 1))
    end_to_end = bench.train(parts, Task(POOL, "ova", NET, 1, epochs=1))
    np.testing.assert_array_equal(team.test.answers, end_to_end.test.answers)
    assert team.test.link == "decoupled"
    assert len(team.validation) == N // 2  # the other half was learned from
    value = team.test.scores.expert_proba.mean(axis=0)
    assert value[0] < value[1:].min()  # the first expert guesses


def test_one_classifier_is_trained_once_for_all_that_start_from_it(
    parts: Cifar10Parts, bench: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task(None, ONE_CLASSIFIER, NET, 3)
    first = bench.train(parts, task)
    plain = train_team(parts, None, ONE_CLASSIFIER, seed=3, net=NET, recipe=RECIPE)
    np.testing.assert_array_equal(first.test.class_logits, plain.test.class_logits)
    assert {**first.recipe, "first_step_seconds": 0.0} == {**plain.recipe, "first_step_seconds": 0.0}
    trained = []
    real = cifar10_training.fit_deep

    def counted(module: DeferralNet, *others: Any, **options: Any) -> DeepFit:
        trained.append({name: tensor.clone() for name, tensor in module.trunk.state_dict().items()})
        return real(module, *others, **options)

    monkeypatch.setattr(cifar10_training, "fit_deep", counted)
    np.testing.assert_array_equal(bench.train(parts, task).test.class_logits, first.test.class_logits)
    bench.train(parts, Task(POOL, "two-stage", *bench.nets_of("two-stage"), 3))
    assert not trained
    tuned = bench.train(parts, Task(POOL, "decoupled", *bench.nets_of("decoupled"), 3))
    assert len(trained) == 1
    start = classifier_trunk(parts, seed=3, net=NET, recipe=RECIPE)
    assert trained[0].keys() == start.keys()
    assert all(torch.equal(trained[0][name], start[name]) for name in start)
    assert tuned.recipe["epochs"] == 1
    assert tuned.recipe["start"] == "the trunk of one classifier of the same seed"
    assert tuned.test.model_correct.mean() > 0.2  # a guess has a tenth


def test_a_number_of_epochs_of_ones_own_is_another_classifier(parts: Cifar10Parts, bench: Workshop) -> None:
    long, short = (bench.train(parts, Task(None, ONE_CLASSIFIER, NET, 3, epochs=epochs)) for epochs in (None, 1))
    assert (long.recipe["epochs"], short.recipe["epochs"]) == (3, 1)
    assert not np.array_equal(long.test.class_logits, short.test.class_logits)


def test_what_cannot_be_trained_is_told(parts: Cifar10Parts) -> None:
    with pytest.raises(InputError, match=r"method must be one of ova, .*, one classifier, got 'two-stage'"):
        train_team(parts, POOL, "two-stage", seed=0)
    with pytest.raises(InputError, match="pool must be left out for one classifier and given for the others"):
        train_team(parts, POOL, ONE_CLASSIFIER, seed=0)
