"""A loss of another package: fit, save, load and decide as with our own."""

import numpy as np
import pytest
import torch
from outside_parts import JOINED, SQUARED, squared_loss
from toy_team import ANSWERS, TEST, TRAIN, X, Y, fitted

from defero import DeferralClassifier, InputError, Team
from defero.losses import LOSSES, DeferralLoss, Loss


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
    assert np.array_equal(Team.load(tmp_path / "model").decide(X[TEST]).expert, decision.expert)


def test_our_own_loss_written_anew_gives_the_same_team():
    LOSSES.register("joined", JOINED)
    ours, theirs = (fitted(loss=loss) for loss in ("decoupled", "joined"))
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


def without_observed(class_logits, expert_logits, labels, correct):
    return squared_loss(class_logits, expert_logits, labels, correct)


def four_letters(a, b, c, *, observed=None):
    return a


def with_more(class_logits, expert_logits, labels, correct, *, observed=None, weight):
    return squared_loss(class_logits, expert_logits, labels, correct, observed=observed)


@pytest.mark.parametrize(
    ("function", "got"),
    [
        (without_observed, "without_observed(class_logits, expert_logits, labels, correct)"),
        (four_letters, "four_letters(a, b, c, *, observed=None)"),
        (with_more, "with_more(class_logits, expert_logits, labels, correct, *, observed=None, weight)"),
        ("squared", "'squared'"),
    ],
)
def test_a_loss_that_cannot_be_called_is_refused_when_it_is_described(function, got):
    with pytest.raises(InputError) as caught:
        Loss(function, link="decoupled")
    assert "f(class_logits, expert_logits, labels, correct, *, observed=None)" in str(caught.value)
    assert got in str(caught.value)


def test_what_is_no_loss_is_refused_when_it_is_registered():
    with pytest.raises(InputError, match=r"must be a Loss, got the function squared_loss; pass Loss\(squared_loss, "):
        LOSSES.register("mine", squared_loss)


def changed(change):
    """Return a loss whose values are changed in a wrong way."""

    def loss(*logits, observed=None):
        return change(squared_loss(*logits, observed=observed))

    return loss


def counts_the_missing(class_logits, expert_logits, labels, correct, *, observed=None):
    return squared_loss(class_logits, expert_logits, labels, correct)


def fails(class_logits, expert_logits, labels, correct, *, observed=None):
    return class_logits + expert_logits


@pytest.mark.parametrize(
    ("function", "facts"),
    [
        (changed(torch.mean), ["one value per item, shape (4,)", "got shape ()", 'reduction="none"']),
        (changed(lambda values: values[:, None]), ["got shape (4, 1)"]),
        (changed(lambda values: values.tolist()), ["a tensor", "got list"]),
        (changed(lambda values: values.detach()), ["no gradient", "detach"]),
        (changed(lambda values: values > 0), ["float", "torch.bool"]),
        (counts_the_missing, ["observed", "answers that were not given"]),
        (fails, ["RuntimeError", "(4, 3)", "(4, 2)"]),
    ],
)
def test_a_loss_that_returns_something_else_is_refused_before_training(function, facts):
    LOSSES.register("mine", Loss(function, link="decoupled"))
    for attempt in (lambda: DeferralLoss("mine"), lambda: fitted(loss="mine")):
        with pytest.raises(InputError, match="loss 'mine'") as caught:
            attempt()
        for fact in facts:
            assert fact in str(caught.value)


def test_a_loss_of_a_link_with_a_model_column_takes_its_logit():
    LOSSES.register("mine", Loss(squared_loss, link="moe"))
    with pytest.raises(InputError, match=r"loss 'mine'.*model_logit"):
        DeferralLoss("mine")
