"""Simulated teams whose skill follows the features: the probabilities are exact, and each law is what it says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from defero.core import InputError
from defero.simulate import simulate_team
from defero.simulate.team import SURFACES, checkerboard, product, rank_columns, ring, stripes

N = 60_000
each_law = pytest.mark.parametrize("law", SURFACES)


def drawn(seed=0, *, n=N, columns=4, n_classes=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, columns)), rng.integers(n_classes, size=n), rng.integers(2, size=n)


@each_law
def test_experts_are_right_as_often_as_their_probabilities_say(law):
    features, labels, strata = drawn()
    rng = np.random.default_rng(1)
    team = simulate_team(features, labels, n_experts=3, n_classes=3, law=law, strata=strata, rng=rng)
    proba = team.right_given_label(labels)
    correct = team.answers == labels[:, None]
    for cases in (np.ones(N, dtype=bool), strata == 0, labels == 2, features[:, 0] > 1):
        sigma = np.sqrt((proba * (1 - proba))[cases].sum(axis=0)) / cases.sum()
        assert np.all(np.abs(correct[cases].mean(axis=0) - proba[cases].mean(axis=0)) <= 5 * sigma)
    for j in range(3):
        for low, high in ((0, 0.6), (0.6, 0.8), (0.8, 1.01)):
            band = (proba[:, j] >= low) & (proba[:, j] < high)
            gap = correct[band, j].sum() - proba[band, j].sum()
            assert abs(gap) <= 5 * np.sqrt((proba[band, j] * (1 - proba[band, j])).sum()) + 1e-9
    # Wrong answers are spread over the other classes alike.
    step = (team.answers - labels[:, None])[~correct] % 3
    assert np.mean(step == 1) == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(len(step)))


@each_law
def test_skill_swings_is_not_linear_and_depends_on_class_and_stratum(law):
    features, labels, strata = drawn(n=5000)
    team = simulate_team(
        features, labels, n_experts=6, n_classes=3, law=law, strata=strata, rng=np.random.default_rng(2)
    )
    plain = simulate_team(
        features, labels, n_experts=6, n_classes=3, law=law, class_spread=0, stratum_spread=0,
        rng=np.random.default_rng(2),
    )  # fmt: skip
    skill = plain.right_by_class[:, :, 0]
    assert np.all(np.ptp(skill, axis=0) >= 0.4)
    assert (skill.min(), skill.max()) == pytest.approx((0.55, 0.97), abs=0.02)
    design = np.column_stack([np.ones(len(features)), features])
    for j in range(6):
        rest = skill[:, j] - design @ np.linalg.lstsq(design, skill[:, j], rcond=None)[0]
        assert rest.var() >= 0.5 * skill[:, j].var()
    np.testing.assert_allclose(plain.right_by_class[:, :, 1], skill)
    by_class = team.right_by_class.mean(axis=0)
    assert np.all(np.ptp(by_class, axis=1) > 0)
    logit = np.log(team.right_by_class / (1 - team.right_by_class))
    base = np.log(skill / (1 - skill))[:, :, None]
    shift = logit - base  # the same for all cases of one class and stratum
    for stratum in (0, 1):
        assert np.ptp(shift[strata == stratum], axis=0).max() < 1e-9
    assert np.all(np.abs(shift[strata == 0][0] - shift[strata == 1][0]) > 0)


def test_the_surfaces_by_hand():
    grid = np.array([[u, v] for u in (1 / 6, 1 / 2, 5 / 6) for v in (1 / 6, 1 / 2, 5 / 6)])
    board = checkerboard(grid, np.random.default_rng(0)).reshape(3, 3)
    assert board.tolist() in ([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    signs = product(np.array([[0.9, 0.9, 0.9], [0.1, 0.1, 0.9], [0.1, 0.9, 0.9], [0.5, 0.9, 0.9]]), Fixed())
    np.testing.assert_allclose(signs, [1, 1, 0, 0.5], atol=1e-3)
    points = np.array([[0.5 + 0.3, 0.5], [0.5, 0.5 - 0.3], [0.5, 0.5]])
    np.testing.assert_allclose(ring(points, Fixed()), [1, 1, np.exp(-((0.3 / 0.12) ** 2) / 2)])
    along = np.cos(np.pi / 4)
    height = (1 + np.sin(2 * np.pi * 1.5 * 0.4 * along)) / 2
    np.testing.assert_allclose(stripes(np.array([[0.4, 0.0], [0.0, 0.4], [0.0, 0.0]]), Fixed()), [height, height, 0.5])


class Fixed:
    """Stands for a generator: middle of every interval, first columns, phase 0, sign +1."""

    def choice(self, values, size=None, replace=True):
        return 1 if size is None else np.arange(size)

    def uniform(self, low, high, size=None):
        middle = 0.3 if (low, high) == (0.2, 0.45) else (low + high) / 2
        return middle if size is None else np.full(size, middle)

    def random(self):
        return 0.0


@given(st.lists(st.one_of(st.integers(-3, 3), st.none()), min_size=1, max_size=20))
def test_ranks_are_the_middle_ranks_of_the_values_present(values):
    column = np.array([np.nan if value is None else value for value in values], dtype=float)[:, None]
    present = ~np.isnan(column[:, 0])
    expected = np.full(len(column), 0.5)
    if present.any():
        expected[present] = (rankdata(column[present, 0]) - 0.5) / present.sum()
    np.testing.assert_allclose(rank_columns(column)[:, 0], expected)


@given(st.sampled_from(sorted(SURFACES)), st.integers(0, 2**31), st.integers(2, 5))
@settings(max_examples=40)
def test_heights_lie_between_0_and_1_and_ranks_alone_matter(law, seed, columns):
    features = np.random.default_rng(seed).normal(size=(40, columns))
    height, again = (
        SURFACES[law](rank_columns(values), np.random.default_rng(seed)) for values in (features, np.exp(features))
    )
    assert height.shape == (40,)
    assert 0 <= height.min() <= height.max() <= 1
    np.testing.assert_array_equal(height, again)


def test_an_expert_more_leaves_the_others_and_fewer_answers_are_the_same_answers():
    features, labels, _ = drawn(n=300)
    few, many = (
        simulate_team(features, labels, n_experts=count, n_classes=3, rng=np.random.default_rng(3)) for count in (2, 5)
    )
    np.testing.assert_array_equal(many.answers[:, :2], few.answers)
    part = simulate_team(features, labels, n_experts=2, n_classes=3, n_answers=30, rng=np.random.default_rng(3))
    asked = part.answers >= 0
    assert asked.sum(axis=0).tolist() == [30, 30]
    np.testing.assert_array_equal(part.answers[asked], few.answers[asked])
    share = simulate_team(features, labels, n_experts=2, n_classes=3, answered=0.3, rng=np.random.default_rng(3))
    assert (share.answers >= 0).mean() == pytest.approx(0.3, abs=0.1)


def test_what_is_right_given_the_features_sums_the_class_out():
    features, labels, _ = drawn(n=50)
    team = simulate_team(features, labels, n_experts=2, n_classes=3, rng=np.random.default_rng(0))
    class_proba = np.random.default_rng(1).dirichlet([1, 1, 1], size=50)
    expected = [[class_proba[i] @ team.right_by_class[i, j] for j in range(2)] for i in range(50)]
    np.testing.assert_allclose(team.right_given_features(class_proba), expected)


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"law": "spiral"}, r"law must be one of .*spiral"),
        ({"n_answers": 11}, r"n_answers must be at most the 10 cases, got 11"),
        ({"answered": 1.5}, r"answered must be a probability"),
        ({"low": -1}, r"low must be a probability"),
        ({"features": np.zeros((10, 1))}, r"features must have at least 2 columns"),
        ({"features": np.zeros(10)}, r"features must have shape \(10, columns\)"),
        ({"features": [["a", "b"]] * 10}, r"features must be numbers"),
        ({"labels": [5] * 10}, r"labels must lie in 0\.\.1"),
        ({"strata": [0]}, r"strata must have 10 items"),
        ({"rng": 3}, r"rng must be a numpy.random.Generator"),
    ],
)
def test_wrong_arguments_are_refused(options, facts):
    arguments = {"features": np.zeros((10, 2)), "labels": [0, 1] * 5, "n_experts": 2, "n_classes": 2}
    arguments |= {"rng": np.random.default_rng(0)} | options
    with pytest.raises(InputError, match=facts):
        simulate_team(arguments.pop("features"), arguments.pop("labels"), **arguments)
