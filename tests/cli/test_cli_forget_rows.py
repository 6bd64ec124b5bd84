"""Without fingerprints, or with those of another key, rows are not taken for new unless the user says so."""

import json

import pandas as pd
import pytest
from clinic import FIT, lesions, run

from defero import InputError, Study
from defero.data.fingerprint import VARIABLE

OURS, THEIRS = "ab" * 32, "cd" * 32


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """Return a folder with a team that forgot its rows, and one that was fitted with another key."""
    folder = tmp_path_factory.mktemp("forgotten")
    patients = [f"{number // 2:03d}" for number in range(120)]
    lesions(120).assign(patient=patients).to_csv(folder / "cases.csv", index=False)
    lesions(60, seed=8).assign(patient=[f"x{place}" for place in range(60)]).to_csv(folder / "new.csv", index=False)
    options = [folder / "cases.csv", *FIT, "--net", "auto", "--group", "patient", "--out"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, OURS)
        for out, more in (("kept", []), ("forgotten", ["--forget-rows"])):
            fitted = run("fit", *options, folder / out, *more)
            assert fitted.code == 0, fitted.err
    return folder


@pytest.fixture(params=["forgotten", "kept"])
def model(request, clinic, monkeypatch):
    """Return a model whose rows cannot be checked here, and what the message says of it."""
    monkeypatch.setenv(VARIABLE, OURS if request.param == "forgotten" else THEIRS)
    return clinic / request.param


def test_no_fingerprint_is_in_the_folder(clinic):
    assert b"seen." in (clinic / "kept" / "weights.safetensors").read_bytes()
    assert b"seen." not in (clinic / "forgotten" / "weights.safetensors").read_bytes()


@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_nothing_is_judged_without_a_word(model, command, tmp_path):
    out = ["--out", tmp_path / "report.html"] if command == "report" else []
    refused = run(command, model, model.parent / "new.csv", *out)
    assert refused.code == 2
    assert "pass --all-rows-new" in refused.err
    assert ("keeps no fingerprints" if model.name == "forgotten" else VARIABLE) in refused.err
    assert refused.err.count("\n") == 1
    assert not (tmp_path / "report.html").exists()


def test_the_user_s_word_is_taken_and_repeated(model, tmp_path):
    table = model.parent / "new.csv"
    judged = run("evaluate", model, table, "--all-rows-new", "--json")
    assert judged.code == 0, judged.err
    values = json.loads(judged.out)
    assert (values["seen_by_fit"], values["of_seen_groups"], values["rows_checked"]) == (0, 0, False)
    assert values["test"]["items"] == 60
    assert "not checked that these cases are new" in values["test"]["cautions"][0]
    ours = Study.load(model).evaluate(table, all_rows_new=True)
    assert ours.record.to_dict()["cautions"] == values["test"]["cautions"]
    with pytest.raises(InputError, match="all_rows_new=True"):
        Study.load(model).evaluate(table)


def test_the_page_says_so(clinic, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv(VARIABLE, OURS)
    out = tmp_path / "report.html"
    assert run("report", clinic / "forgotten", clinic / "new.csv", "--out", out, "--all-rows-new").code == 0
    page = out.read_text(encoding="utf-8")
    assert "not checked that these cases are new" in page
    assert "--all-rows-new" in page


def test_a_word_does_not_undo_a_check_that_can_be_made(clinic, monkeypatch):
    monkeypatch.setenv(VARIABLE, OURS)
    plain, vouched = (
        json.loads(run("evaluate", clinic / "kept", clinic / "cases.csv", "--json", *more).out)
        for more in ([], ["--all-rows-new"])
    )
    *notes, last = vouched.pop("notes")
    assert plain.pop("notes") == notes
    assert last.startswith("--all-rows-new: has no effect")
    assert plain == vouched
    assert plain["seen_by_fit"] > 60
    assert plain["rows_checked"]


def test_groups_of_another_key_are_not_taken_for_new(clinic, tmp_path, monkeypatch):
    """New rows of patients that `fit` saw: their fingerprints are of another key too."""
    known = lesions(40, seed=9).assign(patient=[f"{number:03d}" for number in range(40)])
    known.to_csv(tmp_path / "known.csv", index=False)
    monkeypatch.setenv(VARIABLE, OURS)
    assert json.loads(run("evaluate", clinic / "kept", tmp_path / "known.csv", "--json").out)["of_seen_groups"] > 0
    monkeypatch.setenv(VARIABLE, THEIRS)
    with pytest.raises(InputError, match="all_rows_new=True"):
        Study.load(clinic / "kept").evaluate(tmp_path / "known.csv")


def test_a_comparison_needs_the_word_as_well(clinic, monkeypatch):
    monkeypatch.setenv(VARIABLE, OURS)
    arguments = ["evaluate", clinic / "kept", clinic / "new.csv", "--against", clinic / "forgotten"]
    refused = run(*arguments)
    assert refused.code == 2
    assert f"--against {clinic / 'forgotten'}: this model keeps no fingerprints" in refused.err
    assert run(*arguments, "--all-rows-new").code == 0


def test_an_expert_who_joins_leaves_no_fingerprints_either(model, tmp_path):
    cases = lesions(80, seed=11).assign(patient=[f"y{number}" for number in range(80)])
    cases = cases.assign(dr_d=cases.truth.where(cases.index % 9 > 0, "benign"))
    cases.iloc[:40].to_csv(tmp_path / "joins.csv", index=False)
    cases.iloc[40:].to_csv(tmp_path / "panels.csv", index=False)
    options = [model, tmp_path / "joins.csv", "--expert", "dr_d", "--out", tmp_path / "joined"]
    refused = run("add-expert", *options, "--panels", tmp_path / "panels.csv")
    assert refused.code == 2
    assert "pass --all-rows-new" in refused.err
    joined = run("add-expert", *options, "--panels", tmp_path / "panels.csv", "--all-rows-new")
    assert joined.code == 0, joined.err
    assert "Do not judge dr_d by the cases that they answered (40)" in joined.out
    assert "The panels are new" in joined.out
    assert b"seen." not in (tmp_path / "joined" / "weights.safetensors").read_bytes()
    routed = run("route", tmp_path / "joined", model.parent / "new.csv", "--out", tmp_path / "decisions.csv")
    assert routed.code == 0, routed.err
    assert pd.read_csv(tmp_path / "decisions.csv").p_dr_d.between(0, 1).all()
