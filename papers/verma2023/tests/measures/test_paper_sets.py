"""The paper's sets: hand values, their promise on every array, and what beta and kappa can and cannot do."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.decide.panels.conformal_problems import problems

from defero import InputError
from defero.decide.panels import ExpertSetPredictor
from defero.judge import missed_share, set_coverage, set_size
from defero_verma2023.measures.paper_sets import (
    BETAS,
    LAMBDAS,
    NaiveExpertSets,
    RegularizedExpertSets,
    grid_lambda,
    lower_quantile,
)

fortieths = st.integers(1, 39).map(lambda k: Fraction(k, 40))
betas = st.floats(0, 5)
kappas = st.floats(0, 1)


def raw_sets(predictor, problem, new):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return predictor.fit(*problem).predict(new, fill_empty=False).mask


def draw_team(n, *, n_experts=5, seed=0, power=1.0):
    rng = np.random.default_rng(seed)
    proba = rng.random((n, n_experts))
    return proba, rng.random((n, n_experts)) < proba**power


def test_naive_by_hand():
    # Sums down to the lowest right expert: 7/8, 11/8, 13/8, 13/8; alpha .4: the 3rd of 4 is 13/8.
    scores = [[0.875, 0.5, 0.25]] * 4
    right = [[1, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1]]
    naive = NaiveExpertSets(0.4).fit(scores, right)
    assert naive.thresholds_[None] == 13 / 8
    sets = naive.predict([[0.875, 0.5, 0.25], [0.875, 0.875, 0.875], [0.25, 0.75, 0.875]], fill_empty=False)
    assert sets.mask.tolist() == [[True] * 3, [True, False, False], [False, True, True]]


@given(problems(min_items=2), fortieths)
def test_naive_leave_one_out_coverage_is_exact(problem, alpha):
    scores, right = problem
    kept = []
    for i in range(len(scores)):
        rest = np.arange(len(scores)) != i
        inside = raw_sets(NaiveExpertSets(float(alpha)), (scores[rest], right[rest]), scores[i : i + 1])[0]
        kept.append(not (right[i] & ~inside).any())
    assert Fraction(sum(kept), len(kept)) >= 1 - alpha


@pytest.mark.parametrize("exact", [False, True])
@given(problems(min_items=2), fortieths, betas, kappas)
def test_regularized_leave_one_out_missed_share_is_at_most_alpha(exact, problem, alpha, beta, kappa):
    scores, right = problem
    total = Fraction(0)
    for i in range(len(scores)):
        rest = np.arange(len(scores)) != i
        sets = RegularizedExpertSets(float(alpha), beta, kappa, exact=exact)
        inside = raw_sets(sets, (scores[rest], right[rest]), scores[i : i + 1])[0]
        total += Fraction(int((right[i] & ~inside).sum()), int(right[i].sum()))
    assert total / len(scores) <= alpha


@given(problems(), fortieths, betas, kappas)
def test_with_an_exact_lambda_beta_and_kappa_do_not_matter(problem, alpha, beta, kappa):
    """(1 + beta) s - beta kappa is one increasing map of s: its threshold sets are the threshold sets of s."""
    new = np.linspace(0, 1, 101 * problem[0].shape[1]).reshape(-1, problem[0].shape[1])
    seen = np.concatenate([problem[0], new])
    sets = raw_sets(RegularizedExpertSets(float(alpha), beta, kappa, exact=True), problem, seen)
    plain = raw_sets(ExpertSetPredictor(target="missed-share", alpha=float(alpha)), problem, seen)
    off_border = np.abs(seen - quiet_threshold(problem, float(alpha))) > 1e-12  # two floats may map to one
    assert np.array_equal(sets[off_border], plain[off_border])
    assert np.array_equal(sets[: len(problem[0])], plain[: len(problem[0])])


def quiet_threshold(problem, alpha):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return ExpertSetPredictor(target="missed-share", alpha=alpha).fit(*problem).thresholds_[None]


def test_with_the_grid_beta_and_kappa_do_matter():
    # Scores of right experts are low, 0.05 to 0.15: with beta = 3.5, kappa = 0.2 their images lie below 0 = 1 - lambda
    # for the last lambda of the grid, and nothing but the full set is left.
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.uniform(0.05, 0.15, (200, 2)), rng.uniform(0, 0.04, (200, 2))], axis=1)
    right = np.tile([True, True, False, False], (200, 1))
    plain = RegularizedExpertSets(0.1, beta=0.0, kappa=0.2).fit(scores, right)
    with pytest.warns(UserWarning, match=r"no lambda keeps the promise \(beta=3.5, kappa=0.2, alpha=0.1\): full sets"):
        bent = RegularizedExpertSets(0.1, beta=3.5, kappa=0.2).fit(scores, right)
    assert set_size(plain.predict(scores)) < 2
    assert set_size(bent.predict(scores)) == 4
    # High scores, at the grid's other end: lambda would have to be below 0, so the sets are larger than they need be.
    easy = np.concatenate([rng.uniform(0.9, 1, (200, 2)), rng.uniform(0.5, 0.7, (200, 2))], axis=1)
    sizes = {
        exact: set_size(RegularizedExpertSets(0.1, beta=3.5, kappa=0.2, exact=exact).fit(easy, right).predict(easy))
        for exact in (False, True)
    }
    assert sizes[True] < 2
    assert sizes[False] > 3


@given(problems(), fortieths, betas, kappas)
def test_the_sets_of_the_grid_hold_those_of_the_exact_lambda(problem, alpha, beta, kappa):
    grid, exact = (
        raw_sets(RegularizedExpertSets(float(alpha), beta, kappa, exact=exact), problem, problem[0])
        for exact in (False, True)
    )
    assert not (exact & ~grid).any()


@given(problems(), fortieths, betas, kappas)
def test_the_grid_search_is_the_obvious_loop(problem, alpha, beta, kappa):
    scores, right = problem
    stretched = (1 + beta) * scores - beta * kappa
    found = grid_lambda(stretched, right, alpha=float(alpha))
    kept = [
        sum(Fraction(int((r & ~(1 - v < lam)).sum()), int(r.sum())) for v, r in zip(stretched, right, strict=True)) + 1
        <= alpha * (len(scores) + 1)
        for lam in LAMBDAS[:: len(LAMBDAS) // 30]
    ]
    assert kept == [bool(lam >= found) for lam in LAMBDAS[:: len(LAMBDAS) // 30]]


def test_lambda_lies_on_the_grid_of_1500_points():
    assert len(LAMBDAS) == 1500
    assert (LAMBDAS[0], LAMBDAS[-1]) == (0, 1)
    fitted = RegularizedExpertSets(0.1, beta=1.0, kappa=0.3).fit(*draw_team(300)).thresholds_[None]
    assert fitted.lambda_ in LAMBDAS


def test_beta_and_kappa_are_searched_as_the_appendix_says():
    proba, correct = draw_team(1000)
    fitted = RegularizedExpertSets(0.1).fit(proba, correct).thresholds_[None]
    assert (len(BETAS), BETAS[0], BETAS[-1]) == (50, 3.5, 1e-3)
    assert fitted.beta in BETAS
    right_scores = proba[correct]
    assert np.mean(right_scores < fitted.kappa) == pytest.approx(0.1, abs=0.03)
    assert RegularizedExpertSets(0.1).fit(proba, correct).thresholds_[None] == fitted  # one seed, one answer
    assert RegularizedExpertSets(0.1, random_state=1).fit(proba, correct).thresholds_[None] != fitted
    given_kappa = RegularizedExpertSets(0.1, kappa=0.25).fit(proba, correct).thresholds_[None]
    given_beta = RegularizedExpertSets(0.1, beta=2.0).fit(proba, correct).thresholds_[None]
    assert given_kappa.kappa == 0.25
    assert given_kappa.beta in BETAS
    assert (given_beta.beta, given_beta.kappa) == (2.0, fitted.kappa)


def test_beta_is_the_one_with_the_smallest_sets():
    # With the largest beta no lambda of the grid reaches the right experts' low scores, and the full set is left.
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.uniform(0.05, 0.15, (400, 2)), rng.uniform(0, 0.04, (400, 2))], axis=1)
    sets = RegularizedExpertSets(0.1, kappa=0.2).fit(scores, np.tile([True, True, False, False], (400, 1)))
    assert sets.thresholds_[None].beta < 1
    assert set_size(sets.predict(scores)) < 2


def test_the_inequality_of_the_grid_is_strict():
    # beta = 1, kappa = 1/2: the calibrated scores map to 1.25, so lambda = 0; 3/4 maps to 1 = 1 - lambda and stays out.
    sets = RegularizedExpertSets(0.5, beta=1.0, kappa=0.5).fit([[0.875, 0.875]] * 4, [[True, True]] * 4)
    assert sets.thresholds_[None].lambda_ == 0
    assert sets.predict([[0.875, 0.75]], fill_empty=False).mask.tolist() == [[True, False]]


@given(st.lists(st.integers(0, 8).map(float), min_size=1, max_size=40), fortieths)
def test_at_most_a_share_alpha_of_right_scores_lies_below_kappa(values, alpha):
    kappa = lower_quantile(np.array(values), alpha=float(alpha))
    assert Fraction(sum(v < kappa for v in values), len(values)) <= alpha
    higher = [v for v in values if v > kappa]
    if higher:  # and it is the largest such score
        assert Fraction(sum(v < min(higher) for v in values), len(values)) > alpha


def test_no_rows_at_all_give_full_sets():
    for sets in (RegularizedExpertSets(0.1), RegularizedExpertSets(0.1, exact=True)):
        with pytest.warns(UserWarning, match="no lambda keeps the promise in stratum a"):
            sets.fit([[0.5, 0.5]], [[False, False]], strata=["a"])
        assert sets.predict([[0.1, 0.9]], strata=["a"]).mask.all()


def test_c_lambda_need_not_lie_inside_c_2():
    """The appendix's proposition needs 1 - lambda >= kappa; beta = 0, kappa = 0.5, lambda = 0.8 is outside of that."""
    scores = np.array([0.1, 0.3, 0.6])
    beta, kappa, lambda_ = 0.0, 0.5, 0.8
    c_lambda = scores + beta * (scores - kappa) > 1 - lambda_
    c_2 = scores >= kappa
    assert c_lambda.tolist() == [False, True, True]
    assert c_2.tolist() == [False, False, True]


@given(kappas, betas, st.floats(0, 1), st.floats(0, 1))
def test_c_lambda_lies_inside_c_2_where_lambda_leaves_room(kappa, beta, lambda_, score):
    if 1 - lambda_ >= kappa and score < kappa:
        assert not score + beta * (score - kappa) > 1 - lambda_


@pytest.mark.parametrize(("seed", "leaves"), [(0, True), (1, True), (5, False)])
def test_the_fitted_sets_may_leave_c_2(seed, leaves):
    """The same with everything fitted as the appendix says: it depends on the sample."""
    proba, correct = draw_team(2000, seed=seed)
    fitted = RegularizedExpertSets(0.1).fit(proba, correct)
    cut = fitted.thresholds_[None]
    below_kappa = fitted.predict(proba, fill_empty=False).mask & (proba < cut.kappa)
    assert below_kappa.any() == leaves
    assert (1 - cut.lambda_ < cut.kappa) == leaves


def test_both_keep_their_promise_on_new_items():
    proba, correct = draw_team(20_000, power=2.0)
    new_proba, new_correct = draw_team(20_000, seed=1, power=2.0)
    naive = NaiveExpertSets(0.1).fit(proba, correct).predict(new_proba, fill_empty=False)
    assert set_coverage(naive, new_correct, target="all-correct") == pytest.approx(0.9, abs=0.01)
    regularized = RegularizedExpertSets(0.1).fit(proba, correct).predict(new_proba, fill_empty=False)
    assert missed_share(regularized, new_correct) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("make", [NaiveExpertSets, RegularizedExpertSets])
@given(problem=problems(min_items=4), alpha=st.floats(0.02, 0.98))
def test_filling_only_adds_the_top_expert_to_empty_sets(make, problem, alpha):
    scores, _ = problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        predictor = make(alpha).fit(*problem)
    raw, filled = (predictor.predict(scores, fill_empty=fill) for fill in (False, True))
    empty = ~raw.mask.any(axis=1)
    assert np.array_equal(filled.filled, empty)
    assert np.array_equal(filled.raw_mask, raw.mask)
    assert (filled.size[empty] == 1).all()
    assert (scores[filled.mask & empty[:, None]] == scores[empty].max(axis=1)).all()


@pytest.mark.parametrize("make", [NaiveExpertSets, RegularizedExpertSets])
def test_each_stratum_alone_and_answers_that_were_not_observed(make):
    proba, correct = draw_team(300)
    strata = np.array(["north", "south", "west"])[np.arange(300) % 3]
    new = draw_team(90, seed=1)[0]
    together = make(0.2).fit(proba, correct, strata=strata).predict(new, strata=strata[:90]).mask
    for stratum in ("north", "south", "west"):
        alone = make(0.2).fit(proba[strata == stratum], correct[strata == stratum])
        assert np.array_equal(together[strata[:90] == stratum], alone.predict(new[strata[:90] == stratum]).mask)
    observed = np.random.default_rng(5).random(correct.shape) < 0.5
    seen = make(0.2).fit(proba, correct, observed)
    assert seen.thresholds_ == make(0.2).fit(proba, correct & observed).thresholds_


def test_what_is_wrong_with_the_options_is_said():
    with pytest.raises(InputError, match="beta must be a number of at least 0, got -1"):
        RegularizedExpertSets(0.1, beta=-1)
    with pytest.raises(InputError, match="kappa must be a finite number, got nan"):
        RegularizedExpertSets(0.1, kappa=float("nan"))
