"""How unsure P(expert is right) is: against draws of the heads, and after calibration."""

import numpy as np
import pytest
from roster_team import CLASSES, NAMES, cases, network, own_scorer, shrunk_scorer, team_of

from defero import Team
from defero.core.scores import sigmoid

X, Y, SAID = cases(1)
FRESH = cases(2)[0]


def drawn_sd(router, n_draws=20_000):
    """Draw heads from their posteriors, calibrate each draw's log-odds, and look at the spread."""
    team = router.scorer
    phi = team.lens.transform(FRESH[:20], team.base.score(FRESH[:20]).class_proba)
    design, rng = team.heads.prior.design(phi), np.random.default_rng(0)
    found = np.full((20, len(router.expert_names)), np.nan)
    for j, column in enumerate(team.order):
        if column < team.n_own:
            continue
        mean, covariance = (one[column - team.n_own] for one in (team.heads.weights, team.heads.covariance))
        logits = design @ rng.multivariate_normal(mean, covariance, n_draws).T
        raw = logits if team.base.score(FRESH[:1]).link == "logit" else -np.logaddexp(0, -logits)
        if router.calibrator is None:
            proba = sigmoid(logits)
        else:
            own = router.calibrator.experts.take((j,))
            proba = sigmoid(own.logits(raw.reshape(-1, 1))).reshape(raw.shape)
        found[:, j] = proba.std(axis=1)
    return found


@pytest.mark.parametrize("method", [None, "platt", "isotonic"])
@pytest.mark.parametrize("make", [shrunk_scorer, own_scorer, lambda: own_scorer("softmax")])
def test_the_spread_is_that_of_draws(make, method):
    router = team_of(make())
    if method is not None:
        router = router.copy().calibrate(X, Y, SAID[:, :4], method=method)
    for m in (0, 50, 400):
        more = router.copy().add_expert(
            "eve", FRESH[-m:] if m else [], *([Y, SAID[:, 4]] if m == 400 else [Y[:m], SAID[:m, 4]])
        )
        found, drawn = more.expert_sd(FRESH[:20]), drawn_sd(more)
        assert np.array_equal(np.isnan(found), np.isnan(drawn))
        # Half the distance of the quantiles at one standard deviation: a little wide where the spread is.
        np.testing.assert_allclose(found, drawn, rtol=0.3 if method != "isotonic" else 1.0, atol=0.02)


def test_it_is_half_the_distance_between_one_sd_below_and_above():
    router = team_of(shrunk_scorer()).add_expert("eve", X[:9], Y[:9], SAID[:9, 4])
    team, found = router.scorer, router.expert_sd(3 * FRESH)
    design = team.heads.prior.design(team.lens.transform(3 * FRESH, team.base.score(3 * FRESH).class_proba))
    for j in range(5):
        middle = design @ team.heads.weights[j]
        far = np.sqrt([row @ team.heads.covariance[j] @ row for row in design])
        mean = sigmoid(middle / np.sqrt(1 + np.pi * far**2 / 8))
        half = (sigmoid(middle + far) - sigmoid(middle - far)) / 2
        np.testing.assert_allclose(found[:, j], np.minimum(half, np.sqrt(mean * (1 - mean))), rtol=1e-8)


def test_more_answers_are_surer():
    router = team_of(shrunk_scorer())
    spreads = [
        router.copy().add_expert("eve", X[:m], Y[:m], SAID[:m, 4]).expert_sd(FRESH)[:, 4].mean() for m in (0, 20, 400)
    ]
    assert spreads[0] > 1.2 * spreads[1] > 2 * spreads[2] > 0


def test_without_heads_nothing_is_known_of_the_doubt():
    plain = Team.from_probabilities([[0.9, 0.1]], [[0.8]], expert_names=["ann"])
    assert np.isnan(plain.expert_sd()).all()
    bare = Team(network(4), CLASSES, NAMES, np.full(4, 9), n_features=3)
    assert np.isnan(bare.expert_sd(FRESH)).all()
    assert bare.expert_sd(FRESH).shape == (400, 4)
    assert np.isnan(team_of(own_scorer("moe")).expert_sd(FRESH)).all()


def test_no_spread_is_larger_than_a_probability_can_have():
    router = team_of(shrunk_scorer()).add_expert("eve", None, None, None)
    far = 50 * FRESH
    proba, spread = router.scores(far).expert_proba, router.expert_sd(far)
    assert (spread <= np.sqrt(proba * (1 - proba)) + 1e-12).all()
    assert (spread >= 0).all()
