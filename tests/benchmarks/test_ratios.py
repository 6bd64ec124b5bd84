"""The gate on ratios: what became 1.5 times worse is named, noise below that is not."""

import numpy as np
import pytest
from benchmarks.ratios.__main__ import worse
from benchmarks.ratios.growth import exponents
from benchmarks.ratios.timing import Pair, measure

BEFORE = {"votes": {"ratio": 4.0}, "routing": {"ratio": 10.0}}


def figures(ratio):
    return {"ratio": ratio, "beside": "a plain loop"}


def test_a_ratio_that_is_one_and_a_half_times_worse_is_named():
    assert worse({"votes": figures(5.9), "routing": figures(14.9)}, BEFORE) == []
    (sentence,) = worse({"votes": figures(6.1), "routing": figures(9.0)}, BEFORE)
    assert "votes" in sentence
    assert "6.1" in sentence
    assert "4.0" in sentence


def test_the_ratio_is_that_of_the_two_ways():
    pair = Pair(lambda: sum(range(400_000)), lambda: sum(range(100_000)), 8.0, "a quarter of the work")
    measured = measure(pair)
    assert measured["within"]
    assert 1.5 < measured["ratio"] < 10


def test_the_exponent_of_a_power_law_is_its_own():
    sizes = [4, 16, 64]
    points = [{"net": "trees", "along": "experts", "experts": j, "cpu_s": 0.3 * j**1.3} for j in sizes]
    slope = exponents(points)["fit, trees, by experts"]
    assert slope["exponent"] == pytest.approx(1.3)
    assert not slope["within"]
    assert np.isclose(slope["to"], 64)
