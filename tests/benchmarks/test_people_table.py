"""The people's table: figures of trials by hand, tests, what a cut run keeps, and the page."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.people import __main__ as command
from benchmarks.people import run as running
from benchmarks.people.discover import all_systems, chosen
from benchmarks.people.ledger import Ledger
from benchmarks.people.page import page
from benchmarks.people.promise_table import promise_figures, verdict
from benchmarks.people.run import judged, run_all
from benchmarks.people.summary import summarise
from benchmarks.people.trial import Trial
from benchmarks.resampled import nadeau_bengio
from tiny_crowd import tiny_set

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


def test_a_set_that_is_not_there_is_left_out_with_its_reason(tmp_path):
    def absent():
        raise InputError("it is not there.")

    found = finished(Ledger(tmp_path / "t.jsonl", "v1"), 1, sets=[tiny_set("gone", load=absent), tiny_set()])
    assert found.skipped == {"gone": "it is not there."}
    assert {one.crowd for one in found.trials} == {"tiny"}


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
