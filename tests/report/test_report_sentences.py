"""The page's sentences and marks: one test for each, on the whole page without its pictures."""

import math
from dataclasses import replace

import numpy as np
import pytest
from report_trials import NASTY, Reader, provenance, trial_and_record

from defero import Team
from defero.decide.terms import Terms
from defero.judge import compare, shared_errors, team_record
from defero.judge.accuracy import trial_curve
from defero.judge.intervals import Share
from defero.judge.record.cautions import no_better
from defero.judge.record.figures import FigureTable
from defero.judge.record.members import PromiseRecord
from defero.report import Evidence, report_page
from defero.report.page import sentence
from defero.team import record_of, try_out

pytestmark = pytest.mark.usefixtures("empty_pictures")


def read(trial, record, *, made_of=None, **known):
    evidence = Evidence(expert_sd=known.pop("sd", ()), **known)
    return Reader(report_page(trial, record, made_of or provenance(), evidence=evidence))


def page(**changes):
    trial, record = trial_and_record()
    return read(trial, replace(record, **changes))


def against(won, lost, same=0):
    """Return a comparison in which the first alone is right `won` times, the second alone `lost` times."""
    first = [1] * won + [0] * lost + [1] * same
    second = [0] * won + [1] * lost + [1] * same
    return compare(first, second)


@pytest.mark.parametrize(
    ("gain", "facts"),
    [
        (against(30, 5, 65), ["is better than the model alone", "(McNemar's exact test, p < 0.001)"]),
        (against(2, 15, 80), ["The team is worse than the model alone"]),
        (against(4, 0, 20), ["do not show whether the team is better", "may be chance (McNemar's exact test, p = 0.1"]),
        (against(1, 0, 0), ["do not show whether the team is better", "p = 1)"]),
        (against(0, 0, 40), ["right on exactly the same cases"]),
    ],
)
def test_what_the_gain_means(gain, facts):
    assert all(fact in page(team_minus_model=gain).text for fact in facts)


def test_nobody_asked():
    text = page(
        team_minus_model=against(0, 0, 40),
        coverage=1.0,
        cautions=("No case was deferred: the team is the model alone here.",),
    )
    assert text.text.count("No case was deferred") == 1


def test_the_interval_stands_beside_the_difference():
    _, record = trial_and_record()
    assert sentence(replace(record, team_minus_model=against(0, 0))).endswith(": – points.")
    varied = against(6, 0, 18)
    ends = f"{100 * varied.low:+.1f} to {100 * varied.high:+.1f}"
    assert sentence(replace(record, team_minus_model=varied)).endswith(f": +25.0 points (95\u00a0% interval {ends}).")


def test_the_sentence_has_the_records_numbers():
    _, record = trial_and_record()
    assert record.team != record.model  # else one could stand for the other
    team, model = (f"{100 * share.value:.1f}\u00a0%" for share in (record.team, record.model))
    start = f"On 120 held-out cases the team is right on {team}, the model alone on {model}: "
    assert sentence(record).startswith(start)


def test_what_the_head_has_said_is_no_caution_again():
    unsure = against(5, 6, 60)
    repeated = no_better(unsure)
    shown = page(team_minus_model=unsure, cautions=(repeated, "ann gains -0.5 points.", "Class -1 is rare."))
    assert "Before you rely on this ann gains −0.5 points. Class -1 is rare. This report" in shown.text
    assert "Before you rely on this" not in page(team_minus_model=unsure, cautions=(repeated,)).text


@pytest.mark.parametrize(
    ("gain", "mark"), [(against(30, 5, 65), "good"), (against(2, 15, 80), "bad"), (against(4, 0), "unsure")]
)
def test_a_gain_is_coloured_only_beyond_chance(gain, mark):
    first, *others = trial_and_record()[1].experts
    cells = page(experts=(replace(first, team_minus_expert=gain), *others)).cells("gain")
    assert cells[first.name]["team minus them, in points"].kinds == {mark}


def test_a_class_found_less_often_is_red_and_explained():
    first, *others = trial_and_record()[1].recall
    assert "A difference in red" not in page().text
    shown = page(recall=(replace(first, team=replace(first.model, right=0), adjusted=0.01), *others))
    kinds = [row["difference in points"].kinds for row in shown.cells("classes").values()]
    assert kinds == [{"bad"}, {"unsure"}, {"unsure"}]
    assert "A difference in red" in shown.text


def test_every_word_of_a_promise_has_its_verdict():
    _, record = trial_and_record()
    kept = ((0.9, Share(20, 50), 4), (0.5, Share(50, 50), 4), (0.9, Share(9, 9)))
    experts = tuple(replace(one, promise=PromiseRecord(*of)) for one, of in zip(record.experts, kept, strict=True))
    model, total = PromiseRecord(0.9, Share(45, 50), 4), PromiseRecord(0.9, Share(70, 100))
    cells = page(experts=experts, promises=replace(record.promises, model=model, total=total)).cells("load")
    shown = {name: str(row["verdict"]) for name, row in cells.items()}
    names = [expert.name for expert in record.experts]
    assert shown == {
        "the team": "less than promised",
        "the model": "as promised",
        names[1]: "more than promised",
        names[0]: "less than promised",
        names[2]: "too few to tell",
    }
    assert [name for name, row in cells.items() if "bad" in row["verdict"].kinds] == ["the team", names[0]]


@pytest.mark.parametrize(
    ("verdict", "fact"),
    [
        ("less", "The promise was not kept"),
        ("as promised", "The result agrees with the promise."),
        ("too few", "too few cases to tell"),
        (None, "No deferred case here shows"),
    ],
)
def test_what_became_of_the_panels_promise(verdict, fact):
    trial, record = trial_and_record()
    judged = replace(record, panel=replace(record.panel, kept_promise=verdict))
    assert fact in read(trial, judged).text
    void = read(trial, judged, panels_void="The panels were found under other fees.").text
    assert "The panels were found under other fees." in void
    assert fact not in void


def test_panels_that_were_not_judged_are_not_denied():
    note = "Its panels were calibrated inside groups and are not judged here: no groups were given."
    text = page(panel=None, panel_note=note).text
    assert note in text
    assert "no panel:" not in text
    assert "This team has no panel" in page(panel=None).text


def test_a_recalibration_that_changed_nothing_is_not_claimed():
    trial, record = trial_and_record()
    same = replace(trial, uncalibrated=replace(trial.scores))
    text = read(same, replace(record, recalibrated=True)).text
    assert "before recalibration" not in text
    assert "gave no reason to correct the probabilities" in text
    assert "were not recalibrated" in read(trial, record).text
    halved = replace(trial.scores, expert_proba=trial.scores.expert_proba / 2)
    changed = read(replace(trial, uncalibrated=halved), replace(record, recalibrated=True))
    assert "before recalibration" in changed.cells("calibration", "Distance")["bob"]


def test_without_fees_curve_and_table_count_questions_alike():
    trial, record = trial_and_record()
    deferred = int(trial.decision.deferred.sum())
    one = next(way for way in record.ways if way.name == "one")
    assert trial_curve(trial).cost[deferred] == pytest.approx(one.cost)
    assert "No fee is set, so each question costs 0.01 of an error" in read(trial, record).text


def test_links_are_in_the_order_of_the_sections():
    none = FigureTable([""], [])
    shown = read(*trial_and_record(), groups={"site": (none, none)})
    links = [target.removeprefix("#") for target in shown.targets if target.startswith("#")]
    places = [shown.ids.index(link) for link in links]
    assert "groups" in links
    assert places == sorted(places)


def evident(counts=(400, 3, 0), **known):
    trial, record = trial_and_record()
    experts = tuple(replace(one, training_answers=n) for one, n in zip(record.experts, counts, strict=True))
    return read(trial, replace(record, experts=experts), **known)


def test_the_doubt_and_the_answers_behind_it_are_columns():
    cells = evident(sd=(0.021, 0.113, math.nan)).cells("calibration", "Distance")
    assert {name: [str(cell) for cell in row.values()][2:] for name, row in cells.items()} == {
        "the model": ["", ""],
        NASTY: ["400", "± 2.1"],
        "bob": ["3", "± 11.3"],
        "eve": ["0", "–"],
    }
    plain = page()
    assert set(plain.cells("calibration", "Distance")["bob"]) == {"cases", "error"}
    assert "standard deviation" not in plain.text


def test_what_training_learned_about_the_answers_is_shown():
    shown = read(*trial_and_record(), made_of=provenance(answering=("Class <b> was seen more.", "Weigh them.")))
    assert "Were answers given at random? " in shown.text
    assert "Class <b> was seen more. Weigh them." in shown.text
    assert "given at random" not in page().text


def guessing(*, ask="one", sure=0.9, terms=None):
    """A model that guesses and believes itself with `sure`, and three good experts."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=400)
    answers = np.where(rng.random((400, 3)) < 0.8, truth[:, None], 1 - truth[:, None])
    team = Team.from_probabilities(
        np.tile([sure, 1 - sure], (400, 1)), np.full((400, 3), 0.8), classes=[0, 1], expert_names=["ann", "bob", "cem"]
    )
    trial = try_out(team, None, truth, answers, disjoint=True, ask=ask, terms=terms)
    record = record_of(team, trial)
    return record, Reader(report_page(trial, record, provenance()))


def test_the_first_screen_says_where_a_plain_way_is_better():
    record, shown = guessing()
    assert record.coverage == 1.0
    first = shown.text[: shown.text.index("Which way of asking is best?")]
    assert "a majority vote of everybody is right on" in first
    _, asked = guessing(ask="sequential", sure=0.6)
    assert "vote of everybody is right on" not in asked.text
    assert "asking one after the other (the team)" in asked.text


def test_costs_are_in_errors_without_money_and_in_money_with_it():
    _, plain = guessing(sure=0.6)
    assert "errors per case" in plain.text
    assert "money per case" not in plain.text
    assert "Whoever has the highest probability decides." in plain.text
    assert "0.01 of an error for each question" in plain.text
    record, paid = guessing(sure=0.6, terms=Terms(fees=[0.5] * 3, error_cost=40))
    assert "money per case" in paid.text
    assert "Compared with the model alone it saves" in paid.text
    assert "Whoever has the lowest expected cost" in paid.text
    assert record.costs.of("everybody_majority").spent == 1.5


NAMES = (NASTY, "bob", "eve", "kim")


def mistakes(copy=(), *, n=500, names=NAMES):
    """Return the page and the shared errors, if each (a, b) of `copy` gives the same answers."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=n)
    right = rng.random((n, len(names))) < 0.75
    answers = np.where(right, labels[:, None], (labels[:, None] + rng.integers(1, 3, size=right.shape)) % 3)
    for a, b in copy:
        answers[:, b] = answers[:, a]
    errors = shared_errors(answers, labels, expert_names=names)
    return page(shared_errors=errors), errors


def test_copies_are_one_sentence_and_a_row_for_each_pair():
    shown, errors = mistakes([(0, 3)])
    assert f"{NASTY} and kim err together: count them as one person." in shown.text
    (pair,) = errors.pairs
    row = shown.rows("shared-errors")[f"{NASTY} and kim"]
    wrong = f"{pair.same_wrong} of {pair.both_wrong}"
    assert row == [f"{pair.correlation:.2f}", "100.0 %", "500", wrong, f"{pair.voices:.1f}", "p < 0.001"]
    shown, errors = mistakes([(0, 2), (2, 3)])
    assert errors.groups == ((0, 2, 3),)
    assert f"{NASTY}, eve and kim err together: count them as one person." in shown.text
    assert shown.text.count("err together: count") == 1
    assert len(shown.rows("shared-errors")) == 3


def test_a_weaker_pair_counts_as_a_number_of_experts():
    _, errors = mistakes([(0, 3)])
    weaker = replace(errors.pairs[0], correlation=0.5)
    text = page(shared_errors=replace(errors, pairs=(weaker,), groups=())).text
    assert "kim often make the same mistakes: together they count as about 1.3 experts" in text
    assert "count them" not in text


def test_independent_experts_are_not_listed():
    shown, _ = mistakes()
    assert "No two experts make the same mistakes" in shown.text
    assert shown.rows("shared-errors") == {}
    assert "fewer than four experts" not in shown.text
    assert "fewer than four experts" in mistakes(names=NAMES[:3])[0].text
    assert "only one expert" in mistakes(n=40, names=("ann",))[0].text
    assert "No two experts share 20 cases" in mistakes(n=10, names=("ann", "bob"))[0].text


def test_copies_are_a_caution_of_the_page():
    trial, _ = trial_and_record(300, NAMES, panel=False)
    answers = trial.answer_idx.copy()
    answers[:, 2] = answers[:, 0]
    # Whom the team asks must have answered: here nobody is asked.
    alone = replace(trial.decision, expert=np.full(len(trial), -1))
    trial = replace(trial, answer_idx=answers, decision=alone)
    record = team_record(trial, rng=np.random.default_rng(0))
    caution = f"{NASTY} and eve err together: count them as one person."
    assert caution in record.cautions
    assert read(trial, record).text.count(caution) == 2
