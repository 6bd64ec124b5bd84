"""A loss of another package: fit, save, load and decide as with our own."""

import numpy as np
import pytest
from outside_parts import JOINED, SQUARED
from toy_team import ANSWERS, TEST, TRAIN, X, Y, fitted

from defero import DeferralClassifier, InputError, Router
from defero.losses import LOSSES, Loss


def test_fit_save_load_decide(tmp_path):
    LOSSES.register("squared", SQUARED)
    team = fitted(loss="squared")
    decision = team.decide(X[TEST])
    assert decision.deferred.any()
    team.save(tmp_path / "model")
    again = DeferralClassifier.load(tmp_path / "model")
    assert np.array_equal(again.decide(X[TEST]).expert, decision.expert)
    # The folder names the link: it is served where nobody knows the loss.
    LOSSES._values.clear()
    assert np.array_equal(Router.load(tmp_path / "model").decide(X[TEST]).expert, decision.expert)


def test_our_own_loss_written_anew_gives_the_same_team_with_shrunk_heads_too():
    LOSSES.register("joined", JOINED)
    for heads in ("separate", "shrunk"):
        ours, theirs = (fitted(loss=loss, heads=heads) for loss in ("decoupled", "joined"))
        np.testing.assert_allclose(theirs.predict_expert_proba(X[TEST]), ours.predict_expert_proba(X[TEST]), atol=1e-4)


def test_an_installed_package_adds_one_without_being_imported(installed):
    installed("defero.losses", "squared", "SQUARED")
    assert fitted(loss="squared").score(X[TEST], Y[TEST], experts=ANSWERS[TEST]) > 0.7
    assert "squared" in LOSSES


def test_unknown_and_taken_names():
    with pytest.raises(InputError, match=r"loss must be one of softmax, .*, got 'sofmax'; did you mean 'softmax'"):
        DeferralClassifier(loss="sofmax").fit(X[TRAIN], Y[TRAIN], experts=ANSWERS[TRAIN])
    with pytest.raises(InputError, match="'ova' is registered already"):
        LOSSES.register("ova", SQUARED)
    with pytest.raises(InputError, match="'ova' is registered already"):
        LOSSES.register("ova", SQUARED, replace=True)


def test_a_cell_that_is_run_again_replaces_its_loss():
    LOSSES.register("mine", SQUARED)
    with pytest.raises(InputError, match="replace=True"):
        LOSSES.register("mine", JOINED)
    LOSSES.register("mine", JOINED, replace=True)
    assert LOSSES.find("mine") is JOINED


def test_a_loss_that_is_no_number_is_an_error():
    def nothing(class_logits, expert_logits, labels, correct, *, observed=None):
        return class_logits.sum(dim=1) * float("nan")

    LOSSES.register("nothing", Loss(nothing, link="decoupled"))
    with pytest.raises(InputError, match="loss is nan on the training part"):
        fitted(loss="nothing")
