"""How often the model's own label is right: mapped where a temperature falls short, and only there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, logit

from defero import InputError
from defero.calibration.temperature import FEWEST_ITEMS, apply_temperature, choose_top_label, fit_temperature
from defero.core.codec import pack, unpack
from defero.scorers.blend import BlendScorer, with_top
from defero.scorers.network import NetworkScorer


def sharp_border(n, rng):
    """A smooth model of labels that are right in 90 % on either side of a border."""
    x = rng.normal(size=n)
    first = expit(1.5 * x)
    label_idx = ((rng.random(n) < 0.9) == (x > 0)).astype(int)
    return np.column_stack([1 - first, first]), label_idx


def test_a_smooth_model_of_a_sharp_border_is_right_more_often_than_it_says():
    rng = np.random.default_rng(0)
    proba, label_idx = sharp_border(2_000, rng)
    top = choose_top_label(proba, label_idx, np.ones(2_000))
    new, new_idx = sharp_border(50_000, rng)
    kept = (new.argmax(axis=1) == new_idx).mean()
    tempered = apply_temperature(new, fit_temperature(proba, label_idx))
    assert tempered.max(axis=1).mean() < kept - 0.03  # at the best temperature
    assert with_top(new, top).max(axis=1).mean() == pytest.approx(kept, abs=0.015)


def test_calibrated_models_and_few_labels_stay_as_they_are():
    rng = np.random.default_rng(1)
    proba = rng.dirichlet(np.ones(3), 3_000)
    label_idx = (proba.cumsum(axis=1) < rng.random((3_000, 1))).sum(axis=1)
    assert choose_top_label(proba, label_idx, np.ones(3_000)) is None
    few, few_idx = sharp_border(FEWEST_ITEMS - 1, rng)
    assert choose_top_label(few, few_idx, np.ones(len(few_idx))) is None


def test_a_surer_label_never_counts_less():
    rng = np.random.default_rng(2)
    first = rng.uniform(0.5, 1.0, 1_000)
    wrong_if_sure = (rng.random(1_000) < first).astype(int)  # the surer, the less often right
    _, slope = choose_top_label(np.column_stack([first, 1 - first]), wrong_if_sure, np.ones(1_000))
    assert slope == 0


@given(
    arrays(float, st.tuples(st.integers(1, 20), st.integers(2, 5)), elements=st.floats(0.0, 1.0)),
    st.floats(-4, 4),
    st.floats(0, 3),
)
def test_the_largest_class_stays_the_largest_and_rows_sum_to_one(weights, shift, slope):
    proba = (weights + 1e-6) / (weights + 1e-6).sum(axis=1, keepdims=True)
    mapped = with_top(proba, np.array([shift, slope]))
    rows, first = np.arange(len(proba)), proba.argmax(axis=1)
    np.testing.assert_allclose(mapped.sum(axis=1), 1.0, atol=1e-9)
    assert (mapped.argmax(axis=1) == first).all()
    wanted = expit(shift + slope * np.clip(logit(proba[rows, first]), -7, 7))
    assert (mapped[rows, first] >= wanted - 1e-9).all()  # never below what was asked for, but where it would lose


def test_the_map_is_saved():
    nobody = np.zeros((2, 0)), np.zeros(0)
    heads = {"class": (np.eye(2), np.zeros(2)), "expert": nobody}
    part = NetworkScorer("decoupled", np.zeros(2), np.ones(2), {"class": (), "expert": ()}, heads, reads_classes=False)
    blend = BlendScorer((part,), np.ones(1), np.array([0.4, 0.8]))
    features = np.random.default_rng(3).normal(size=(5, 2))
    again = unpack(BlendScorer, pack(blend))
    np.testing.assert_array_equal(again.score(features).class_proba, blend.score(features).class_proba)
    plain = part.score(features)
    np.testing.assert_allclose(
        logit(blend.score(features).model_proba), 0.4 + 0.8 * logit(plain.model_proba), atol=1e-9
    )
    with pytest.raises(InputError, match="top"):
        BlendScorer((part,), np.ones(1), np.array([0.0, -1.0]))
