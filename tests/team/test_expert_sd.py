"""How unsure P(expert is right) is, by what is known of the weights, and after calibration."""

import numpy as np
import pytest
from roster_team import CLASSES, NAMES, cases, network, own_scorer, shrunk_scorer, team_of

from defero import Team
from defero.core.scores import sigmoid

X, Y, SAID = cases(1)
CASES = cases(2)
FRESH = CASES[0]


@pytest.mark.parametrize("method", [None, "auto"])
@pytest.mark.parametrize("make", [shrunk_scorer, own_scorer, lambda: own_scorer("softmax")])
def test_it_is_half_the_distance_between_one_sd_below_and_above(make, method):
    router = team_of(make())
    if method is not None:
        router = router.copy().calibrate(X, Y, SAID[:, :4], method=method)
    router = router.copy().add_expert("eve", FRESH[:9], CASES[1][:9], CASES[2][:9, 4])
    found, scorer = router.expert_sd(3 * FRESH), router.scorer
    middle, far = scorer.logit_posterior(3 * FRESH)
    known = np.isfinite(far[0])
    assert known.tolist() == [column >= scorer.n_own for column in scorer.order]
    log = scorer.base.score(FRESH[:1]).link == "log"
    low, high = (middle + step * far for step in (-1, 1))
    if log:
        low, high = (-np.logaddexp(0, -np.nan_to_num(one)) for one in (low, high))
    if method is None:
        low, high = (np.exp(one) if log else sigmoid(one) for one in (low, high))
    else:
        low, high = (sigmoid(router.calibrator.expert_log_odds(one)) for one in (low, high))
    mean = router.scores(3 * FRESH).expert_proba
    np.testing.assert_allclose(
        found[:, known], np.minimum((high - low) / 2, np.sqrt(mean * (1 - mean)))[:, known], rtol=1e-6, atol=1e-9
    )
    assert np.isnan(found[:, ~known]).all()


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
