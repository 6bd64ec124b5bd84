"""A team of four experts on two features, and cases for each stage."""

import numpy as np

from defero import DeferralClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 2))
Y = (X[:, 0] + 0.7 * RNG.normal(size=600) > 0).astype(int)
RIGHT = RNG.random((600, 4)) < np.where(X[:, [1]] > 0, [0.95, 0.9, 0.6, 0.55], [0.6, 0.55, 0.95, 0.9])
ANSWERS = np.where(RIGHT, Y[:, None], 1 - Y[:, None])
TRAIN, CONF, TEST = (slice(*ends) for ends in ((0, 250), (250, 450), (450, 600)))


def fitted(**options):
    """Return a team that has learned from the first cases."""
    team = DeferralClassifier("linear", random_state=0, **options)
    return team.fit(X[TRAIN], Y[TRAIN], experts=ANSWERS[TRAIN])


def with_panels(**options):
    """Return it with panels."""
    team = fitted()
    return team.conformalize(X[CONF], Y[CONF], experts=ANSWERS[CONF], alpha=0.2, **options) or team
