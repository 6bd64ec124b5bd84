"""`defero fit`: what it prints and saves, and every wrong input in one sentence at exit status 2."""

import json
import re
import subprocess
import sys
from typing import get_args

import pytest
from clinic import DOCTORS, FIT, enter, lesions, run, trained

from defero import Team


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    return enter(tmp_path_factory, tmp_path, monkeypatch)


@pytest.fixture
def cases():
    return lesions()


def fit(table, *options):
    return run("fit", table, *FIT, "--out", "other", *options)


def test_it_trains_judges_and_saves(tmp_path_factory):
    folder, printed = trained(tmp_path_factory)
    parts = "81 to learn from, 23 to calibrate, 24 to conformalize, 32 for the test."
    assert f"160 cases of {folder / 'cases.csv'}: {parts}" in printed
    assert "age: a number; blank cells become" in printed
    assert re.search(r"site: 4 categories \(.*trunk.*\)\.", printed)
    assert "case: " not in printed
    assert "On 32 held-out cases (95 % intervals):" in printed
    assert "Only recorded answers can be used:" in printed
    assert printed.endswith(f"Next: defero route {folder / 'model'} NEW_CASES --out decisions.csv\n")
    assert re.search(r"^promised +at least 90\.0 %$", printed, re.MULTILINE)
    assert re.search(r"^kept on these cases +\d+\.\d %  \(.*\)$", printed, re.MULTILINE)
    team = Team.load(folder / "model")
    assert {"fit", "calibrate", "conformalize"} < set(team.seen)
    assert team.panel.predictor.alpha == 0.1
    assert team.expert_names == tuple(DOCTORS)
    assert team.classes.tolist() == ["benign", "malign"]
    assert team.facts.spec.label == "truth"


def test_json_says_what_the_table_says(folder, tmp_path_factory):
    outcome = fit("cases.csv", "--json")
    result = json.loads(outcome.out)
    assert (outcome.code, outcome.err) == (0, "")
    assert result["rows"] == {"train": 81, "calibrate": 23, "conformalize": 24, "test": 32}
    human = trained(tmp_path_factory)[1]
    for name, share in [("team", result["test"]["team"]), ("model", result["test"]["model"])]:
        shown = rf"{100 * share['accuracy']:.1f} %  \({100 * share['low']:.1f} to {100 * share['high']:.1f}\)"
        assert re.search(rf"^{name} +{shown}", human, re.MULTILINE)
    for expert in result["test"]["experts"]:
        decides = f"{100 * expert['asked']['n'] / 32:.1f} %"
        promised = f"{100 * expert['promise']['promised']:.1f} %"
        alone = f"{100 * expert['alone']['accuracy']:.1f} %"
        assert re.search(rf"^{expert['name']} +{alone} .* {decides} .* {promised} ", human, re.MULTILINE)
    for line in result["features"]:
        assert line in human


def test_a_seed_settles_everything(folder):
    seeds = (0, 2**32 - 1)  # the largest
    weights = [
        fit("cases.csv", "--seed", seed) and (folder / "other/weights.safetensors").read_bytes() for seed in seeds
    ]
    assert weights[0] == (folder / "model/weights.safetensors").read_bytes()
    assert weights[1] != weights[0]


def test_a_wrong_answer_is_told_in_one_sentence(folder, cases):
    """In a process of its own, as a person would see it; torch is not loaded for that."""
    cases.loc[15, "dr_b"] = "maybe"
    cases.to_csv("cases.csv", index=False)
    done = subprocess.run(
        [sys.executable, "-m", "defero", "fit", "cases.csv", *FIT, "--out", "other"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "cases.csv: row 17, column dr_b: answer 'maybe' is not one of benign, malign" in done.stderr
    assert len(done.stderr.splitlines()) == 2  # the error, and where the mapping is


def test_a_near_miss_is_offered(folder, cases):
    cases.loc[15, "dr_b"] = "beningn"
    cases.to_csv("cases.csv", index=False)
    assert "is not one of benign, malign; did you mean 'benign'?\n" in fit("cases.csv").err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--label", "thruth"],
            "cases.csv: no column 'thruth' for the label; did you mean 'truth'? The columns are case",
        ),
        (["--experts", "dr_a,drb"], "cases.csv: no column 'drb' for an expert; did you mean 'dr_b'? The columns are"),
        (["--experts", "dr_a,dr_a"], "cases.csv: column 'dr_a' is named twice as an expert; name it once."),
        (["--features", "age,dr_a"], "cases.csv: column 'dr_a' is named as an expert and as a feature; choose one."),
        (["--features", "agee"], "cases.csv: no column 'agee' for a feature; did you mean 'age'?"),
        (["--key", "site"], "cases.csv: column site: the key 'face' is in rows"),
        (["--test-share", "1.5"], "--test-share must lie between 0 and 1, got 1.5."),
        (
            ["--test-share", "0.0001"],
            "cases.csv: 160 cases, so split, leave 100 to learn from, 30 to calibrate, 30 to conformalize and 0 for "
            "the test; expected at least 10 to learn from",
        ),
        (["--alpha", "1"], "--alpha must lie between 0 and 1, got 1; for a promise of 90 % pass 0.1."),
        (["--target", "best"], "--target must be one of any-correct, all-correct, missed-share, got 'best'."),
        (["--target", "any_correct"], "got 'any_correct'; did you mean 'any-correct'?"),
        (["--net", "linaer"], "got 'linaer'; did you mean 'linear'?"),
        (["--loss", "softmx"], "moe, auto, got 'softmx'; did you mean 'softmax'?"),
        (["--test-share", "0.95"], "cases.csv: 160 cases, so split, leave 6 to learn from, 1 to "),
        (["--net", "deep"], "timm:<model>, got 'deep'."),
        (["--answer-weights", "all"], "--answer-weights must be one of label, label+features, got 'all'."),
        (
            ["--answer-weights", "label", "--loss", "softmax"],
            "--answer-weights label: is for --net auto without a loss; leave one of them out.",
        ),
        (["--loss", "hinge"], "--loss must be one of softmax, ova, decoupled, asymmetric, moe, auto, got 'hinge'."),
        (["--key", "site"], "every row needs its own key. A column whose values repeat"),
        (["--seed", "-1"], "Invalid value for '--seed'"),
        (["--seed", "4294967296"], "Invalid value for '--seed': Input should be less than or equal to 4294967295"),
        (["--seed", "99999999999999999999"], "Invalid value for '--seed'"),
        (["--out", "no/model"], "no/model: the folder"),
        (
            ["--out", "cases.csv"],
            "cases.csv: exists and is no model folder; choose another name, it was left as it is.",
        ),
        (["--speed", "fast"], "No such option: --speed"),
    ],
)
def test_a_wrong_option_is_told(folder, options, message):
    outcome = fit("cases.csv", *options)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.out == ""
    assert not (folder / "other").exists()


def write_empty(path, cases):
    path.write_text("")


def write_header(path, cases):
    path.write_text("age,truth\n")


def write_one_class(path, cases):
    cases[cases.truth == "benign"].assign(**dict.fromkeys(DOCTORS, "benign")).to_csv(path, index=False)


def write_silence(path, cases):
    cases.assign(**dict.fromkeys(DOCTORS)).to_csv(path, index=False)


def write_measurements(path, cases):
    cases.assign(truth=[0.5, 1.5] * 80, **dict.fromkeys(DOCTORS)).to_csv(path, index=False)


def write_no_label(path, cases):
    cases.assign(truth=None).to_csv(path, index=False)


def write_infinity(path, cases):
    cases.assign(size_mm=cases.size_mm.mask(cases.index == 15, float("inf"))).to_csv(path, index=False)


def write_no_feature(path, cases):
    cases.assign(age=1, size_mm=2, site="arm").to_csv(path, index=False)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (write_infinity, "table.csv: row 17, column size_mm: 'inf' is not a finite number"),
        (write_no_feature, "table.csv: no column can be used as a feature (age: the same in every row; size_mm: the"),
        (write_empty, "table.csv: is empty."),
        (write_header, "table.csv: has a header but no rows."),
        (write_one_class, "table.csv: column truth: the label is benign in every row, so there is nothing to learn."),
        (write_silence, "table.csv: no expert answered any of the cases to learn from; fill in answers, or pass"),
        (write_measurements, "table.csv: column truth: labels must be words or whole numbers, got 0.5, 1.5."),
        (write_no_label, "table.csv: column truth: no row has a label; fill it in"),
    ],
)
def test_a_table_to_learn_nothing_from_is_told(folder, cases, write, message):
    write(folder / "table.csv", cases)
    outcome = fit("table.csv")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"defero: {message}")


def test_a_missing_file_and_a_strange_one_are_told(folder):
    assert fit("none.csv").err == "defero: none.csv: no such file.\n"
    assert "cases.xlsx: the ending of the name is no table format" in fit("cases.xlsx").err


def test_a_folder_in_the_way_is_told_before_training(folder, monkeypatch):
    (folder / "other").mkdir()
    (folder / "other" / "letter.txt").write_text("dear")
    monkeypatch.setattr("defero.data.tables.read.read_frame", None)
    outcome = fit("cases.csv")
    assert (outcome.code, outcome.err) == (
        2,
        "defero: other: exists and is no model folder; choose another name, it was left as it is.\n",
    )


def test_a_model_in_the_way_is_replaced_and_that_is_said(folder):
    (folder / "other").mkdir()
    assert "replaced" not in fit("cases.csv").err
    told = "note: other: there was a model already; the new one has replaced it.\n"
    assert fit("cases.csv").err.count(told) == 1


@pytest.mark.filterwarnings("default")
def test_a_silent_expert_is_noted(folder, cases):
    cases.assign(dr_b=None).to_csv("cases.csv", index=False)
    outcome = fit("cases.csv")
    assert outcome.code == 0
    assert "note: no answer of dr_b in the training rows" in outcome.err
    assert re.search(r"^dr_b +- +0\.0 % +- +- +-$", outcome.out, re.MULTILINE)


def test_a_doctor_nobody_named_is_noted(folder):
    outcome = fit("cases.csv", "--experts", "dr_a,dr_b")
    assert outcome.code == 0
    assert outcome.err == (
        "note: dr_c holds labels and is used as a feature; name an expert's column in --experts, or leave it out with "
        "--features.\n"
    )


def test_the_net_and_the_loss_are_those_of_the_estimator(folder, monkeypatch):
    from defero.estimators import deferral
    from defero.judge.weights import By
    from defero.study.fit import NETS, WEIGHTS

    assert get_args(By) == WEIGHTS
    for net in NETS:
        deferral.DeferralClassifier(net, loss="ova")._check_options()
    monkeypatch.setattr("defero.data.tables.read.read_frame", None)
    assert fit("none.csv", "--net", "deep").err.startswith("defero: --net must be one of auto, linear, mlp, wrn-")
    assert fit("none.csv", "--loss", "hinge").err.startswith("defero: --loss must be one of softmax, ova,")


def test_options_without_effect_are_noted(folder):
    outcome = fit("cases.csv", "--loss", "moe", "--alpha", "0.2", "--fee", "dr_a=0.1")
    assert outcome.code == 0
    assert "note: --alpha, --fee: no effect with --loss moe, whose weights promise nothing" in outcome.err
    assert "no effect" not in fit("cases.csv", "--loss", "moe").err


def test_fees_need_somebody_to_pay(folder):
    alone = ["--experts", "", "--features", "age"]
    assert fit("cases.csv", *alone, "--fee", "a=1").err == (
        "defero: --fee: there are no experts to be paid; leave it out.\n"
    )
    assert fit("cases.csv", *alone).code == 0
    assert run("route", "other", "cases.csv", "--out", "d.csv", "--absent", "a").err == (
        "defero: --absent a: the model knows no experts; leave it out.\n"
    )


def test_no_experts_is_a_model_alone(folder):
    outcome = fit("cases.csv", "--experts", "", "--features", "age,size_mm,site")
    assert outcome.code == 0
    assert re.search(r"^model .*\) +100\.0 % ", outcome.out, re.MULTILINE)


def test_softmax_estimates_above_one_are_told(folder, cases):
    cases.assign(**dict.fromkeys(DOCTORS, cases.truth)).to_csv("cases.csv", index=False)
    printed = fit("cases.csv", "--loss", "softmax").out
    assert "estimates exceeded 1 before recalibration, a fault of the softmax loss." in printed
