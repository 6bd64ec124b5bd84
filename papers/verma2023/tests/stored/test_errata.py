"""docs/explanation/errata.md: exact small cases, then the authors' stored outputs where DEFERO_DATA has them."""

import csv
import json
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from stored_cases import stored_folder

from defero.decide.panels import ExpertSetPredictor, conformal_quantile
from defero.judge import expected_calibration_error
from defero.losses import DeferralLoss, scores_from_logits
from defero_verma2023.measures.conformal_as_run import fit_regularized, outputs_as_run, vote_as_run
from defero_verma2023.measures.paper_sets import NaiveExpertSets, lower_quantile
from defero_verma2023.stored.outputs import list_runs, read_run

ROOT = Path(__file__).parents[4]
shares = st.floats(0.01, 0.99)


def test_the_page_names_only_tests_that_are_there():
    page = (ROOT / "docs" / "explanation" / "errata.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:papers/verma2023/)?tests/[\w/]+\.py)::(\w+)`", page))
    assert f"This page names {len(named)} tests." in page
    for path, name in named:
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path}::{name}"


# The softmax minimiser


def test_only_one_plus_the_sum_gives_shares_that_add_up_and_lead_back_to_p():
    eta, p = [Fraction(3, 5), Fraction(2, 5)], [Fraction(9, 10), Fraction(7, 10), Fraction(1, 2)]
    for sign, holds in ((1, True), (-1, False)):
        outputs = [v / (1 + sign * sum(p)) for v in eta + p]
        back = [t / (1 - sum(outputs[2:])) for t in outputs[2:]]  # Eq. 12
        assert (sum(outputs) == 1) == holds
        assert (back == p) == holds


# The mixture of experts


def mixture_risk(expert_weight, class_zero, *, label_zero, p):
    """E[-log(w_0 h_y + w_1 1[m = y])] for two classes and one expert who is right with probability p."""
    total = 0.0
    for share, h in ((label_zero, class_zero), (1 - label_zero, 1 - class_zero)):
        model = (1 - expert_weight) * h
        total -= share * (p * math.log(expert_weight + model) + ((1 - p) * math.log(model) if p < 1 else 0))
    return total


@given(st.floats(1e-6, 0.49))
def test_the_proofs_upper_bound_is_a_lower_bound(delta):
    label_one = delta / (0.5 + delta)
    risk = mixture_risk(0.5 - delta, 1.0, label_zero=1 - label_one, p=1.0)
    assert risk == pytest.approx(-label_one * math.log(0.5 - delta))
    assert risk > delta  # the proof has <=


@given(st.floats(1e-9, 0.5), st.floats(1e-9, 1 - 1e-9))
@example(0.5, 1 - 1e-9)  # the best of them
def test_for_one_distribution_and_a_perfect_expert_not_deferring_stays_away_from_the_least_risk(weight, class_zero):
    assert mixture_risk(weight, class_zero, label_zero=0.8, p=1.0) >= 0.2 * math.log(2) - 1e-8
    assert mixture_risk(1.0, 0.5, label_zero=0.8, p=1.0) == 0


@given(st.floats(0.5, 0.99), shares, shares)
def test_the_mixtures_least_risk_is_at_two_p_minus_one(p, weight, class_zero):
    """The counterexample: eta = (1/2, 1/2), an expert who is right with probability p whatever the label."""
    least = -p * math.log(p) - (1 - p) * math.log(1 - p)
    assert mixture_risk(2 * p - 1, 0.5, label_zero=0.5, p=p) == pytest.approx(least)
    assert mixture_risk(weight, class_zero, label_zero=0.5, p=p) >= least - 1e-12
    asks = 2 * p - 1 > 1 - (2 * p - 1)
    lost = max(p, 0.5) - (p if asks else 0.5)
    assert lost == (0 if p > 0.75 else p - 0.5)


# C_2, kappa and the rank


@given(shares, st.floats(0, 5), shares)
def test_wherever_one_minus_lambda_is_below_kappa_some_score_leaves_c_2(kappa, beta, lambda_):
    threshold = (1 - lambda_ + beta * kappa) / (1 + beta)
    assert (threshold >= kappa - 1e-12) == (1 - lambda_ >= kappa - 1e-12 * (1 + beta))
    if 1 - lambda_ < kappa - 1e-6:
        score = (threshold + kappa) / 2
        assert score + beta * (score - kappa) > 1 - lambda_
        assert score < kappa


def test_the_quantile_as_run_is_one_rank_high_unless_it_is_the_largest_score():
    high = 0
    for n in range(10, 3000):
        scores, rank = np.arange(1, n + 1), math.ceil((n + 1) * 0.9 - 1e-9)
        asked, as_run = conformal_quantile(scores, alpha=0.1), np.quantile(scores, rank / n, method="higher")
        assert asked == rank
        assert as_run == (rank + 1 if rank < n else n)
        high += int(as_run > asked)
    assert high == 2981


def test_a_quantile_does_not_know_how_its_list_was_sorted():
    falling = np.arange(100, 0, -1) / 100
    as_run, parse_labels = np.quantile(falling, 0.9, method="higher"), lower_quantile(falling, alpha=0.1)
    assert as_run == np.quantile(falling[::-1], 0.9, method="higher")
    assert np.mean(falling < as_run) == 0.9
    assert np.mean(falling < parse_labels) == 0.1


# What is covered


def test_the_right_experts_are_covered_and_the_best_one_in_half_of_the_items():
    # Expert a is the best everywhere: right in 9 of 100 hard and in 91 of 100 easy items. The scores are the truth.
    score = np.repeat([[0.09, 0.0], [0.91, 0.0]], 100, axis=0)
    right = np.zeros((200, 2), dtype=bool)
    right[:9, 0] = right[100:191, 0] = True
    mask = ExpertSetPredictor(target="missed-share", alpha=0.1).fit(score, right).predict(score, fill_empty=False).mask
    assert np.mean(~mask[right]) == 0.09
    assert np.mean(mask[:, 0]) == 0.5


def test_e_is_j_whenever_the_last_expert_is_right():
    naive = NaiveExpertSets(0.5).fit([[0.75, 0.5, 0.25]] * 3, [[False, False, True]] * 3)
    assert naive.thresholds_[None] == 1.5  # the sum of all three, though one alone is right


# The mixture's calibration error


@given(st.integers(2, 12), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_weights_that_share_one_have_an_error_whatever_they_are(n_experts, n_items, seed):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(n_experts + 1), n_items)[:, :n_experts]
    correct = rng.random((n_items, n_experts)) < 0.8
    error = expected_calibration_error(weights, correct, average=None).mean()
    assert error >= correct.mean() - 1 / n_experts - 1e-12


# Smaller slips


def test_the_least_cost_of_each_label_is_no_rule():
    # Expert 1 is right on label 0 alone, expert 2 on label 1 alone; both labels are equally likely.
    wrong = np.array([[0, 1], [1, 0]])  # (label, expert)
    assert wrong.min(axis=1).mean() == 0  # the bound of appendix A.1
    assert wrong.mean(axis=0).min() == 0.5  # what a rule can reach that does not know the label


def test_a_rule_that_stands_in_its_own_weight_counts_twice():
    eta, confusion = (
        [Fraction(2, 3), Fraction(1, 3)],
        [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 2), Fraction(1, 2)]],
    )
    rule = {0: Fraction(1, 4), 1: Fraction(1, 4), "expert": Fraction(1, 2)}
    risk = sum(
        rule[choice] * eta[y] * confusion[y][m] * ((m if choice == "expert" else choice) != y)
        for choice in rule
        for y in range(2)
        for m in range(2)
    )
    weight = {(y, k): Fraction(int(k != y)) for y in range(2) for k in range(2)}
    weight |= {(y, "expert"): sum(confusion[y][m] * (m != y) for m in range(2)) for y in range(2)}
    assert sum(rule[k] * eta[y] * w for (y, k), w in weight.items()) == risk
    printed = {(y, k): rule[k] * w if k == "expert" else w for (y, k), w in weight.items()}
    assert sum(rule[k] * eta[y] * w for (y, k), w in printed.items()) < risk


def test_experts_need_not_be_independent():
    logits = torch.tensor([[0.3, -0.2, 0.5, 1.0]], dtype=torch.float64)

    def risk(joint):
        patterns = torch.tensor([[a, b] for a in (0, 1) for b in (0, 1)], dtype=torch.bool)
        labels = torch.zeros(4, dtype=torch.int64)
        for name in ("softmax", "ova"):
            loss = DeferralLoss(name)(logits[:, :2].expand(4, 2), logits[:, 2:].expand(4, 2), labels, patterns)
            yield float((torch.tensor(joint, dtype=torch.float64) * loss).sum())

    together, apart = [0.5, 0, 0, 0.5], [0.25] * 4  # both experts are right half of the time
    assert list(risk(together)) == pytest.approx(list(risk(apart)), abs=1e-12)


def test_the_sum_left_over_counts_an_expert_k_times():
    eta = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    confusion = [[Fraction(3, 4), Fraction(1, 4), 0], [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)], [0, 0, 1]]
    p = sum(eta[y] * confusion[y][m] * (m == y) for y in range(3) for m in range(3))
    printed = sum(eta[y] * confusion[y][y] for y in range(3) for m in range(3))  # the indicator gone, the sum not
    assert printed == 3 * p


def test_the_loss_at_its_minimum_is_not_the_probability():
    g = math.log(0.8 / 0.2)
    assert 1 / (1 + math.exp(-g)) == pytest.approx(0.8)
    assert math.log(1 + math.exp(-g)) == pytest.approx(-math.log(0.8))


# The stored outputs


@pytest.fixture(scope="module")
def folder():
    return stored_folder()


@pytest.fixture(scope="module")
def index(folder):
    return json.loads((folder / "index.json").read_text(encoding="utf-8"))["entries"]


@pytest.fixture(scope="module")
def published(folder):
    """(figure, method, x, metric) -> mean, standard error (nan where none is given)."""
    with (folder / "published_figures.csv").open(encoding="utf-8", newline="") as lines:
        return {
            (line["figure"], line["method"], float(line["x"] or "nan"), line["metric"]): (
                float(line["mean"]),
                float(line["standard_error"] or "nan"),
            )
            for line in csv.DictReader(lines)
        }


@pytest.fixture(scope="module")
def sim2(folder):
    """(method, p_in) -> run."""
    entries = [one for one in list_runs(folder) if one.experiment == "cifar10_sim2_increase_confidence"]
    return {(one.method, one.setting): read_run(folder, one) for one in entries}


ABOVE_ONE = {
    "hatespeech_increase_experts": 0.010,
    "galaxyzoo_increase_experts": 0.018,
    "ham10000_increase_experts": 0.050,
    "cifar10_sim1_increase_experts_prob70": 0.023,
    "cifar10_sim2_increase_confidence": 0.046,
    "cifar10_oracle_nonoise_v2": 0.094,
    "cifar10_oracle_withnoise": 0.145,
    "cifar10_gradual_overlap": 0.199,
}


@pytest.mark.parametrize("experiment", ABOVE_ONE)
def test_softmax_estimates_above_one(folder, experiment):
    found = []
    for entry in list_runs(folder):
        if (entry.experiment, entry.method, entry.has_logits) == (experiment, "softmax", True):
            run = read_run(folder, entry)
            found.append(scores_from_logits("softmax", run.class_logits, run.expert_logits).above_one())
    assert np.mean(found) == pytest.approx(ABOVE_ONE[experiment], abs=6e-4)


def test_one_vs_all_is_better_calibrated_in_every_published_cell(published):
    cells = [key for key in published if key[1] == "ova" and key[3].startswith("ece")]
    assert len(cells) == 44
    for figure, method, x, metric in cells:
        assert published[figure, method, x, metric][0] < published[figure, "softmax", x, metric][0]


def test_the_accuracies_of_figure_2b(published):
    def gap(n_experts):
        (ours, se), (theirs, other_se) = (
            published["fig2b", f"{method} naive standard", n_experts, "system_accuracy"]
            for method in ("ova", "softmax")
        )
        return 100 * (ours - theirs), 100 * math.hypot(se, other_se)

    gaps = {n: gap(n) for n in (4, 8, 12, 16, 20)}
    assert [round(difference, 2) for difference, _ in gaps.values()] == [0.52, 0.87, 1.39, 0.02, -1.25]
    assert all(abs(difference) < 1.5 * se for difference, se in gaps.values())


def test_the_random_expert_may_be_mistaken_for_worse_than_random(sim2):
    above = {}
    for key, run in sim2.items():
        proba = scores_from_logits(key[0], run.class_logits, run.expert_logits).expert_proba
        assert expected_calibration_error(proba, run.expert_correct, average=None)[0] > 0.005
        above[key] = 100 * (proba[:, 0].mean() - 0.1)
    p_in = (0.2, 0.4, 0.6, 0.8, 0.95)
    assert [above["softmax", p] for p in p_in] == pytest.approx([0.2, 0.3, 1.0, 0.4, 2.1], abs=0.06)
    assert [above["ova", p] for p in p_in] == pytest.approx([-0.4, -0.5, -0.4, 0.1, 0.3], abs=0.06)


def test_accuracies_on_file_are_those_of_the_mirrored_expert(index, sim2):
    on_file = {
        (raw["method"], raw["config_value"]): raw["published_eval"]["system_accuracy"]
        for raw in index
        if raw["experiment"] == "cifar10_sim2_increase_confidence"
    }
    lost = {}
    for key, run in sim2.items():
        joined = np.concatenate([run.class_logits, run.expert_logits], axis=1).argmax(axis=1)
        asked, deferred = np.maximum(joined - 10, 0), joined >= 10
        said = {
            name: 100 * np.mean(np.where(deferred, run.answers[np.arange(len(run)), who], joined) == run.labels)
            for name, who in (("named", asked), ("mirrored", 3 - asked))
        }
        assert said["mirrored"] == pytest.approx(on_file[key], abs=0.35)  # the experts were drawn anew
        lost[key] = said["named"] - on_file[key]
    assert lost["ova", 0.95] == pytest.approx(10.3, abs=0.05)
    assert max(lost.values()) == lost["ova", 0.95]


@pytest.mark.parametrize(("data", "equal", "of"), [("ham10000", 54, 54), ("galaxyzoo", 71, 71), ("hatespeech", 2, 20)])
def test_dropout_was_drawn_anew_between_accuracy_and_confidences(folder, index, data, equal, of):
    said = {raw["file"]: int(raw["published_eval"]["coverage"].split()[0]) for raw in index if raw["published_eval"]}
    found = []
    for entry in list_runs(folder):
        if entry.experiment == f"{data}_increase_experts" and entry.has_logits:
            run = read_run(folder, entry)
            kept = run.class_logits.max(axis=1) >= run.expert_logits.max(axis=1)
            found.append(int(kept.sum()) == said[entry.file])
    assert (sum(found), len(found)) == (equal, of)


def test_the_mixtures_published_error_is_mostly_its_bound(index, published):
    bounds = {}
    for raw in index:
        if (raw["method"], raw["J"]) == ("moe", 10):
            bounds.setdefault(raw["experiment"].split("_")[0], []).append(
                np.mean(raw["recomputed"]["expert_acc"]) - 0.1
            )
    floor = {name: 100 * np.mean(found) for name, found in bounds.items()}
    assert floor == pytest.approx({"hatespeech": 55.8, "ham10000": 34.6, "galaxyzoo": 53.6}, abs=0.06)
    for name, value in floor.items():
        drawn = published[f"fig1-{name}", "moe", 10, "ece"][0]
        assert 0.87 * drawn < value < drawn


def test_lambda_is_at_the_edge_of_its_grid_where_the_sets_look_best(index):
    found = {
        (raw["method"], raw["config_value"]): raw["published_conformal"]["regularized"]["lamhat"]
        for raw in index
        if raw["experiment"] == "cifar10_oracle_withnoise"
    }
    edge = [("ova", k) for k in range(7)] + [("softmax", k) for k in range(6)]
    assert [key for key in edge if found[key] != 0] == [("ova", 0)]  # the one split that asked nearly everybody
    assert all(found[key] > 0 for key in found if key not in edge)


@pytest.mark.parametrize("p_out", [0.1, 0.2, 0.4, 0.6])
@pytest.mark.parametrize("method", ["ova", "softmax"])
def test_an_empty_set_answered_with_the_number_of_the_top_expert(folder, index, method, p_out):
    key = ("cifar10_gradual_overlap", method, p_out)
    (entry,) = (e for e in list_runs(folder, seed=436) if (e.experiment, e.method, e.setting) == key)
    run = read_run(folder, entry)
    scores, deferred = outputs_as_run(run)
    rng, number, answer = np.random.default_rng(0), [], []
    for _ in range(10):
        rows = rng.permutation(len(run))
        calibration, test = (part[deferred[part]] for part in (rows[:7372], rows[7372:]))
        fitted = fit_regularized(scores[calibration], run.expert_correct[calibration], alpha=0.1)
        mask, top = fitted.predict(scores[test]), scores[test].argmax(axis=1)
        vote = vote_as_run(run.answers[test], mask, scores[test], n_classes=10)
        alone = run.expert_correct[test, top].sum()
        for label, gains in ((np.where(mask.any(axis=1), vote, top), number), (vote, answer)):
            gains.append(100 * (np.sum(label == run.labels[test]) - alone) / (len(run) - 7372))
    (stored,) = (
        raw["published_conformal"]["regularized"]["system_accuracy"] for raw in index if raw["file"] == entry.file
    )
    assert np.mean(number) == pytest.approx(100 * (stored["voting"] - stored["standard"]), abs=0.6)
    if p_out < 0.4:
        assert np.mean(number) < -0.8
        assert abs(np.mean(answer)) < 0.1


def test_the_seed_on_file_cannot_be_one_of_five_with_the_published_mean_and_error(index, published):
    """Of n numbers none is farther from the mean than n - 1 standard errors (Samuelson's inequality)."""
    apart = {}
    for raw in index:
        if raw["experiment"] == "hatespeech_increase_experts":
            key = ("fig1-hatespeech", raw["method"], raw["config_value"], "system_accuracy")
            mean, se = published[key]
            distance = mean - raw["published_eval"]["system_accuracy"]
            if abs(distance) > 4 * se + 1e-6:
                apart[raw["method"], raw["config_value"]] = round(distance, 2)
    assert apart == {("ova", 9): 0.44, ("ova", 10): 0.61}


def test_galaxy_zoo_with_nine_experts_lies_below_each_seed_on_file(index, published):
    on_file = [
        raw["published_eval"]["system_accuracy"]
        for raw in index
        if (raw["experiment"], raw["method"], raw["J"]) == ("galaxyzoo_increase_experts", "ova", 9)
    ]
    mean, _ = published["fig1-galaxyzoo", "ova", 9, "system_accuracy"]
    assert len(on_file) == 3
    assert mean < min(on_file)
    assert np.mean(on_file) - mean == pytest.approx(1.08, abs=0.01)
