"""A crowd of which few answered each item: fit takes memory for the answers, not for items times experts."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.dummy import DummyClassifier
from torch.utils._python_dispatch import TorchDispatchMode

from defero import (
    BestExpert,
    ConfidenceThreshold,
    DeferralClassifier,
    ModelOnly,
    RandomExpert,
    Recipe,
    TwoStageDeferral,
)
from defero.core.answers import Answers
from defero.estimators.training_data import TrainingData
from defero.team import rows as seen
from defero.training import verdicts


def crowd(n_items, n_experts, n_answers, *, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n_items)
    cells = np.sort(rng.choice(n_items * n_experts, n_answers, replace=False))
    rows, who = np.divmod(cells, n_experts)
    said = np.where(rng.random(n_answers) < 0.8, labels[rows], 1 - labels[rows])
    features = np.stack([labels + rng.normal(size=n_items), rng.normal(size=n_items)], axis=1)
    return features, labels, scipy.sparse.csr_array((said + 1, (rows, who)), shape=(n_items, n_experts))


class LargestTensor(TorchDispatchMode):
    """Take note of the largest tensor that any operation makes, its gradients included."""

    def __init__(self):
        super().__init__()
        self.n_bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for one in made if isinstance(made, tuple | list) else (made,):
            if isinstance(one, torch.Tensor):
                self.n_bytes = max(self.n_bytes, one.numel() * one.element_size())
        return made


def fit_quietly(team, features, labels, experts):
    """Fit; most of the experts are silent, and few iterations are none too few here."""
    with pytest.warns(UserWarning, match="no answer of"):
        return team.fit(features, labels, experts=experts)


def test_the_meter_sees_a_grid_and_its_gradient():
    weight = torch.zeros(2, 500, requires_grad=True)
    with LargestTensor() as meter:
        (torch.zeros(1_000, 2) @ weight).sum().backward()
    assert meter.n_bytes == 4 * 1_000 * 500


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces of rows and small grids have a fixed size: make it small beside a grid that is quick to make."""
    monkeypatch.setattr(verdicts, "CELLS_AT_ONCE", 1 << 16)
    monkeypatch.setattr(verdicts, "LOGITS_AT_ONCE", 1 << 16)
    monkeypatch.setattr(seen, "ANSWERS_AT_ONCE", 1 << 16)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.filterwarnings("ignore:L-BFGS stopped")
@pytest.mark.parametrize(
    ("net", "loss"),
    [
        ("linear", "softmax"),
        pytest.param("linear", "asymmetric", marks=pytest.mark.slow),
        pytest.param("linear", "ova", marks=pytest.mark.slow),
        pytest.param("mlp", "asymmetric", marks=pytest.mark.slow),
        pytest.param("mlp", "decoupled", marks=pytest.mark.slow),
    ],
)
def test_a_network_is_fitted_without_a_grid_of_items_and_experts(net, loss):
    n_items, n_experts = 4_000, 600  # hidden units are 64 an item whoever answers: few beside the experts
    features, labels, experts = crowd(n_items, n_experts, 1_500)
    team = DeferralClassifier(
        net,
        loss=loss,
        recipe=Recipe(max_epochs=1, batch_size=64, validation_fraction=0.5),
        random_state=0,
        device="cpu",
    )
    with LargestTensor() as meter:
        fit_quietly(team, features, labels, experts)
    assert meter.n_bytes < n_items * n_experts / 4  # a grid of flags alone is a byte each


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(
    "team",
    [TwoStageDeferral(expert_model=DummyClassifier(strategy="prior")), BestExpert()],
    ids=lambda team: type(team).__name__,
)
def test_a_plain_model_is_fitted_without_a_grid_of_items_and_experts(team):
    n_items, n_experts = 20_000, 400
    features, labels, experts = crowd(n_items, n_experts, 1_500)
    tracemalloc.start()
    fit_quietly(team, features, labels, experts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < n_items * n_experts * 0.75


@pytest.mark.parametrize("loss", ["softmax", "ova", "decoupled", "asymmetric", "moe"])
def test_listed_answers_teach_a_linear_model_what_the_grid_teaches(loss, monkeypatch):
    features, labels, experts = crowd(400, 12, 1_500)
    found = []
    for at_once, filled in ((verdicts.CELLS_AT_ONCE, verdicts.FILLED), (0, 0)):
        monkeypatch.setattr(verdicts, "CELLS_AT_ONCE", at_once)
        monkeypatch.setattr(verdicts, "FILLED", filled)
        monkeypatch.setattr(verdicts, "LOGITS_AT_ONCE", 1_000)
        team = DeferralClassifier("linear", loss=loss, recipe=Recipe(weight_decay=0.01), random_state=0).fit(
            features, labels, experts=experts
        )
        found.append((team.predict_proba(features), team.predict_expert_proba(features)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3)


@pytest.mark.parametrize("loss", ["softmax", "ova"])
def test_listed_answers_teach_a_network_what_the_grid_teaches(loss, monkeypatch):
    features, labels, experts = crowd(300, 12, 900)
    found = []
    for at_once, filled in ((verdicts.CELLS_AT_ONCE, verdicts.FILLED), (0, 0)):
        monkeypatch.setattr(verdicts, "CELLS_AT_ONCE", at_once)
        monkeypatch.setattr(verdicts, "FILLED", filled)
        team = DeferralClassifier("mlp", loss=loss, recipe=Recipe(max_epochs=3, precision="float64"), random_state=0)
        team.fit(features, labels, experts=experts)
        found.append((team.predict_proba(features), team.predict_expert_proba(features)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)


def data(**given):
    # Right, wrong, right, wrong, right.
    answers = Answers.from_triplets([0, 0, 1, 2, 2], [0, 2, 0, 0, 2], [0, 1, 1, 1, 0], n_items=3, n_experts=4)
    arrays = {name: np.array(value) for name, value in given.items()}
    return TrainingData(
        features=np.zeros((3, 1)),
        labels=np.array([0, 1, 0]),
        label_idx=np.array([0, 1, 0]),
        n_classes=2,
        answers=answers,
        weight=np.array([1.0, 2.0, 3.0]),
        weighted=True,
        **arrays,
    )


def test_a_lesson_tells_each_experts_answers_by_hand():
    plain = data()
    assert [places.tolist() for places in plain.by_expert()] == [[0, 2, 3], [], [1, 4], []]
    assert plain.weight_of_answers().tolist() == [1.0, 1.0, 2.0, 3.0, 3.0]
    assert data(answer_weight=[1.0, 0.5, 1.0, 2.0, 0.0]).weight_of_answers().tolist() == [1.0, 0.5, 2.0, 6.0, 0.0]
    assert plain.without_experts().by_expert() == []


def test_an_answers_weight_counts_beside_its_items():
    weighted = data(answer_weight=[1.0, 0.5, 1.0, 2.0, 0.0])
    right = BestExpert()._learn(weighted).score(np.zeros((1, 1))).expert_proba[0]
    assert right.tolist() == [(1 + 2 + 1) / (9 + 2), 0.5, (0 + 1) / (0.5 + 2), 0.5]
    team = TwoStageDeferral(expert_model=DummyClassifier(strategy="prior"))._learn(weighted)
    right = team.score(np.zeros((1, 1))).expert_proba[0]
    np.testing.assert_allclose(right, [3 / 9, 0.5, (0 + 1) / (0.5 + 2), 0.5], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "build", [TwoStageDeferral, ModelOnly, BestExpert, lambda: RandomExpert(random_state=0), ConfidenceThreshold]
)
def test_a_grid_and_a_list_of_the_same_answers_teach_the_same(build):
    features, labels, experts = crowd(200, 6, 500)
    dense = np.where(experts.toarray() == 0, -1, experts.toarray() - 1)
    one = build().fit(features, labels, experts=experts)
    other = build().fit(features, labels, experts=dense)
    assert np.array_equal(one.predict_expert_proba(features), other.predict_expert_proba(features))
    assert np.array_equal(one.team_.seen["fit+answers"], other.team_.seen["fit+answers"])
