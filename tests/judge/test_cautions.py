"""Cautions: said where they are due, silent where nothing is wrong, and few even with fifty experts."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from defero.core.results import Decision
from defero.core.scores import Scores
from defero.core.trial import Trial
from defero.judge.accuracy import ClassRecall
from defero.judge.intervals import Comparison, Share, compare
from defero.judge.panels import PanelRecord
from defero.judge.record.cautions import (
    broken_panel,
    broken_promises,
    few_cases,
    idle_model,
    impossible_estimates,
    large_panels,
    lost_classes,
    miscalibrated_estimates,
    no_better,
    nothing_deferred,
    silent_experts,
    thin_evidence,
    unseen_classes,
)
from defero.judge.record.figures import Figure
from defero.judge.record.members import MemberRecord, PromiseRecord, TeamPromises
from defero.study.evaluate import chosen_cases

GAIN = Comparison(100, 0.9, 0.8, 0.1, 0.02, 0.18, 0.95, 0.01, 15, 5)


def expert(name, *, asked=(0, 0), promised=math.nan, alone=(80, 100), answers=None, n_members=2):
    promise = PromiseRecord(promised, Share(*asked), n_members)
    return MemberRecord(name, Share(*alone), promise, GAIN, answers, {"smooth_error": Figure(0.1, 0.0, 0.2)})


def judged(experts, of_model=None, *, total=None):
    """Return the sentence on these experts and the model, and on all experts as one."""
    asked = Share(sum(one.asked.right for one in experts), sum(one.asked.total for one in experts))
    promised = sum(one.promised * one.asked.total for one in experts) / max(asked.total, 1)
    all_experts = PromiseRecord(promised, asked, len(experts) + 1)
    of_model = PromiseRecord(math.nan, Share(0, 0), 2) if of_model is None else of_model
    total = PromiseRecord(math.nan, Share(0, 9_999)) if total is None else total
    promises = TeamPromises(total, of_model, tuple(one.promise for one in experts), all_experts)
    return broken_promises(experts, promises)


def panel(kept, low, high, word, *, target="any-correct", asked_for=0.9):
    return PanelRecord("", target, 0.1, asked_for, kept, low, high, 100, 100, 2, 2, 0.1, 0.1, Share(9, 10), word)


def test_few_cases():
    assert few_cases(1) == "1 case is too few to judge by: look at the intervals."
    assert few_cases(49) == "49 cases are too few to judge by: look at the intervals."
    assert few_cases(50) is None


def test_a_model_that_always_says_the_same():
    def found(*classes):
        return [ClassRecall(label, Share(0, n), Share(right, n), 1.0, 1.0) for label, right, n in classes]

    sentence = idle_model(found(("a", 0, 24), ("b", 31, 31)))
    assert all(fact in sentence for fact in ("accuracy is 56.4 %", "always predicting b (56.4 %)"))
    assert idle_model(found(("a", 1, 24), ("b", 31, 31))) is None
    assert idle_model(found(("a", 0, 24), ("b", 25, 25))) is None  # 49 cases are too few
    assert idle_model(found(("a", 0, 0), ("b", 60, 60))) is None  # of one class alone nothing can be said
    assert idle_model([]) is None


def test_nobody_was_asked():
    assert nothing_deferred(1.0, n_experts=2) == "No case was deferred: the team is the model alone here."
    assert nothing_deferred(0.99, n_experts=2) is None
    assert nothing_deferred(1.0, n_experts=0) is None


def test_the_team_is_no_better():
    def gain(first, second, *, n=100):
        right = np.arange(n) < first, (np.arange(n) >= first) & (np.arange(n) < first + second)
        return compare(*right)

    assert no_better(gain(6, 5)) == (
        "The team is not better than the model beyond doubt: +1.0 points (-6.4 to +8.5), McNemar's p = 1."
    )
    assert no_better(gain(0, 6)).startswith("The team is worse than the model: -6.0 points (-12.")
    assert no_better(gain(0, 0)) == ("The team and the model are right on the same cases: no gain and no loss.")
    assert no_better(gain(6, 0)) is None
    assert no_better(gain(0, 0, n=0)) is None


def test_few_cases_apart_are_no_proof_whatever_the_interval_says():
    """Five cases won and none lost are p = 0.0625, though the interval leaves zero out."""
    won = compare([1] * 5 + [0] * 95, [0] * 100)
    assert won.low > 0
    assert "not better than the model beyond doubt" in no_better(won)
    assert no_better(compare([1], [0])) == (
        "The team is not better than the model beyond doubt: +100.0 points (-60.4 to +100.0), McNemar's p = 1."
    )


def test_a_class_that_is_lost():
    def found(label, team, model, adjusted):
        return ClassRecall(label, Share(team, 40), Share(model, 40), 0.001, adjusted)

    kept = [found("a", 10, 30, 0.06), found("b", 30, 10, 0.001)]
    assert lost_classes(kept) is None
    assert lost_classes([*kept, found("c", 20, 30, 0.04)]) == (
        "Classes that the team finds less often than the model alone: c (50.0 % of 40 beside 75.0 %)."
    )
    several = lost_classes([found(k, 10 + k, 40, 0.01) for k in range(5)])
    assert ": 0 (25.0 % of 40 beside 100.0 %), 1 (" in several
    assert several.endswith(") and 3 more.")


def test_a_panel_that_breaks_its_promise():
    assert broken_panel(panel(0.8, 0.75, 0.85, "less")) == (
        "Panels hold a right expert less often than promised: at least 90.0 % promised, 80.0 % (75.0 to 85.0) here; "
        "are these cases like those of conformalize?"
    )
    assert "hold every right expert less often" in broken_panel(panel(0.8, 0.7, 0.9, "less", target="all-correct"))
    missed = broken_panel(panel(0.3, 0.2, 0.4, "less", target="missed-share", asked_for=0.1))
    assert missed.startswith("Panels miss more of the right experts than promised: at most 10.0 % promised, 30.0 % ")
    assert broken_panel(panel(0.8, 0.7, 0.9, "as promised")) is None


def test_a_broken_promise():
    experts = [expert("dr_a", asked=(90, 100), promised=0.9), expert("dr_c", asked=(116, 150), promised=0.9)]
    assert judged(experts, PromiseRecord(0.8, Share(80, 100), 2)) == (
        "More was promised than kept: dr_c (0.900 promised, 0.687 to 0.846 kept, 150 cases)."
    )
    assert judged(experts[:1], PromiseRecord(0.9, Share(60, 100), 2)) == (
        "More was promised than kept: the model (0.900 promised, 0.483 to 0.709 kept, 100 cases)."
    )
    assert judged(experts[:1]) is None


def test_modesty_is_let_pass_and_a_gap_of_one_point_is_not():
    assert judged([expert("dr_a", asked=(990, 1_000), promised=0.5)]) is None
    assert "kept: dr_a (" in judged([expert("dr_a", asked=(8_900, 10_000), promised=0.9)])


def test_the_total_is_judged_by_its_interval():
    low, high = PromiseRecord(0.9, Share(880, 1000)).interval
    assert judged([], total=PromiseRecord(high - 1e-9, Share(880, 1000))) is None
    sentence = judged([], total=PromiseRecord(0.95, Share(880, 1000)))
    assert f"the team in total (0.950 promised, {low:.3f} to {high:.3f} kept, 1000 cases)" in sentence
    # Where one member decides every case, the promise is theirs.
    alone = judged([], PromiseRecord(0.95, Share(880, 1000)), total=PromiseRecord(0.95, Share(880, 1000)))
    assert "the model (" in alone
    assert "in total" not in alone


def test_many_who_got_few_cases_each_are_judged_together():
    """Nobody alone got enough: five cases each, 0.95 promised, four kept."""
    experts = [expert(f"worker_{j}", asked=(4, 5), promised=0.95) for j in range(40)]
    assert judged(experts) == (
        "More was promised than kept: all experts together (0.950 promised, 0.696 to 0.882 kept, 200 cases)."
    )
    assert judged(experts[:2]) is None


def test_many_are_counted_the_worst_named():
    sentence = judged([expert(f"e{j}", asked=(60 - j, 100), promised=0.95, n_members=50) for j in range(50)])
    assert sentence.startswith("More was promised than kept: e49 (0.950 promised, ")
    assert sentence.endswith(" cases) and 47 more.")
    assert len(sentence) < 260


@pytest.mark.parametrize("promised", [0.8, 0.95, 0.97, 0.99])
@pytest.mark.parametrize("n", [1, 3, 10, 30, 100])
def test_honest_experts_are_seldom_blamed(n, promised):
    """Fifty honest experts: at most one study in twenty says a word against any of them, exactly."""
    words = [PromiseRecord(promised, Share(right, n), 50).verdict for right in range(n + 1)]
    blamed = sum(binom.pmf(right, n, promised) for right, word in enumerate(words) if word == "less")
    assert 1 - (1 - blamed) ** 50 <= 0.05
    praised = sum(binom.pmf(right, n, promised) for right, word in enumerate(words) if word == "more")
    assert 1 - (1 - praised) ** 50 <= 0.05


def test_liars_are_found():
    assert PromiseRecord(0.95, Share(60, 100), 50).verdict == "less"
    assert PromiseRecord(0.5, Share(95, 100), 50).verdict == "more"
    assert PromiseRecord(0.95, Share(10, 30), 50).verdict == "less"
    assert PromiseRecord(0.95, Share(0, 10), 50).verdict == "less"


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ({"dr_a": 200, "dr_b": 14}, "Few answers to learn from: dr_b (14)."),
        ({"dr_a": 20, "dr_b": 3}, "Few answers to learn from: dr_b (3) and dr_a (20)."),
        ({"dr_a": 30, "dr_b": None}, None),
        (
            {f"e{j}": j + 5 for j in range(50)},
            "Few answers to learn from: e0 (5), e1 (6), e2 (7) and 22 more.",
        ),
    ],
)
def test_thin_evidence(answers, sentence):
    assert thin_evidence([expert(name, answers=count) for name, count in answers.items()]) == sentence


def recorded(answered, label_idx):
    """Return a trial of two classes in which these cells (n, J) are answered, all rightly."""
    names = tuple(f"dr_{j}" for j in range(answered.shape[1]))
    n_items, n_experts = answered.shape
    scores = Scores.from_probabilities(np.full((n_items, 2), 0.5), np.full((n_items, n_experts), 0.5))
    nobody, even = np.full(n_items, -1), np.full(n_items, 0.5)
    decision = Decision(nobody, names, even, even, nobody, even)
    answer_idx = np.where(answered, label_idx[:, None], -1)
    return Trial(np.array(["a", "b"]), label_idx, answer_idx, scores, decision, scores)


def test_chosen_cases_are_told_with_the_class():
    rng = np.random.default_rng(0)
    label_idx = rng.integers(2, size=300)
    answered = rng.random((300, 2)) < np.where(label_idx == 1, 0.8, 0.2)[:, None]
    sentence = chosen_cases(recorded(answered, label_idx))
    assert "not random (p = 0.0025): of the answers of dr_1 85 % are to class b where 54 %" in sentence
    assert sentence.endswith("; accuracies are about those cases.")
    assert chosen_cases(recorded(rng.random((300, 2)) < 0.5, label_idx)) is None
    assert chosen_cases(recorded(np.ones((300, 2), dtype=bool), label_idx)) is None
    assert chosen_cases(recorded(np.zeros((300, 2), dtype=bool), label_idx)) is None
    assert chosen_cases(recorded(answered[:, :0], label_idx)) is None


def test_the_rest():
    assert impossible_estimates(0.05, recalibrated=True) == (
        "5.0 % of the experts' estimates exceeded 1 before recalibration, a fault of the softmax loss."
    )
    assert impossible_estimates(1e-5, recalibrated=False) == (
        "<0.1 % of the experts' estimates exceed 1, a fault of the softmax loss: call calibrate."
    )
    assert impossible_estimates(0.0, recalibrated=False) is None
    assert impossible_estimates(math.nan, recalibrated=False) is None
    silent = [expert(name, alone=(0, 0)) for name in ("a", "b", "c")]
    assert silent_experts(silent[:1]) == "No recorded answer here, so not judged: a."
    assert silent_experts(silent) == "No recorded answer here, so not judged: a, b and 1 more."
    assert silent_experts([expert("a")]) is None
    assert unseen_classes(["x", "y"], [3, 0]) == "No case here, so the figures say nothing of it: class y."
    assert unseen_classes(range(9), [1] + [0] * 8).endswith(": class 1, 2 and 6 more.")
    assert unseen_classes(["x"], [3]) is None
    assert unseen_classes(["x"], [0]) is None


def test_panels_that_hold_most_of_the_team_are_told():
    size = replace(panel(0.9, 0.8, 1.0, "as promised"), filled_size=18.04)
    begin = "Panels are of little use here: they hold 18.0 of 30 experts on average"
    few_answers = ", because too few answers per case are recorded."
    assert large_panels(size, n_experts=30, recorded=4.0, calibrated_on=16) == begin + few_answers
    assert large_panels(replace(size, filled_size=15.0), n_experts=30, recorded=4.0) is None
    assert large_panels(replace(size, filled_size=2.5), n_experts=3, recorded=1.0) is None
    assert large_panels(replace(size, filled_size=math.nan), n_experts=30, recorded=4.0) is None


def test_the_reason_of_large_panels_is_one_that_holds():
    size = replace(panel(0.9, 0.8, 1.0, "as promised"), filled_size=18.04)
    few_cases_there = large_panels(size, n_experts=30, recorded=30.0, calibrated_on=16)
    assert few_cases_there.endswith(", because conformalize had only 16 deferred cases.")
    assert "had only 1 deferred case." in large_panels(size, n_experts=30, recorded=30.0, calibrated_on=1)
    for enough in (None, 100):
        neither = large_panels(size, n_experts=30, recorded=30.0, calibrated_on=enough)
        assert neither.endswith("on average. A larger alpha makes them smaller.")


def off(name, error, low):
    return replace(expert(name), figures={"smooth_error": Figure(error, low, 0.2)})


def test_chances_that_are_off_are_counted():
    honest, bad = [off(f"h{j}", 0.03, 0.0) for j in range(7)], [off(f"b{j}", 0.061 + j / 100, 0.04) for j in range(3)]
    sentence = miscalibrated_estimates([*honest, *bad], recalibrated=True)
    assert all(fact in sentence for fact in ("3 of 10 experts", "6.1 to 8.1 points", "recalibration has not"))
    alone = miscalibrated_estimates([bad[0]], recalibrated=False)
    assert all(fact in alone for fact in ("of 1 of 1 expert", "6.1 points", "call calibrate"))
    assert "of 3 of 3 experts" in miscalibrated_estimates(bad, recalibrated=True)


def test_chances_that_are_off_by_little_or_by_chance_are_not():
    honest = [off(f"h{j}", 0.03, 0.0) for j in range(19)]
    assert miscalibrated_estimates(honest, recalibrated=True) is None
    assert miscalibrated_estimates([*honest, off("b", 0.06, 0.01)], recalibrated=True) is None  # 1 in 20 is 5 %
    assert miscalibrated_estimates([off("b", 0.015, 0.01)], recalibrated=True) is None
    assert miscalibrated_estimates([off("b", math.nan, math.nan)], recalibrated=True) is None
    assert miscalibrated_estimates([], recalibrated=True) is None
