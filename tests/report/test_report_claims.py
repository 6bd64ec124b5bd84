"""The page claims only what holds: under fees, without recalibration, for the shares and the experts that it names."""

import math
from dataclasses import replace

import pytest
from report_trials import Reader, provenance, trial_and_record
from test_report_ways import page

from defero.decide.terms import Terms
from defero.judge.record.costs import cost_frontier
from defero.judge.record.group_load import GroupTable
from defero.report import Evidence, report_page

pytestmark = pytest.mark.usefixtures("empty_pictures")


def read(trial, record, **known):
    evidence = Evidence(expert_sd=(0.02, 0.1, math.nan), min_answers=5, **known)
    return Reader(report_page(trial, record, provenance(), evidence=evidence))


def test_under_fees_the_lowest_expected_cost_decides():
    _, plain = page(sure=0.6)
    assert "Whoever has the highest probability decides." in plain.text
    _, paid = page(sure=0.6, terms=Terms.of([0.5] * 3, n_classes=2, error_cost=40))
    assert "highest probability decides" not in paid.text
    assert "Whoever has the lowest expected cost" in paid.text


def test_a_promise_that_does_not_hold_here_gets_no_verdict():
    trial, record = trial_and_record()
    kept = replace(record, panel=replace(record.panel, kept_promise="as promised"))
    assert "The result agrees with the promise." in read(trial, kept).text
    void = read(trial, kept, panels_void="The panels were found under other fees.")
    assert "The panels were found under other fees." in void.text
    assert "agrees with the promise" not in void.text


def test_a_recalibration_that_changed_nothing_is_not_claimed():
    trial, record = trial_and_record()
    same = replace(trial, uncalibrated=replace(trial.scores))
    text = read(same, record).text
    assert "were recalibrated" not in text
    assert "before recalibration" not in text
    assert "gave no reason to correct the probabilities" in text


def test_without_fees_curve_and_table_count_questions_alike():
    trial, record = trial_and_record()
    deferred = int(trial.decision.deferred.sum())
    one = next(way for way in record.ways if way.name == "one")
    assert cost_frontier(trial).total[deferred] == pytest.approx(one.cost)
    text = read(trial, record).text
    assert "No fee is set, so each question costs 0.01 of an error" in text


def test_the_standard_deviation_says_what_it_covers():
    text = read(*trial_and_record()).text
    assert "chance in this expert's answers only; the real error can be several times as large" in text


def test_shares_are_those_that_are_given():
    text = read(*trial_and_record()).text
    assert "at most a given share" not in text
    assert "largest share" not in text


def test_links_are_in_the_order_of_the_sections():
    trial, record = trial_and_record()
    shown = read(trial, record, groups=(GroupTable("site", ()),))
    links = [target.removeprefix("#") for target in shown.targets if target.startswith("#")]
    places = [shown.ids.index(link) for link in links]
    assert "groups" in links
    assert places == sorted(places)


def test_the_two_best_experts_have_two_names():
    text = page(sure=0.6)[1].text
    assert "Best expert with enough answers" in text
    assert "asking the best expert who answered" in text
    assert "Best single expert" not in text
