"""`defero` on exports of Label Studio and Prodigy, and decisions written back as tasks."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from clinic import DOCTORS, FIT, enter, lesions, run
from crowd import annotation, tasks_of, write_tasks

from defero import Team
from defero.data.exports.label_studio import LABEL_STUDIO
from defero.data.table_spec import Control
from defero.data.tables.read import read_frame

NAMES = ("2", "dr_a", "dr_c")  # dr_b is a number that nothing describes


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    enter(tmp_path_factory, tmp_path, monkeypatch)
    write_tasks(tmp_path / "export.json", tasks_of(lesions()))
    return tmp_path


def fit(*options, table="export.json", out="other"):
    return run("fit", table, "--out", out, "--net", "linear", *options)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model of the export, and what `fit` printed."""
    made = tmp_path_factory.mktemp("exported")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        write_tasks(made / "export.json", tasks_of(lesions()))
        outcome = fit()
    assert outcome.code == 0, outcome.err
    return made / "other", outcome


@pytest.fixture
def other(folder, fitted):
    """A folder with a copy of that model."""
    shutil.copytree(fitted[0], folder / "other")
    return folder


@pytest.mark.usefixtures("other")
def test_an_export_is_learned_from(fitted):
    _, outcome = fitted
    assert outcome.out.startswith("160 cases of export.json: 81 to learn from, 24 to calibrate")
    assert "Label: the ground truth. Key: task_id. Experts: 3, of whom 2.1 answered" in outcome.out
    assert "note: export.json: labels of 160 items: 160 by ground truth.\n" in outcome.err
    assert "note: export.json: 1 cancelled annotations do not count.\n" in outcome.err
    assert "lists or objects are left out: clinic." in outcome.err
    assert re.search(r"export\.json: \d+ answers? ignored: the same person answered", outcome.err)
    lesions().assign(case=range(11, 171)).to_csv("cases.csv", index=False)  # the keys settle the parts
    assert run("fit", "cases.csv", *FIT, "--out", "wide").code == 0
    team, wide = Team.load("other"), Team.load("wide")
    assert team.expert_names == NAMES
    assert team.facts.control == Control("dx", "photo", "choices")
    assert team.facts.columns == ("age", "size_mm", "site")
    new = lesions(30, seed=5)
    theirs = wide.scores(new).expert_proba[:, [1, 0, 2]]
    np.testing.assert_allclose(team.scores(new).expert_proba, theirs, atol=1e-4)


def test_an_export_is_judged_and_reported(other, fitted):
    judged = json.loads(run("evaluate", "other", "export.json", "--json").out)
    assert (judged["rows"], judged["seen_by_fit"], judged["test"]["items"]) == (160, 128, 32)
    accuracy = judged["test"]["team"]["accuracy"]
    assert re.search(rf"^team +{100 * accuracy:.1f} %", fitted[1].out, re.MULTILINE)
    assert run("report", "other", "export.json", "--out", "page.html").code == 0
    write_tasks(other / "fresh.json", tasks_of(lesions(40, seed=9)))
    assert json.loads(run("evaluate", "other", "fresh.json", "--json").out)["rows"] == 40
    assert run("evaluate", "other", "cases.csv").err == (
        "defero: other: was fitted on an export and does not know the label's column; name it with --label.\n"
    )
    renamed = lesions(40, seed=9).rename(columns={"dr_b": "2"})
    renamed.to_csv("fresh.csv", index=False)
    assert run("evaluate", "other", "fresh.csv", "--label", "truth").code == 0


def test_the_loop_closes(other):
    """Tasks that come back with the route are read again as they were, and routed and learned from again."""
    outcome = run("route", "other", "export.json", "--out", "routed.json")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("160 decisions in routed.json:\n  model: ")
    nothing = {"label": None, "key": None, "control": None}
    before, after = (LABEL_STUDIO.read(Path(name), **nothing) for name in ("export.json", "routed.json"))
    assert after.items.equals(before.items)
    assert after.answers.to_frame().equals(before.answers.to_frame())
    assert after.labels == before.labels
    old_tasks, new_tasks = (json.loads(Path(name).read_text()) for name in ("export.json", "routed.json"))
    for old, new in zip(old_tasks, new_tasks, strict=True):
        assert {**new["data"], **old["data"]} == new["data"]
        assert new["annotations"] == old["annotations"]
        assert new["predictions"][0]["result"][0]["from_name"] == "dx"
        assert new["data"]["defero_route"] in ("model", *NAMES)
    assert run("route", "other", "export.json", "--out", "table.csv").code == 0
    decisions = read_frame("table.csv")
    assert decisions["case"].tolist() == before.items.task_id.tolist()
    assert decisions.route.tolist() == [task["data"]["defero_route"] for task in new_tasks]
    again = fit(table="routed.json", out="again")
    assert again.code == 0
    assert Team.load("again").facts.columns == ("age", "size_mm", "site")
    assert (other / "again/weights.safetensors").read_bytes() == (other / "other/weights.safetensors").read_bytes()


def test_new_tasks_without_answers_are_routed(other):
    new = [{"data": task["data"]} for task in tasks_of(lesions(10, seed=7))]
    write_tasks(other / "new.json", new)
    assert run("route", "other", "new.json", "--out", "tasks.json").code == 0
    told = json.loads((other / "tasks.json").read_text())
    assert all(task["data"]["defero_route"] for task in told)
    assert told[0]["predictions"][0]["result"][0]["value"]["choices"][0] in ("benign", "malign")
    (other / "new.jsonl").write_text("\n".join(map(json.dumps, new)))
    lines = run("route", "other", "new.jsonl", "--format", "label-studio", "--out", "lines.json")
    assert (lines.code, json.loads((other / "lines.json").read_text())) == (0, told)
    assert run("route", "other", "new.jsonl", "--out", "lines.csv").code == 0
    assert read_frame("lines.csv").route.tolist() == [task["data"]["defero_route"] for task in told]
    assert run("evaluate", "other", "cases.csv", "--label", "truth", "--control", "dx").err.startswith(
        "defero: --control dx: is a question of a Label Studio export, and cases.csv is read as table; leave it out"
    )
    unknown = run("route", "model", "new.json", "--out", "tasks.json")
    assert unknown.code == 2
    assert unknown.err.startswith("defero: new.json: nothing tells which question the model answers; no task has an")
    assert run("route", "model", "export.json", "--out", "tasks.json").code == 0


def test_decisions_of_a_table_are_no_tasks(folder):
    assert run("route", "model", "cases.csv", "--out", "tasks.json").err == (
        "defero: --out tasks.json: only the tasks of a Label Studio export are written as .json; for a table of "
        "decisions name it tasks.csv.\n"
    )


def test_an_export_without_a_truth_needs_a_word(folder):
    write_tasks(folder / "export.json", tasks_of(lesions(), truth=False))
    outcome = fit()
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "defero: export.json: no item has a label; mark annotations as ground truth, name a field that holds it with "
        "--label, or pass --majority-label to take the most frequent answer.\n"
    )
    outcome = fit("--majority-label")
    assert outcome.code == 0
    assert "Label: the majority of the answers." in outcome.out
    assert "the experts are judged by their own majority" in outcome.out
    assert "the experts are judged by their own majority" in run("evaluate", "other", "export.json").out


def test_the_truth_can_be_a_data_field(folder):
    cases = lesions()
    tasks = tasks_of(cases, truth=False)
    for task, truth in zip(tasks, cases.truth, strict=True):
        task["data"]["biopsy"] = truth
    write_tasks(folder / "export.json", tasks)
    assert "no column 'bopsy' for the label; did you mean 'biopsy'?" in fit("--label", "bopsy").err
    assert fit("--label", "biopsy").code == 0
    assert "biopsy" not in Team.load("other").facts.columns
    assert json.loads(run("evaluate", "other", "export.json", "--json").out)["test"]["items"] == 32


def test_an_export_can_be_cut_by_a_field(folder):
    tasks = tasks_of(lesions())
    for task in tasks:
        task["data"]["patient"] = f"p{task['id'] // 2}"
    write_tasks(folder / "export.json", tasks)
    outcome = fit("--group", "patient")
    assert outcome.code == 0, outcome.err
    assert "no patient is in two parts." in outcome.out
    assert "patient" not in Team.load("other").facts.columns


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--answers", "log.csv"], "export.json: an export holds its answers itself; leave out --answers."),
        (["--key", "id"], "export.json: the cases of a Label Studio export are named by task_id; leave out --key."),
        (["--experts", "dr_a,drc"], "export.json: no answer of the expert 'drc'; did you mean 'dr_c'?"),
        (["--control", "dz"], "export.json: no result of the control 'dz'. The controls are dx."),
        (
            ["--format", "table", "--label", "truth", "--experts", "dr_a"],
            "export.json: the ending of the name is no table format",
        ),
    ],
)
def test_a_wrong_option_is_told(folder, options, message):
    outcome = fit(*options)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_several_questions_are_told_in_the_words_of_the_command(folder):
    tasks = tasks_of(lesions())
    extra = annotation(2, "deep")
    extra["result"][0]["from_name"] = "depth"
    tasks[3]["annotations"].append(extra)
    write_tasks(folder / "export.json", tasks)
    assert "name one with --control." in fit().err
    assert fit("--control", "dx").code == 0


def test_a_broken_export_is_told(folder):
    (folder / "export.json").write_text('{"id": 1}')
    assert fit().err == "defero: export.json: must hold a list of tasks, got an object.\n"
    tasks = tasks_of(lesions())
    tasks[2]["annotations"][0]["result"][0]["value"] = {"choices": "benign"}
    write_tasks(folder / "export.json", tasks)
    assert fit().err.startswith("defero: export.json: task 13: the value of 'dx' must be a list called 'choices'")


def prodigy_lines(cases):
    """Return one decision per line: the choice interface, a person each, the truth in the tasks' meta."""
    return [
        {
            "_input_hash": number,
            "_annotator_id": name,
            "_timestamp": number,
            "answer": "accept",
            "accept": [case[name]],
            "age": case["age"],
            "site": case["site"],
            "meta": {"truth": case["truth"]},
        }
        for number, case in enumerate(cases.to_dict("records"), start=1000)
        for name in DOCTORS
        if isinstance(case[name], str)
    ]


def test_prodigys_lines_are_learned_from(folder):
    lines = prodigy_lines(lesions())
    (folder / "news.jsonl").write_text("\n".join(map(json.dumps, lines)))
    outcome = fit("--format", "prodigy", "--label", "meta.truth", table="news.jsonl")
    assert outcome.code == 0, outcome.err
    assert "Label: meta.truth. Key: _input_hash. Experts: 3" in outcome.out
    assert Team.load("other").expert_names == tuple(DOCTORS)
    judged = run("evaluate", "other", "news.jsonl", "--json")
    assert judged.code == 0, judged.err
    assert run("route", "other", "news.jsonl", "--format", "prodigy", "--out", "d.csv").code == 0
    assert len(read_frame("d.csv")) == json.loads(judged.out)["rows"]
    assert run("route", "other", "news.jsonl", "--out", "d.csv").code == 0
    fresh = [{"age": case["age"], "site": case["site"]} for case in lesions(10, seed=7).to_dict("records")]
    (folder / "new.jsonl").write_text("\n".join(map(json.dumps, fresh)))
    outcome = run("route", "other", "new.jsonl", "--out", "new.csv")
    assert outcome.code == 0, outcome.err
    decisions = read_frame("new.csv")
    assert decisions["case"].tolist() == list(range(1, 11))
    assert decisions.route.tolist() == Team.load("other").decide(lesions(10, seed=7)).name.tolist()
    assert "'doc' must name the item" in run("route", "other", "new.jsonl", "--out", "new.csv", "--key", "doc").err
    assert run("route", "other", "cases.csv", "--out", "d.csv").code == 0
    assert "no item has a label; name a field" in fit("--format", "prodigy", table="news.jsonl").err
