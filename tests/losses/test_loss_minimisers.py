"""The theory in numbers: the pointwise risk of each consistent loss is least at the true probabilities."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from defero.losses import DeferralLoss
from defero.scorers.network import scores_from_logits

CONSISTENT = ["softmax", "ova", "decoupled", "asymmetric"]


def risk(name, logits, eta, p, observed=None):
    """E[loss | x] with y ~ eta and expert j right with probability p_j, exactly: all labels and all patterns."""
    k, j = len(eta), len(p)
    patterns = torch.cartesian_prod(*[torch.tensor([False, True])] * j).reshape(-1, j)
    weight = torch.where(patterns, torch.as_tensor(p), 1 - torch.as_tensor(p)).prod(dim=1)
    labels = torch.arange(k).repeat_interleave(len(patterns))
    weight = torch.as_tensor(eta).repeat_interleave(len(patterns)) * weight.repeat(k)
    rows = len(labels)
    extra = {"model_logit": logits[k + j :].expand(rows, 1)[:, 0]} if name == "moe" else {}
    loss = DeferralLoss(name)(
        logits[:k].expand(rows, k),
        logits[k : k + j].expand(rows, j),
        labels,
        patterns.repeat(k, 1),
        observed=None if observed is None else observed.expand(rows, j),
        **extra,
    )
    return (weight * loss).sum()


def minimiser(name, risk_of, size):
    def value_and_gradient(flat):
        logits = torch.tensor(flat, requires_grad=True)
        value = risk_of(logits)
        value.backward()
        return value.item(), logits.grad.numpy().copy()

    found = minimize(
        value_and_gradient, np.zeros(size), jac=True, method="BFGS", options={"gtol": 1e-11, "maxiter": 5000}
    )
    return found.x


@pytest.mark.parametrize("name", CONSISTENT)
@pytest.mark.parametrize("seed", range(4))
def test_minimising_the_risk_recovers_eta_and_p(name, seed):
    rng = np.random.default_rng(seed)
    eta, p = rng.dirichlet(np.full(5, 2.0)), rng.uniform(0.05, 0.95, 3)
    found = minimiser(name, lambda logits: risk(name, logits, eta, p), 8)
    scores = scores_from_logits(name, found[None, :5], found[None, 5:])
    np.testing.assert_allclose(scores.class_proba[0], eta, atol=1e-6)
    np.testing.assert_allclose(scores.expert_proba[0], p, atol=1e-6)
    assert scores.model_proba[0] == pytest.approx(eta.max(), abs=1e-6)


@pytest.mark.parametrize("name", CONSISTENT)
def test_missing_answers_do_not_move_the_minimiser(name):
    eta, p = np.array([0.5, 0.3, 0.2]), np.array([0.8, 0.4])
    patterns = [([True, True], 0.3), ([True, False], 0.2), ([False, True], 0.1), ([False, False], 0.4)]

    def mixed(logits):
        return sum(weight * risk(name, logits, eta, p, torch.tensor(o)) for o, weight in patterns)

    found = minimiser(name, mixed, 5)
    scores = scores_from_logits(name, found[None, :3], found[None, 3:])
    np.testing.assert_allclose(scores.class_proba[0], eta, atol=1e-6)
    np.testing.assert_allclose(scores.expert_proba[0], p, atol=1e-6)


@pytest.mark.parametrize("p", [0.55, 0.6, 0.7, 0.8, 0.9])
def test_mixture_of_experts_asks_only_above_three_quarters(p):
    """K = 2, eta = 1/2: the optimum is w_1 = 2p - 1, so the expert gets the larger weight only for p > 3/4."""
    found = minimiser("moe", lambda logits: risk("moe", logits, np.array([0.5, 0.5]), np.array([p])), 4)
    scores = scores_from_logits("moe", found[None, :2], found[None, 2:3], model_logit=found[3:])
    assert scores.expert_proba[0, 0] == pytest.approx(2 * p - 1, abs=1e-5)
    assert (scores.expert_proba[0, 0] > scores.model_proba[0]) == (p > 0.75)


@pytest.mark.parametrize("p", [0.2, 0.5])
def test_mixture_of_experts_gives_a_poor_expert_no_weight(p):
    found = minimiser("moe", lambda logits: risk("moe", logits, np.array([0.5, 0.5]), np.array([p])), 4)
    scores = scores_from_logits("moe", found[None, :2], found[None, 2:3], model_logit=found[3:])
    assert scores.expert_proba[0, 0] == pytest.approx(0.0, abs=1e-2)


def test_the_appendix_has_the_sign_wrong_and_the_main_text_right():
    """q_j = p_j / (1 + sum p), not p_j / (1 - sum p) as the appendix prints."""
    eta, p = np.array([0.6, 0.4]), np.array([0.9, 0.7, 0.5])
    q = np.exp(minimiser("softmax", lambda logits: risk("softmax", logits, eta, p), 5))
    q /= q.sum()
    np.testing.assert_allclose(q[2:], p / (1 + p.sum()), atol=1e-6)
    assert np.abs(q[2:] - p / (1 - p.sum())).max() > 0.5
