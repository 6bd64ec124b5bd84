"""Verdicts on the paper's claims follow from records by rules: made-up runs in which each claim holds, and does not."""

import math
from dataclasses import replace

import numpy as np
import pytest
from claim_cases import (
    CASES,
    FIG1,
    P_IN,
    SEEDS,
    accuracies,
    both,
    merged,
    ours,
    overlapping,
    run,
    runs,
)
from scipy import stats

from defero_verma2023.claims import accuracy, calibration, overlap
from defero_verma2023.claims.catalogue import BESIDE, CLAIMS, FROM_TWO, OVERLAP, AllRecords
from defero_verma2023.claims.cells import Block, at_its_most, block, cells, change_along, mean_over_settings, steps_down
from defero_verma2023.claims.judge import Evidence
from defero_verma2023.claims.verdict import CANNOT_DECIDE, CONFIRMED, INCONCLUSIVE, NOT_RUN
from defero_verma2023.experiments import EXPERIMENTS
from defero_verma2023.methods import BEST_EXPERT, ONE_CLASSIFIER
from defero_verma2023.page.readme import Links, readme_page
from defero_verma2023.page.verdict_rows import verdict_cells


@pytest.mark.parametrize(("name", "word"), [(name, word) for name, (_, cases) in CASES.items() for word in cases])
def test_each_claim_is_judged_by_its_rule(name, word):
    claim, cases = CASES[name]
    verdict = claim(ours(cases[word]))
    assert verdict.direction == word, verdict
    assert verdict.ours is not None
    assert verdict.why.endswith(".")
    assert "nan" not in verdict.why
    settles = word == INCONCLUSIVE and verdict.ours.n_seeds > 1
    assert (verdict.seeds_needed is not None) == settles
    assert not settles or verdict.seeds_needed > len(SEEDS)


@pytest.mark.parametrize("name", CASES)
def test_without_runs_a_claim_is_not_judged(name):
    found = CASES[name][0](Evidence((), (), ()))
    assert (found.direction, found.ours, found.published) == (NOT_RUN, None, None)


def test_every_claim_of_the_list_has_its_cases():
    tried = {getattr(claim, "func", claim) for claim, _ in CASES.values()}
    listed = {getattr(claim, "func", claim) for claims in (*CLAIMS.values(), *BESIDE.values()) for claim in claims}
    assert tried == listed
    assert set(CLAIMS) == set(EXPERIMENTS)


def test_less_than_half_of_the_settings_is_not_judged_but_shown():
    some = both("ece", 0.01, 0.04, settings=FROM_TWO[:4])
    found = calibration.ova_is_better_calibrated(ours(some), **FIG1)
    assert (found.direction, found.ours.mean) == (NOT_RUN, pytest.approx(3.0))
    assert "So far 4 of 9 settings." in found.why
    more = both("ece", 0.01, 0.04, settings=FROM_TWO[:5])
    assert calibration.ova_is_better_calibrated(ours(more), **FIG1).direction == CONFIRMED


def test_one_seed_is_provisional():
    one, three = (
        both("system_accuracy", 0.9, lambda j: 0.89 - j / 1000, settings=FROM_TWO, seeds=seeds)
        for seeds in ((0,), SEEDS)
    )
    claim = accuracy.ova_is_more_accurate
    verdict = claim(ours(one), **FIG1, other="softmax")
    assert "One seed, so provisional" in verdict.why
    assert verdict.provisional
    assert verdict_cells(verdict)[3] == "**confirmed**, provisional"
    assert verdict.ours.words().endswith("] over settings, 1 seed")
    assert not claim(ours(three), **FIG1, other="softmax").provisional
    assert not claim(ours(()), **FIG1, other="softmax").provisional
    page = readme_page(AllRecords({"ham10000": tuple(one)}), (), Links("errata", "sets", ()))
    assert "stand on one seed and are provisional." in " ".join(page.split())


def test_one_seed_settles_no_claim_about_every_setting():
    one = both("ece", 0.01, lambda j: 0.04 + j / 1000, settings=FROM_TWO, seeds=(0,))
    verdict = calibration.ova_is_better_calibrated(ours(one), **FIG1)
    assert (verdict.direction, verdict.seeds_needed) == (INCONCLUSIVE, None)
    assert verdict_cells(verdict)[3] == "**inconclusive**, provisional"


def test_a_change_from_end_to_end_needs_both_ends():
    rising = runs("ova", "system_accuracy", lambda j: 0.8 + j / 100, settings=FROM_TWO[:-1])
    found = accuracy.accuracy_rises_with_experts(ours(rising), **FIG1)
    assert (found.direction, found.ours) == (NOT_RUN, None)
    growing = overlapping(lambda p: 10 * p)
    ends = [one for one in growing if one.setting != OVERLAP[-1]]
    assert overlap.regularized_sets_grow_with_overlap(ours(ends), settings=OVERLAP).ours is None
    # Seeds that stop before the end do not hide those that reach it.
    rows = block({(x, seed): x for x in (1.0, 2.0, 3.0) for seed in range(5) if x < 3 or not seed}, needed=(1.0, 3.0))
    assert (rows.settings, rows.seeds) == ((1.0, 2.0, 3.0), (0,))


def test_the_smaller_growth_is_that_of_one_loss():
    """OvA's sets grow by 1 from 5, softmax's by 8 from 1: the smaller of both sizes grows by 5. Naive ones stay."""
    sizes = merged(
        both(
            "sets.regularized_as_run.size",
            lambda p: 5 + (p == OVERLAP[-1]),
            lambda p: 1 + 8 * (p == OVERLAP[-1]),
            settings=OVERLAP,
        ),
        both("sets.naive_as_run.size", 9.5, 9.6, settings=OVERLAP),
    )
    found = overlap.regularized_sets_grow_with_overlap(ours(sizes), settings=OVERLAP)
    assert found.ours.mean == pytest.approx(1.0)


def test_a_place_that_is_chosen_by_its_value_has_a_wider_interval():
    values = np.array([[0.1, 0.2, 0.6], [0.3, 0.4, 0.2], [0.1, 0.1, 0.2]])
    found = at_its_most(Block((1.0, 2.0, 3.0), SEEDS, values), scale=1.0)
    low, high = stats.t.interval(1 - 0.05 / 3, 2, loc=0.3, scale=stats.sem([0.1, 0.2, 0.6]))
    assert (found.mean, found.low, found.high) == pytest.approx((0.3, low, high))


def test_means_beside_each_other_are_of_the_same_runs():
    calibrated = both("calibrated.ece", 0.01, 0.02, settings=FROM_TWO, seeds=(1,))
    alone_there = runs("ova", "calibrated.ece", 0.9, settings=FROM_TWO, seeds=(0, 2))
    records = merged(both("ece", 0.01, 0.04, settings=FROM_TWO), calibrated, alone_there)
    assert "OvA 1.0, softmax 2.0 %" in calibration.ova_is_better_calibrated(ours(records), **FIG1).why


def test_numbers_of_the_authors_two_runs_are_not_mixed():
    theirs = run("ova", 1.0, measures={"naive:votes.top5.system_accuracy": 0.7, "votes.top5.system_accuracy": 0.7})
    assert cells([theirs], "ova", "votes.top5.system_accuracy", run="naive") == {(1.0, 0): 0.7}
    assert cells([theirs], "ova", "votes.top5.system_accuracy", run="regularized") == {}


def test_networks_that_were_not_trained_alike_decide_nothing():
    records = accuracies(0.9, 0.88, name="moe")
    unlike = [replace(one, net="frozen") if one.method == "moe" else one for one in records]
    found = accuracy.ova_is_more_accurate(ours(unlike), **FIG1, other="moe")
    assert found.direction == CANNOT_DECIDE
    assert "not trained alike: net, and frozen." in found.why
    worse = [replace(one, net="frozen") if one.method == "moe" else one for one in accuracies(0.8, 0.9, name="moe")]
    assert accuracy.ova_is_more_accurate(ours(worse), **FIG1, other="moe").direction == CANNOT_DECIDE


def test_what_is_left_after_calibration_is_said():
    records = merged(both("ece", 0.01, 0.04, settings=FROM_TWO), both("calibrated.ece", 0.01, 0.012, settings=FROM_TWO))
    assert "OvA 1.0, softmax 1.2 %" in calibration.ova_is_better_calibrated(ours(records), **FIG1).why


def test_the_interval_is_students_over_seeds():
    values = np.array([[0.1, 0.2, 0.6], [0.3, 0.4, 0.2]])
    found = mean_over_settings(Block((1.0, 2.0), SEEDS, values), scale=100.0)
    low, high = stats.t.interval(0.95, 2, loc=values.mean(), scale=stats.sem(values.mean(axis=0)))
    assert (found.mean, found.low, found.high) == pytest.approx((30.0, 100 * low, 100 * high))
    one = mean_over_settings(Block((1.0, 2.0, 3.0), (0,), np.array([[0.1], [0.2], [0.6]])), scale=1.0)
    low, high = stats.t.interval(0.95, 2, loc=0.3, scale=stats.sem([0.1, 0.2, 0.6]))
    assert (one.mean, one.low, one.high) == pytest.approx((0.3, low, high))
    assert math.isnan(mean_over_settings(Block((1.0, 2.0), (0,), np.array([[0.1], [0.2]])), scale=1.0).low)


def test_a_block_is_the_largest_without_a_gap():
    cells_there = {(x, seed): x + seed for x in (1.0, 2.0, 3.0, 4.0) for seed in (0, 1)} | {(1.0, 2): 3.0}
    found = block(cells_there)
    assert (found.settings, found.seeds) == ((1.0, 2.0, 3.0, 4.0), (0, 1))
    assert found.values.tolist() == [[1.0, 2.0], [2.0, 3.0], [3.0, 4.0], [4.0, 5.0]]
    assert block(cells_there, settings=(1.0,)).seeds == (0, 1, 2)
    assert block({}) is None
    assert block(cells_there, settings=(9.0,)) is None


def test_a_change_is_that_of_the_least_squares_line():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5, 3))
    found = change_along(Block(P_IN, SEEDS, values))
    assert found == pytest.approx([np.polyfit(P_IN, column, 1)[0] * 0.75 for column in values.T])


def test_steps_are_counted_down():
    falling = np.array([[0.5, 0.5, 0.5], [0.6, 0.6, 0.6], [0.4, 0.41, 0.42], [0.3, 0.5, 0.4]])
    assert steps_down(Block((1.0, 2.0, 3.0, 4.0), SEEDS, falling)) == (2, 1)


def test_cells_know_one_classifier_and_the_best_expert():
    records = [run("ova", 2.0, measures={"best_expert": 0.5}), run("softmax", 3.0, measures={"best_expert": 0.6})]
    records.append(run(ONE_CLASSIFIER, 0.0, measures={"system_accuracy": 0.9}))
    assert cells(records, ONE_CLASSIFIER, "system_accuracy") == {(2.0, 0): 0.9, (3.0, 0): 0.9}
    assert cells(records, BEST_EXPERT, "best_expert") == {(2.0, 0): 0.5, (3.0, 0): 0.6}
    assert cells([run("ova", 2.0, measures={"ece": math.nan})], "ova", "ece") == {}
