"""The loss, the vote and the target of docs/howto/extend.md do what the page says."""

import numpy as np
from outside_package import example
from toy_team import ANSWERS, TEST, X, Y, fitted, with_panels

from defero.decide.panels import TARGETS
from defero.decide.votes import VOTES
from defero.losses import LOSSES
from defero.team import judge


def named(heading):
    names = {}
    exec(example(heading), names)
    return names


def test_the_loss():
    LOSSES.register("brier", named("A loss")["BRIER"])
    assert fitted(loss="brier").score(X[TEST], Y[TEST], experts=ANSWERS[TEST]) > 0.7


def test_the_vote():
    VOTES.register("surest", named("A vote")["SUREST"])
    answer = with_panels().answer(X[TEST], ANSWERS[TEST], vote="surest")
    assert np.mean(answer.label == Y[TEST]) > 0.75


def test_the_target():
    TARGETS.register("two-right", named("A target of panels")["TWO_RIGHT"])
    record = judge(with_panels(target="two-right").team_, X[TEST], Y[TEST], ANSWERS[TEST])
    assert record.panel.promise.endswith("two right experts, or the only one, are in the set.")
