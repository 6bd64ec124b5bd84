"""Calibrators of some of the experts, and with one more: the others' maps are theirs, bit for bit."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.calibration import Calibrator
from defero.calibration.choice import ChosenMaps, with_newcomer
from defero.calibration.isotonic import fit_isotonic
from defero.calibration.maps import Untouched
from defero.calibration.platt import PlattMaps, fit_platt
from defero.core.codec import pack, unpack
from defero.core.scores import sigmoid

J = 5
RNG = np.random.default_rng(0)
CLAIMED = RNG.normal(1, 1, (300, J))
CORRECT, ALL = RNG.random((300, J)) < sigmoid(CLAIMED / 2), np.ones((300, J), bool)


@cache
def maps_of(kind, link="logit"):
    raw = CLAIMED if link == "logit" else -np.logaddexp(0, -CLAIMED) + 0.2
    if kind == "none":
        return Untouched(link, J), raw
    if kind == "auto":
        parts = [maps_of(one, link)[0].take(columns) for one, columns in AUTO.items()]
        return ChosenMaps(tuple(parts), tuple(AUTO.values())), raw
    fit = {"platt": fit_platt, "isotonic": fit_isotonic}[kind]
    return fit(raw, CORRECT, ALL, link=link), raw


AUTO = {"none": (1,), "platt": (0, 4), "isotonic": (2, 3)}
KINDS = ["none", "platt", "isotonic", "auto"]
EACH = [(kind, link) for kind in KINDS for link in ("logit", "log")]


@pytest.mark.parametrize(("kind", "link"), EACH)
@given(st.lists(st.sampled_from(range(J)), unique=True))
def test_some_experts_keep_their_maps_in_any_order(kind, link, some):
    maps, raw = maps_of(kind, link)
    taken = maps.take(tuple(some))
    assert (taken.n_experts, taken.link) == (len(some), link)
    assert taken.methods == tuple(maps.methods[j] for j in some)
    np.testing.assert_allclose(taken.logits(raw[:, some]), maps.logits(raw)[:, some], rtol=1e-13)


@pytest.mark.parametrize("newcomer", ["typical", "identity"])
@pytest.mark.parametrize(("kind", "link"), EACH)
def test_a_newcomer_changes_nobodys_map(kind, link, newcomer):
    maps, raw = maps_of(kind, link)
    more = with_newcomer(maps, newcomer)
    wide = np.column_stack([raw, raw[:, 0]])
    assert (more.n_experts, more.link, more.methods[:J]) == (J + 1, link, maps.methods)
    np.testing.assert_allclose(more.logits(wide)[:, :J], maps.logits(raw), rtol=1e-13)
    twice = with_newcomer(with_newcomer(more, "identity"), newcomer)
    assert twice.methods == (*maps.methods, more.methods[J], "none", more.methods[J])
    again = unpack(Calibrator, pack(Calibrator(1.0, twice))).experts
    assert np.array_equal(again.logits(np.tile(raw[:, :1], 8)), twice.logits(np.tile(raw[:, :1], 8)))


@pytest.mark.parametrize(("kind", "link"), EACH)
def test_the_newcomers_own_map(kind, link):
    maps, raw = maps_of(kind, link)
    wide = np.column_stack([raw, raw[:, 0]])
    plain = Untouched(link, 1).logits(raw[:, :1])[:, 0]
    assert np.array_equal(with_newcomer(maps, "identity").logits(wide)[:, J], plain)
    typical = with_newcomer(maps, "typical")
    if kind in ("platt", "auto"):  # what `fit` gives to somebody without answers
        asked = np.column_stack([ALL, np.zeros(300, bool)])
        of_fit = fit_platt(wide, np.column_stack([CORRECT, ALL[:, 0]]), asked, link=link)
        np.testing.assert_allclose(typical.logits(wide)[:, J], of_fit.logits(wide)[:, J], rtol=1e-9)
    else:
        assert np.array_equal(typical.logits(wide)[:, J], plain)


def test_where_most_are_left_alone_so_is_the_newcomer():
    platt = PlattMaps("logit", (2.0,), (0.0,), (2.0, 0.0))
    assert with_newcomer(ChosenMaps((Untouched("logit", 1), platt), ((0,), (1,))), "typical").methods[2] == "none"
    two = PlattMaps("logit", (2.0, 2.0), (0.0, 0.0), (2.0, 0.0))
    assert with_newcomer(ChosenMaps((Untouched("logit", 1), two), ((0,), (1, 2))), "typical").methods[3] == "platt"


def test_the_calibrator_counts_nobodys_answers_for_a_newcomer():
    calibrator = Calibrator(1.5, maps_of("auto")[0], 300, (300, 200, 100, 50, 10), keeps_model=True)
    more = calibrator.with_newcomer()
    assert more.n_answers == (300, 200, 100, 50, 10, 0)
    assert (more.temperature, more.n_labels, more.keeps_model) == (1.5, 300, True)
    fewer = more.take([5, 0])
    assert fewer.n_answers == (0, 300)
    assert fewer.describe(["eve", "ann"])[1] == "Experts: Platt's map for all 2; 0 to 300 answers each."
    assert Calibrator(1.0, Untouched("log", 2)).take([]).experts.n_experts == 0
    assert calibrator.take([]).experts == Untouched("logit", 0)
