"""`Study` does what each command does: equal decisions, records and cautions; in at most five lines."""

import errno
import html
import inspect
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from clinic import DOCTORS, lesions, run
from crowd import tasks_of, write_log, write_tasks

from defero import InputError, Study, Team, read_cases
from defero.cli.options import spelling
from defero.core.errors import Argument
from defero.decide.terms import Terms

WORDS = ["pale", "dark", "smooth", "ragged", "flat", "round"]


def write_cases(folder):
    """Write the same lesions as a wide table, a log of answers with a remark, an export, and with days."""
    rng = np.random.default_rng(5)
    cases = lesions(120)
    cases["remark"] = [f"{first} {second}" for first, second in rng.choice(WORDS, (120, 2))]
    cases.drop(columns="remark").to_csv(folder / "wide.csv", index=False)
    write_log(folder, cases)
    write_tasks(folder / "export.json", tasks_of(cases.drop(columns="remark")))
    days = pd.date_range("2025-01-01", periods=120).strftime("%Y-%m-%d")
    cases.drop(columns="remark").assign(day=days).to_csv(folder / "times.csv", index=False)
    new = lesions(60, seed=8).assign(
        remark="pale arm", patient=[f"x{number}" for number in range(60)], day="2026-01-01"
    )
    new.to_csv(folder / "new.csv", index=False)
    write_tasks(folder / "new_export.json", tasks_of(new))
    new.drop(columns=DOCTORS).to_csv(folder / "new_items.csv", index=False)
    log = new.melt(id_vars="case", value_vars=DOCTORS, var_name="reader", value_name="answer")
    log.dropna().to_csv(folder / "new_log.csv", index=False)
    joins = lesions(40, seed=9).assign(remark="dark leg", patient=[f"y{number}" for number in range(40)])
    joins.assign(dr_d=joins.truth.where(joins.index % 9 > 0, "benign")).to_csv(folder / "joins.csv", index=False)


WIDE = (["--label", "truth", "--experts", ",".join(DOCTORS)], {"label": "truth", "expert_names": DOCTORS})
KINDS = {
    "log": (
        "items.csv",
        ["--label", "truth", "--answers", "log.csv", "--text", "remark", "--key", "case"],
        {"label": "truth", "answers": "log.csv", "text": "remark", "key": "case"},
        [],
        {},
    ),
    "export": ("export.json", [], {}, [], {}),
    "times": ("times.csv", *WIDE, ["--time", "day"], {"time": "day"}),
}
NEW = {
    "log": ("new_items.csv", ["--answers", "new_log.csv"], {"answers": "new_log.csv"}),
    "export": ("new_export.json", [], {}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_python_and_the_command_line_agree(kind, tmp_path, monkeypatch):
    """Fit, route, evaluate, report and add-expert: equal decisions, records and cautions."""
    monkeypatch.chdir(tmp_path)
    write_cases(tmp_path)
    table, options, words, cut_options, cuts = KINDS[kind]

    fitted = json_of("fit", table, *options, *cut_options, "--out", "by_command")
    study = Study(read_cases(table, **words), **cuts)
    study.fit()
    study.save("by_python")
    assert fitted == as_printed(study.to_dict())
    assert study.evaluate().cautions == tuple(fitted["test"]["cautions"])
    assert_same_decisions(study, "by_command")

    new, new_options, new_words = NEW.get(kind, ("new.csv", [], {}))
    judged = study.evaluate(study.read(new, **new_words))
    assert json_of("evaluate", "by_command", new, *new_options) == as_printed(judged.to_dict())

    if kind == "log":  # a page is slow to draw, and is made of the record compared above
        told = json_of("report", "by_command", new, *new_options, "--out", "by_command.html")
        judged = study.report("by_python.html", study.read(new, **new_words))
        values = as_printed(judged.to_dict()) | {"report": "by_command.html"}
        del values["against"]
        assert told == values
        figures = [figures_of(Path(f"{who}.html")) for who in ("by_command", "by_python")]
        assert figures[0] == figures[1]

    told = json_of("add-expert", "by_command", "joins.csv", "--expert", "dr_d", "--label", "truth", "--out", "joined")
    newcomer = study.add_expert("dr_d", study.read("joins.csv", newcomer="dr_d", label="truth"))
    assert told == as_printed(newcomer.to_dict()) | {"model": "joined"}
    assert_same_decisions(study, "joined")


def assert_same_decisions(study, model):
    assert run("route", model, "new.csv", "--key", "case", "--out", "decisions.csv").code == 0
    written = pd.read_csv("decisions.csv", keep_default_na=False, na_values={"label": "", "p_right": "", "p_used": ""})
    pd.testing.assert_frame_equal(study.route("new.csv", key="case").to_frame(), written, check_dtype=False, rtol=1e-9)


def json_of(*arguments):
    """Return what a command prints as JSON."""
    outcome = run(*arguments, "--json")
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def as_printed(values):
    """Return what a command prints of values that Python returned."""
    plain = json.loads(json.dumps(spelled_like_a_command(values)))
    return plain | ({"model": "by_command"} if "model" in plain else {})


def figures_of(page):
    """Return a page without its end, which tells who made it, when and how."""
    text = page.read_text(encoding="utf-8").replace("by_command", "MODEL").replace("by_python", "MODEL")
    return text.partition("<footer")[0]


def spelled_like_a_command(values):
    from defero.cli.output import running, spelled

    running["command"] = "fit"
    return spelled(values)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """Return a folder with the clinic's files, and a study that was fitted there."""
    folder = tmp_path_factory.mktemp("study")
    write_cases(folder)
    study = Study(read_cases(folder / "wide.csv", label="truth", expert_names=DOCTORS, key="case"), random_state=0)
    study.fit(net="linear")
    study.save(folder / "model")
    return folder, study


def test_five_lines_are_enough(clinic, tmp_path, monkeypatch):
    folder, _ = clinic
    monkeypatch.chdir(folder)
    program = """
cases = read_cases("wide.csv", label="truth", expert_names=DOCTORS)
study = Study(cases, random_state=0)
team = study.fit(net="linear")
evaluation = study.evaluate()
routing = study.route("new.csv", out="routed.csv")
"""
    names = {"read_cases": read_cases, "Study": Study, "DOCTORS": DOCTORS}
    exec(program, names)
    assert len(program.strip().splitlines()) == 5
    assert isinstance(names["team"], Team)
    assert names["team"].panel is not None
    assert names["evaluation"].to_frame().loc["team", "right"] == names["evaluation"].record.team.value
    assert names["evaluation"].summary().startswith("On 24 held-out cases")
    assert names["routing"].rows == len(pd.read_csv("routed.csv")) == len(names["routing"].to_frame()) == 60
    assert "60 decisions in routed.csv" in repr(names["routing"])


def test_a_frame_is_taken_as_well_as_a_file(clinic):
    folder, study = clinic
    frame = pd.read_csv(folder / "wide.csv")
    again = Study(read_cases(frame, label="truth", expert_names=DOCTORS, key="case"))
    assert [part.labels.tolist() for part in again.parts] == [part.labels.tolist() for part in study.parts]
    new = pd.read_csv(folder / "new.csv")
    by_frame, by_file = study.evaluate(new), study.evaluate(folder / "new.csv")
    assert by_frame.record.to_dict() == by_file.record.to_dict()
    by_frame, by_path = study.route(new, key="case"), study.route(folder / "new.csv", key="case")
    pd.testing.assert_frame_equal(by_frame.to_frame(), by_path.to_frame())


def test_numbers_of_groups_are_read_as_written(tmp_path):
    cases = lesions(40).assign(patient=["007", "7"] * 20)
    cases.to_csv(tmp_path / "cases.csv", index=False)
    read = read_cases(tmp_path / "cases.csv", label="truth", expert_names=DOCTORS)
    assert "patient" in read.table.features.columns
    apart = read.split_by(groups="patient")
    assert "patient" not in apart.table.features.columns
    assert set(apart.apart.patient) == {"007", "7"}


def test_a_loaded_team_leaves_out_what_it_has_seen(clinic):
    folder, study = clinic
    judged = Study.load(folder / "model").evaluate(folder / "wide.csv")
    assert judged.seen_by_fit == 120 - len(study.parts[3])
    assert judged.record.team.total == len(study.parts[3])
    assert "rows were seen by fit and are left out." in judged.left_out_sentence()


def test_the_test_part_judges_only_a_team_that_has_not_used_it(clinic):
    folder, study = clinic
    loaded = Study.load(folder / "model")
    other_split = Study(study.cases, random_state=7, team=loaded.team)
    with pytest.raises(InputError, match="rows were seen by"):
        other_split.evaluate()
    table = lesions(40, seed=9)
    joined = Study(study.cases, team=loaded.team.copy())
    joined.add_expert("dr_d", table.assign(dr_d=table.truth.where(table.index % 9 > 0, "benign")))
    with pytest.raises(InputError, match=r"dr_d.*the test part has answers of.*pass a table"):
        joined.evaluate()


def test_what_fit_did_is_told_only_by_the_study_that_fitted(clinic):
    folder, study = clinic
    loaded = Study.load(folder / "model")
    with pytest.raises(InputError, match=r"to_dict.*call fit first"):
        loaded.to_dict()
    with pytest.raises(InputError, match=r"describe.*call fit first"):
        Study(study.cases, team=loaded.team).describe()


def test_rows_are_forgotten_in_the_folder_and_not_in_the_study(clinic, tmp_path):
    folder, _ = clinic
    study = Study.load(folder / "model")
    study.save(tmp_path / "forgotten", forget_rows=True)
    assert not Team.load(tmp_path / "forgotten").seen
    assert study.evaluate(folder / "wide.csv").seen_by_fit > 0


def test_a_report_and_a_comparison(clinic, tmp_path):
    pytest.importorskip("matplotlib")
    folder, study = clinic
    judged = study.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"{len(study.parts[3])} rows" in page
    assert judged.record.to_dict() == study.evaluate().record.to_dict()
    judged = study.evaluate(folder / "new.csv", against=[folder / "model"], by=["size_mm"])
    assert judged.against[0].comparison.difference == 0
    by_size, beside = judged.tables()
    assert by_size.splitlines()[0].split()[:3] == ["size_mm", "cases", "team"]
    assert beside.splitlines()[-1].split()[0] == str(folder / "model")
    assert judged.summary().endswith(f"\n\n{by_size}\n\n{beside}")


def test_a_page_shows_the_line_that_makes_it_again(clinic, tmp_path, monkeypatch):
    folder, fitted = clinic
    monkeypatch.chdir(folder)
    shown = []
    monkeypatch.setattr("defero.study.study.write_page", lambda judged, out, *, command: shown.append(command))
    out, saved = str(tmp_path / "page.html"), Study.load("model")
    for study, table in (
        (fitted, None),
        (saved, "new.csv"),
        (saved, pd.read_csv("new.csv")),
        (saved, saved.read("new.csv", label="truth")),
    ):
        study.report(out, table)
    assert shown == [
        f"study.report({out!r})",
        f"Study.load('model').report({out!r}, 'new.csv')",
        f"study.report({out!r}, table)",
        f"study.report({out!r}, table)",
    ]
    monkeypatch.undo()
    fitted.report(out)
    assert shown[0] in html.unescape(Path(out).read_text(encoding="utf-8"))


@pytest.mark.parametrize("where", ["open", "write"])
def test_a_page_that_cannot_be_written_leaves_the_old_one(clinic, tmp_path, monkeypatch, where):
    pytest.importorskip("matplotlib")
    _, study = clinic
    page = tmp_path / "page.html"
    page.write_text("the old page", encoding="utf-8")
    if where == "open":
        monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path.resolve())
    else:
        monkeypatch.setattr("os.replace", full_disk)
    with pytest.raises(InputError, match="permission" if where == "open" else "disk is full") as caught:
        study.report(page)
    assert [piece.name for piece in caught.value.pieces if isinstance(piece, Argument)] == ["out"]
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert page.read_text(encoding="utf-8") == "the old page"


def full_disk(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_what_the_stages_warn_of_is_a_note_that_names_alpha(clinic):
    _, study = clinic
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        team = Study(study.cases)
        team.fit(net="linear", alpha=0.001)
    [note] = [note for note in team.notes if "calibration rows" in note]
    assert note.pieces[0] == Argument("alpha", 0.001)
    assert "999" in note
    assert "--alpha 0.001 needs 999" in note.message(spelling("fit"))


def test_a_newcomers_summary_names_the_argument_for_new_panels(clinic):
    folder, _ = clinic
    table = lesions(40, seed=9)
    summary = Study.load(folder / "model").add_expert("dr_d", table.assign(dr_d=table.truth)).summary()
    assert Argument("panels") in summary.pieces
    assert "--panels" in summary.message(spelling("add-expert"))


def test_arguments_of_a_newcomer_in_the_wrong_order(clinic):
    folder, _ = clinic
    table = lesions(40, seed=9)
    study, table = Study.load(folder / "model"), table.assign(dr_d=table.truth)
    with pytest.raises(InputError, match="a DataFrame; the name comes first") as caught:
        study.add_expert(table, "dr_d")
    assert caught.value.argument == "name"


def test_vouching_for_rows_that_can_be_checked_is_said_to_have_no_effect(clinic):
    folder, _ = clinic
    study = Study.load(folder / "model")
    judged = study.evaluate(folder / "wide.csv", all_rows_new=True)
    [note] = [note for note in judged.notes if "no effect" in note]
    assert "--all-rows-new: " in note.message(spelling("evaluate"))
    assert judged.seen_by_fit > 0
    assert not any("no effect" in note for note in study.evaluate(folder / "wide.csv").notes)
    study.save(folder / "forgotten", forget_rows=True)
    forgotten = Study.load(folder / "forgotten").evaluate(folder / "wide.csv", all_rows_new=True)
    assert not any("no effect" in note for note in forgotten.notes)


def test_a_newcomer_gets_panels_where_cases_are_left(clinic):
    folder, _ = clinic
    table = lesions(90, seed=9)
    table = table.assign(dr_d=table.truth.where(table.index % 9 > 0, "benign"))
    without, with_panels = Study.load(folder / "model"), Study.load(folder / "model")
    newcomer = without.add_expert("dr_d", table.iloc[:40])
    assert (newcomer.panels, without.team.panel) == ("dropped", None)
    newcomer = with_panels.add_expert("dr_d", table.iloc[:40], panels=table.iloc[30:])
    assert newcomer.panels == "new"
    assert any("10 rows were seen" in note for note in newcomer.notes)
    before = Study.load(folder / "model").team.panel
    panel = with_panels.team.panel
    assert (panel.predictor.alpha, panel.predictor.target) == (before.predictor.alpha, before.predictor.target)
    assert "dr_d" in "; ".join(with_panels.route(folder / "new.csv").to_frame().panel)
    with pytest.raises(InputError, match="seen all 40 rows"):
        Study.load(folder / "model").add_expert("dr_d", table.iloc[:40], panels=table.iloc[:40])


def test_errors_name_arguments_in_python(clinic):
    _, study = clinic
    with pytest.raises(InputError, match="alpha must lie between 0 and 1") as caught:
        study.fit(alpha=2)
    assert caught.value.argument == "alpha"
    with pytest.raises(InputError, match=r"absent=\['dr_z'\]: no such expert; did you mean"):
        study.route(lesions(5), terms=Terms(absent=["dr_z"]))
    with pytest.raises(InputError, match="majority_label=True"):
        read_cases(lesions(5), expert_names=DOCTORS)
    with pytest.raises(InputError, match="call fit first"):
        Study(read_cases(lesions(40), label="truth", expert_names=DOCTORS)).evaluate()


def test_two_spellings_of_a_name_get_a_note():
    cases = lesions().rename(columns={"dr_a": "Dr Chen", "dr_b": "dr chen"})
    study = Study(read_cases(cases, label="truth", expert_names=["Dr Chen", "dr chen", "dr_c"], key="case"))
    study.fit()
    assert any("Dr Chen, dr chen may be one person" in note for note in study.notes)


def test_every_choice_of_fit_is_checked_before_training():
    from defero.study.fit import FitChoices

    choices = set(inspect.signature(FitChoices).parameters)
    assert set(inspect.signature(Study.fit).parameters) - choices == {
        "self",
        "terms",
        "progress",
    }


def test_no_torch_until_fit(tmp_path):
    lesions(40).to_csv(tmp_path / "cases.csv", index=False)
    program = f"""
import sys
import defero.study
from defero import Study, read_cases
Study(read_cases({str(tmp_path / "cases.csv")!r}, label="truth", expert_names={DOCTORS!r}))
heavy = {{"torch", "matplotlib", "typer", "rich"}} & set(sys.modules)
sys.exit(f"imported: {{sorted(heavy)}}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
