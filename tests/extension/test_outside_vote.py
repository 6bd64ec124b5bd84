"""A vote of another package, in `answer`."""

import numpy as np
import pytest
from outside_parts import LOUDEST
from toy_team import ANSWERS, TEST, X, Y, fitted, with_panels

from defero import InputError
from defero.decide.votes import VOTES


def test_answer_with_it():
    VOTES.register("loudest", LOUDEST)
    team = with_panels()
    answer = team.answer(X[TEST], ANSWERS[TEST], vote="loudest")
    assert answer.heard.sum(axis=1).max() == 1
    assert np.array_equal(~answer.heard.any(axis=1), ~team.decide(X[TEST]).deferred)
    assert (answer.label == Y[TEST]).mean() > 0.75


def test_an_installed_package_adds_one_without_being_imported(installed):
    installed("defero.votes", "loudest", "LOUDEST")
    assert len(with_panels().answer(X[TEST], ANSWERS[TEST], vote="loudest").label) == 150


@pytest.mark.parametrize("team_of", [fitted, with_panels])
def test_an_unknown_vote_is_named_with_and_without_panels(team_of):
    with pytest.raises(InputError, match=r"vote must be one of bayes, .*, expert, got 'byes'; did you mean"):
        team_of().answer(X[TEST], ANSWERS[TEST], vote="byes")
