"""CIFAR-10's teams, on pictures made here: answers that all methods share, and each way of training once."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from defero import InputError
from defero.nets import DeferralNet
from defero.training import DeepFit, LoopSettings
from defero_verma2023.experiments import EXPERIMENTS
from defero_verma2023.figures.published import paper_folder
from defero_verma2023.methods import ONE_CLASSIFIER
from defero_verma2023.runs.plan import plans_of
from defero_verma2023.runs.record import read_records
from defero_verma2023.runs.trainer import Task, Trainer
from defero_verma2023.training import cifar10 as cifar10_training
from defero_verma2023.training import cifar10_classifier, cifar10_team
from defero_verma2023.training.cifar10 import trainer
from defero_verma2023.training.cifar10_classifier import classifier_trunk, one_classifier
from defero_verma2023.training.cifar10_parts import Cifar10Parts, halved
from defero_verma2023.training.cifar10_team import train_team
from defero_verma2023.training.picture_parts import Stock

N = 120
NET = "wrn-10-1"
SETTINGS = LoopSettings(epochs=3, batch_size=20, learning_rate=0.05, ema_decay=None)
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
    team, _ = train_team(parts, pool, method, seed=0, net=NET, settings=SETTINGS)
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
    options: dict[str, Any] = {"seed": 1, "net": NET, "settings": SETTINGS}
    first, second = (train_team(parts, POOL, method, **options)[0] for method in ("ova", "softmax"))
    np.testing.assert_array_equal(first.test.answers, second.test.answers)
    np.testing.assert_array_equal(first.validation.answers, second.validation.answers)
    other, _ = train_team(parts, POOL, "ova", **options | {"seed": 2})
    assert not np.array_equal(first.test.answers, other.test.answers)
    again, _ = train_team(parts, POOL, "ova", **options)
    np.testing.assert_array_equal(first.test.expert_logits, again.test.expert_logits)


@pytest.mark.parametrize("name", [name for name, one in EXPERIMENTS.items() if one.data_set == "cifar10"])
def test_figure_2_alone_trains_the_two_losses_from_scratch(name: str) -> None:
    keys = [key for plan in plans_of(EXPERIMENTS[name]) for key in plan.keys(trainer(quick=False))]
    losses = "wrn-28-4" if name in ("sim1", "sim2") else "wrn-28-4, tuned"
    assert {(key.method, key.net) for key in keys} == {
        ("ova", losses),
        ("softmax", losses),
        ("moe", "wrn-28-4, tuned"),
        ("decoupled", "wrn-28-4, tuned"),
        ("asymmetric", "wrn-28-4, tuned"),
        ("two-stage", "wrn-28-4, frozen"),
        (ONE_CLASSIFIER, "wrn-28-4"),
    }
    assert len(keys) == len(set(keys))


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Trainer:
    monkeypatch.setattr(cifar10_training, "QUICK_SETTINGS", SETTINGS)
    monkeypatch.setattr(cifar10_training, "QUICK_TUNING", replace(SETTINGS, epochs=1, learning_rate=0.01))
    return trainer(quick=True)


def test_two_stages_start_from_one_classifier_and_meet_the_same_answers(parts: Cifar10Parts, bench: Trainer) -> None:
    team = bench.train(parts, Task(POOL, "two-stage", *bench.nets_of("two-stage"), 1))
    end_to_end = bench.train(parts, Task(POOL, "ova", NET, 1, epochs=1))
    np.testing.assert_array_equal(team.test.answers, end_to_end.test.answers)
    assert team.test.link == "decoupled"
    assert len(team.validation) == N // 2  # the other half was learned from
    value = team.test.scores.expert_proba.mean(axis=0)
    assert value[0] < value[1:].min()  # the first expert guesses
    alone = bench.train(parts, Task(None, ONE_CLASSIFIER, NET, 1))
    np.testing.assert_allclose(team.test.scores.class_proba, alone.test.scores.class_proba, rtol=1e-12)  # it stays


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, torch.Tensor]]:
    """The trunks with which trainings start from now on."""
    starts = []
    real = cifar10_team.fit_deep

    def counted(module: DeferralNet, *others: Any, **options: Any) -> DeepFit:
        starts.append({name: tensor.clone() for name, tensor in module.trunk.state_dict().items()})
        return real(module, *others, **options)

    monkeypatch.setattr(cifar10_team, "fit_deep", counted)
    return starts


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_one_classifier_is_trained_once_for_all_that_start_from_it(
    parts: Cifar10Parts, bench: Trainer, trained: list[dict[str, torch.Tensor]]
) -> None:
    parts = replace(parts, stock=Stock())
    task = Task(None, ONE_CLASSIFIER, NET, 3)
    first = bench.train(parts, task)
    plain, _ = train_team(parts, None, ONE_CLASSIFIER, seed=3, net=NET, settings=SETTINGS)
    np.testing.assert_array_equal(first.test.class_logits, plain.test.class_logits)
    assert {**first.recipe, "first_step_seconds": 0.0} == {**plain.recipe, "first_step_seconds": 0.0}
    trained.clear()
    np.testing.assert_array_equal(bench.train(parts, task).test.class_logits, first.test.class_logits)
    bench.train(parts, Task(POOL, "two-stage", *bench.nets_of("two-stage"), 3))
    assert not trained
    tuned = bench.train(parts, Task(POOL, "decoupled", *bench.nets_of("decoupled"), 3))
    assert len(trained) == 1
    assert same(trained[0], classifier_trunk(parts, seed=3, net=NET, settings=SETTINGS))
    assert tuned.recipe["epochs"] == 1
    assert tuned.recipe["start"] == "the trunk of one classifier of the same seed"
    assert tuned.recipe["start_accuracy"] == first.test.model_correct.mean()
    assert "start" not in first.recipe
    assert tuned.test.model_correct.mean() > 0.2  # a guess has a tenth


def test_another_process_finds_the_classifier_and_what_is_true_of_its_training(
    parts: Cifar10Parts, tmp_path: Path, trained: list[dict[str, torch.Tensor]], monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"seed": 3, "net": NET, "settings": SETTINGS}
    here = replace(parts, stock=Stock(tmp_path))
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(cifar10_classifier, "made_here", lambda: {"machine": {"gpu": "big"}})
        first, trunk = one_classifier(here, **options), classifier_trunk(here, **options)
    there = replace(parts, stock=Stock(tmp_path))
    trained.clear()
    found = one_classifier(there, **options)
    for part in ("validation", "test"):
        ours, theirs = getattr(found, part), getattr(first, part)
        np.testing.assert_array_equal(ours.class_logits, theirs.class_logits)
        np.testing.assert_array_equal(ours.labels, parts.labels[part])
        assert ours.n_experts == 0
    assert (found.seconds, found.recipe, found.made) == (first.seconds, first.recipe, {"machine": {"gpu": "big"}})
    assert same(classifier_trunk(there, **options), trunk)
    assert not trained


@pytest.mark.parametrize(
    "changed",
    [{"seed": 4}, {"settings": replace(SETTINGS, epochs=1)}, {"net": "wrn-10-2"}],
    ids=["seed", "settings", "net"],
)
def test_another_seed_setting_or_net_is_another_classifier(parts: Cifar10Parts, changed: dict[str, Any]) -> None:
    options: dict[str, Any] = {"seed": 3, "net": NET, "settings": SETTINGS}
    one, other = (one_classifier(parts, **options | own) for own in ({}, changed))
    assert not np.array_equal(one.test.class_logits, other.test.class_logits)
    one_trunk, other_trunk = (classifier_trunk(parts, **options | own) for own in ({}, changed))
    assert not same(one_trunk, other_trunk)


def test_pictures_of_another_size_are_another_classifier(parts: Cifar10Parts) -> None:
    small = replace(parts, pictures={part: halved(own) for part, own in parts.pictures.items()})
    one, other = (one_classifier(own, seed=3, net=NET, settings=SETTINGS) for own in (parts, small))
    assert not np.array_equal(one.test.class_logits, other.test.class_logits)


def test_a_number_of_epochs_of_ones_own_is_that_of_the_classifier_beneath_too(
    parts: Cifar10Parts, bench: Trainer, trained: list[dict[str, torch.Tensor]]
) -> None:
    parts = replace(parts, stock=Stock())
    tuned = bench.train(parts, Task(POOL, "moe", *bench.nets_of("moe"), 3, epochs=2))
    assert tuned.recipe["epochs"] == 2
    short = replace(SETTINGS, epochs=2)
    assert same(trained[1], classifier_trunk(parts, seed=3, net=NET, settings=short))
    bench.train(parts, Task(POOL, "two-stage", *bench.nets_of("two-stage"), 3, epochs=2))
    alone = bench.train(parts, Task(None, ONE_CLASSIFIER, NET, 3, epochs=2))
    assert alone.recipe["epochs"] == 2
    assert len(trained) == 2  # the classifier and the mixture


def test_what_cannot_be_trained_is_told(parts: Cifar10Parts) -> None:
    with pytest.raises(InputError, match=r"method must be one of ova, .*, one classifier, got 'two-stage'"):
        train_team(parts, POOL, "two-stage", seed=0, net=NET, settings=SETTINGS)
    with pytest.raises(InputError, match="pool must be left out for one classifier and given for the others"):
        train_team(parts, POOL, ONE_CLASSIFIER, seed=0, net=NET, settings=SETTINGS)


def test_stored_runs_have_the_settings_of_the_command() -> None:
    home = paper_folder()
    if home is None:
        pytest.skip("the runs come with the sources alone")
    wanted = {"wrn-28-4": cifar10_training.SETTINGS, "wrn-28-4, tuned": cifar10_training.TUNING}
    for name in ("sim1", "sim2", "oracles", "noisy-oracles", "overlap"):
        for record in read_records(home / "results" / f"{name}.jsonl"):
            if record.net in wanted:
                settings = asdict(wanted[record.net])
                assert {key: record.recipe[key] for key in settings if key in record.recipe} == {
                    key: value for key, value in settings.items() if key in record.recipe
                }
                assert {"epochs", "learning_rate", "optimiser"} <= record.recipe.keys()
