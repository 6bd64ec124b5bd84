"""The people's table: figures of trials by hand, tests, what a cut run keeps, and the page."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.people import __main__ as command
from benchmarks.people import promises
from benchmarks.people import run as running
from benchmarks.people.discover import all_systems, chosen
from benchmarks.people.ledger import Ledger, cache_folder, code_version
from benchmarks.people.page import page
from benchmarks.people.promise_table import promise_figures, verdict
from benchmarks.people.run import judged, run_all
from benchmarks.people.summary import summarise
from benchmarks.people.trial import Trial
from benchmarks.resampled import nadeau_bengio
from tiny_crowd import tiny_crowd, tiny_set

from defero import InputError
from defero.judge import holm

CHEAP = chosen(all_systems(), ["model alone", "random annotator", "plain rule", "majority of all"], what="systems")
ACCURACY = {
    "model alone": [0.70, 0.72, 0.71, 0.70],
    "random annotator": [0.75, 0.74, 0.77, 0.76],
    "plain rule": [0.90, 0.91, 0.92, 0.90],
    "our team": [0.92, 0.93, 0.95, 0.91],
}


def trials(crowd="tiny", accuracy=ACCURACY):
    return [
        Trial(crowd, system, split, 70, 30, value, 0.5, 0.5, math.nan, math.nan, math.nan, 1.0 + split**3)
        for system, values in accuracy.items()
        for split, value in enumerate(values)
    ]


def facts(figures, skipped=None):
    return {
        "command": "python -m benchmarks.people", "seeds": [0, 1, 2, 3], "code": ["abc"], "machine": "x", "cores": 2,
        "threads": "1",
        "versions": {"python": "3"}, "skipped": skipped or {}, "figures": figures,
    }  # fmt: skip


def test_figures_and_tests_by_hand():
    found = summarise([tiny_set()], trials())["tiny"]
    ours = found["systems"]["our team"]
    assert (found["n_train"], found["n_test"], found["splits"]) == (70, 30, [0, 1, 2, 3])
    assert ours["accuracy"] == pytest.approx(0.9275)
    assert (ours["seconds"], ours["promised"]) == (5.5, None)  # of 1, 2, 9 and 28
    spread = nadeau_bengio(ACCURACY["our team"], n_train=70, n_test=30)
    assert (ours["low"], ours["high"]) == pytest.approx((spread.low, spread.high))
    gains = np.subtract(ACCURACY["our team"], ACCURACY["plain rule"])
    plain = nadeau_bengio(gains, n_train=70, n_test=30, alternative="greater")
    assert ours["tests"]["plain rule"]["p_value"] == pytest.approx(plain.p_value)
    assert ours["tests"]["plain rule"]["alternative"] == "greater"
    assert ours["tests"]["model alone"]["alternative"] == "two-sided"
    assert list(found["systems"]["model alone"]["tests"]) == ["random annotator", "plain rule"]


def test_holm_is_over_every_test_of_the_page_but_those_of_agreement():
    sets = [tiny_set(), tiny_set("other"), tiny_set("agreed", agreement=True)]
    found = summarise(sets, [*trials(), *trials("other"), *trials("agreed")])
    tests = [
        test for name in ("tiny", "other") for one in found[name]["systems"].values() for test in one["tests"].values()
    ]
    assert len(tests) == 2 * (2 + 2 + 2 + 3)
    assert [test["holm"] for test in tests] == holm([test["p_value"] for test in tests]).tolist()
    assert all(test["clear"] == (test["holm"] < 0.05) for test in tests)
    assert all(one["tests"] == {} for one in found["agreed"]["systems"].values())


def test_one_split_has_neither_interval_nor_tests():
    found = summarise([tiny_set()], trials(accuracy={name: values[:1] for name, values in ACCURACY.items()}))["tiny"]
    assert found["systems"]["our team"]["low"] is None
    assert found["systems"]["our team"]["tests"] == {}
    assert "| our team | 1 | **92.0** | 0.50 |" in page(facts({"tiny": found}))


def test_the_page():
    sets = [tiny_set(), tiny_set("agreed", agreement=True)]
    shown = page(facts(summarise(sets, [*trials(), *trials("agreed")]), {"cifar10h": "there are no features."}))
    row = next(line for line in shown.splitlines() if line.startswith("| our team"))
    assert row.startswith("| our team | 4 | **92.8** [")
    assert row.count("|") == 12
    assert "9 tests of the page" in shown
    assert "| system | splits | agreement %, 95 % interval |" in shown
    assert "outside the tests" in shown
    assert shown.endswith("- cifar10h: there are no features.\n")
    lines = shown.splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("| system | splits | accuracy"))
    assert lines[head].count("|") == lines[head + 1].count("|") == 12


def test_the_page_by_category():
    shares = {"model alone": (0.5, 0.4), "our team": (0.7, 0.5)}
    told = [
        replace(
            trial, strata={"sex: female": {"n": 10.0, "accuracy": shares[trial.system][trial.split % 2], "asked": 0.2}}
        )
        for trial in trials()
        if trial.system in shares
    ]
    figures = summarise([tiny_set()], told)
    own = figures["tiny"]["systems"]["our team"]["strata"]["sex: female"]
    assert (own["n"], own["accuracy"], own["asked"]) == (10, 0.6, 0.2)
    expected = nadeau_bengio([0.2, 0.1, 0.2, 0.1], n_train=10 * 70 / 30, n_test=10)
    assert (own["minus_model"]["mean"], own["minus_model"]["low"]) == pytest.approx((0.15, expected.low))
    assert "| sex: female | our team | 10 | 60.0 | +15.0 [" in page(facts(figures))
    assert "| category |" not in page(facts(summarise([tiny_set()], trials())))


def test_stars_tell_before_and_after_holm():
    found = summarise([tiny_set()], trials())
    test = found["tiny"]["systems"]["our team"]["tests"]["model alone"]
    assert test["clear"]
    assert "\\* |" in page(facts(found))
    test.update(clear=False, p_value=0.04)
    assert f"{100 * test['mean']:+.1f} (\\*)" in page(facts(found))


def test_systems_told_the_label_are_left_out_where_people_are_the_truth():
    names = [system.name for system in judged(tiny_set(agreement=True), tiny_set().load(), all_systems())]
    assert len(names) == len(all_systems()) - 4 - 4  # those that hear all, and those that differ by a text alone
    assert not [name for name in names if "of all" in name]
    assert len(judged(tiny_set(), tiny_set().load(), all_systems())) == len(all_systems()) - 4


def finished(ledger, n_splits, *, sets=None, systems=CHEAP):
    return run_all(sets or [tiny_set()], systems, n_splits=n_splits, ledger=ledger, told=lambda line: None)


def test_a_cut_run_is_taken_up_where_it_was(tmp_path, monkeypatch):
    ledger, ran = Ledger(tmp_path / "new" / "trials.jsonl", "v1"), []
    really = running.run_trial

    def counted(crowd, system, fold, labels, strata):
        if len(ran) == 6:
            raise KeyboardInterrupt
        ran.append((system.name, fold.seed))
        return really(crowd, system, fold, labels, strata)

    monkeypatch.setattr(running, "run_trial", counted)
    with pytest.raises(KeyboardInterrupt):
        finished(ledger, 2)
    assert len(ledger.read()) == 6
    with ledger.path.open("a") as file:
        file.write('{"crowd": "tiny", "syst')  # the machine went down here
    monkeypatch.setattr(running, "run_trial", really)
    whole = finished(ledger, 2)
    assert [(one.system, one.split) for one in whole.trials] == [
        (system.name, split) for split in (0, 1) for system in CHEAP
    ]
    assert len([line for line in ledger.path.read_text().splitlines() if line.endswith("}")]) == 8
    fresh = finished(Ledger(tmp_path / "fresh.jsonl", "v1"), 2)
    assert [one.accuracy for one in fresh.trials] == [one.accuracy for one in whole.trials]
    monkeypatch.setattr(running, "run_trial", None)
    assert (
        finished(ledger, 2).trials == pytest.approx(whole.trials, nan_ok=True) or len(finished(ledger, 2).trials) == 8
    )


def test_other_code_runs_anew_unless_told_otherwise(tmp_path):
    path = tmp_path / "trials.jsonl"
    first = finished(Ledger(path, "v1"), 1)
    assert Ledger(path, "v2").read() == {}
    either = Ledger(path, "v2", any_version=True)
    assert len(either.read()) == len(CHEAP)
    either.append(first.trials[0])
    assert either.versions(first.trials) == ["v1", "v2"]
    assert Ledger(path, "v1").versions(first.trials) == ["v1"]


def test_a_line_of_another_form_is_passed_over(tmp_path):
    path = tmp_path / "trials.jsonl"
    path.write_text('{"version": "v1", "crowd": "tiny"}\n')
    assert Ledger(path, "v1").read() == {}


def test_an_older_line_without_the_total_is_taken(tmp_path):
    path = tmp_path / "trials.jsonl"
    ledger = Ledger(path, "v1")
    ledger.append(trials()[0])
    entry = json.loads(path.read_text())
    del entry["promised_total"], entry["strata"]
    path.write_text(json.dumps(entry))
    (trial,) = ledger.read().values()
    assert math.isnan(trial.promised_total)


def promising(gaps, *, system="our team"):
    one = next(trial for trial in trials() if trial.system == "our team")
    return [
        replace(one, system=system, split=split, accuracy=0.9, promised_total=0.9 + gap)
        for split, gap in enumerate(gaps)
    ]


@pytest.mark.parametrize(
    ("gaps", "words"),
    [
        ([0.01, 0.008, 0.009, 0.01, 0.012], "kept: at most 1 point"),
        ([0.08, -0.03, 0.05, -0.02, 0.02], "kept: 0 inside the interval"),
        ([0.03, 0.031, 0.029, 0.03, 0.03], "promises too much"),
        ([-0.03, -0.031, -0.029, -0.03, -0.03], "promises too little"),
        ([0.03, 0.03], "too few splits"),
    ],
)
def test_promises_over_all_cases_are_judged_by_gap_and_interval(gaps, words):
    (figures,) = promise_figures(["tiny"], promising(gaps))
    expected = nadeau_bengio(gaps, n_train=70, n_test=30)
    assert (figures["gap"], figures["low"]) == pytest.approx((np.mean(gaps), expected.low))
    assert verdict(figures) == words
    promises = {"code": ["abc"], "versions": {"python": "3"}, "figures": [figures]}
    shown = page({**facts(summarise([tiny_set()], trials())), "promises": promises})
    row = next(line for line in shown.splitlines() if line.startswith("| tiny, one expert"))
    assert row.endswith(f"| {words} |")
    assert shown.index("## Promised and kept over all cases") < shown.index("## tiny")


def test_promises_of_both_ways_run_once_and_stand_on_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(promises, "all_sets", lambda: (tiny_set(),))
    (tmp_path / "people.json").write_text(json.dumps(facts(summarise([tiny_set()], trials()))))
    for ran in (True, False):
        assert promises.main(["--splits", "1", "--out", str(tmp_path)]) == 0
        assert ("promised" in capsys.readouterr().out) == ran
    assert "| tiny, in turn (1) |" in (tmp_path / "people.md").read_text()
    assert promises.main(["--sets", "nowhere", "--out", str(tmp_path)]) == 2


def test_a_set_that_is_not_there_is_left_out_with_its_reason(tmp_path):
    def absent():
        raise InputError("it is not there.")

    found = finished(Ledger(tmp_path / "t.jsonl", "v1"), 1, sets=[tiny_set("gone", load=absent), tiny_set()])
    assert found.skipped == {"gone": "it is not there."}
    assert {one.crowd for one in found.trials} == {"tiny"}


def test_a_failing_system_is_no_missing_set(tmp_path):
    def failing():
        crowd = tiny_crowd()
        object.__setattr__(crowd, "reduce", lambda train, test: (train, test[:, :1]))
        return crowd

    with pytest.raises(InputError, match="features"):
        finished(Ledger(tmp_path / "t.jsonl", "v1"), 1, sets=[tiny_set(load=failing)])


def test_the_version_of_the_code_and_where_trials_lie(monkeypatch):
    assert code_version() == code_version()
    assert len(code_version()) == 12
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder().as_posix() == "/somewhere/defero-benchmarks/people"


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "all_sets", lambda: (tiny_set(),))
    names = ["model alone", "plain rule", "our sequential panel, fee 0.05"]
    options = ["--systems", *names, "--fee", "0.05", "--splits", "2"]
    folders = ["--out", str(tmp_path / "out"), "--cache", str(tmp_path / "cache")]
    assert command.main([*options, *folders]) == 0
    saved = json.loads((tmp_path / "out" / "people.json").read_text())
    assert list(saved["figures"]["tiny"]["systems"]) == names
    assert saved["seeds"] == [0, 1]
    assert saved["command"].startswith('python -m benchmarks.people --systems "model alone"')
    assert (tmp_path / "out" / "people.md").read_text().startswith("# What deferral")
    assert "wrote" in capsys.readouterr().out
    assert command.main(["--sets", "nowhere"]) == 2
    assert "--sets must be among tiny" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["--splits", "0"])
    assert "whole number of at least 1, got 0" in capsys.readouterr().err


def test_processes_give_what_one_gives(tmp_path):
    alone, shared = (Ledger(tmp_path / name / "trials.jsonl", "v1") for name in ("alone", "shared"))
    one = finished(alone, 2).trials
    two = run_all([tiny_set()], CHEAP, n_splits=2, ledger=shared, workers=2, told=lambda line: None).trials
    assert [(trial.system, trial.split, trial.accuracy) for trial in one] == [
        (trial.system, trial.split, trial.accuracy) for trial in two
    ]
    assert shared.read().keys() == alone.read().keys()


def test_slow_systems_and_large_sets_get_fewer_splits(tmp_path):
    slow = replace(CHEAP[0], most_splits=1)
    found = finished(Ledger(tmp_path / "t.jsonl", "v1"), 3, systems=[slow, CHEAP[1]]).trials
    assert [trial.split for trial in found if trial.system == slow.name] == [0]
    assert [trial.split for trial in found if trial.system == CHEAP[1].name] == [0, 1, 2]
    large = replace(tiny_set(), most_splits=2)
    found = finished(Ledger(tmp_path / "l.jsonl", "v1"), 3, sets=[large], systems=CHEAP[:1]).trials
    assert [trial.split for trial in found] == [0, 1]
