"""`defero`: help, version, exit statuses, and what is not imported."""

import subprocess
import sys
from importlib.util import find_spec

import pytest
from clinic import DOCTORS, enter, lesions, run

from defero import DeferralClassifier, Recipe, __version__
from defero.core.errors import InputError
from defero.core.registry import TARGETS
from defero.losses.registry import LOSSES

COMMANDS = ["demo", "fit", "evaluate", "report", "route", "add-expert"]
COMMANDS += ["reproduce"] if find_spec("defero_verma2023") else []  # of another package, which need not be there


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    return enter(tmp_path_factory, tmp_path, monkeypatch)


def python(program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )


def test_the_help_of_fit_names_every_loss_target_and_learner_of_tables():
    shown = "".join(run("fit", "--help").out.split())  # a name may be broken at its hyphen
    for name in (*LOSSES, *TARGETS, "trees", "linear", "mlp"):
        assert name in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_in_one_line(command):
    for flag in ("--help", "-h"):
        outcome = run(command, flag)
        assert (outcome.code, outcome.err) == (0, "")
        before, _, after = outcome.out.partition("Example:")
        assert before
        example = after.split("\n\n")[1]
        assert example.strip().startswith(f"defero {command}")
        assert "\n" not in example.strip("\n")
        assert "--json" in after


def test_every_command_is_listed():
    outcome = run("--help")
    assert outcome.code == 0
    assert all(f"\n  {command}" in outcome.out for command in [*COMMANDS, "datasets"])


def test_the_version_is_the_packages():
    assert run("--version") == (0, f"{__version__}\n", "")
    done = subprocess.run([sys.executable, "-m", "defero", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rout"], "No such command 'rout'"),
        (["fit"], "Missing argument"),
        (["fit", "cases.csv"], "Missing option"),
        (["route", "model", "cases.csv"], "Missing option '--out'"),
    ],
)
def test_a_wrong_command_line_is_exit_status_2(arguments, said):
    outcome = run(*arguments)
    assert outcome.code == 2
    assert said in outcome.err


@pytest.mark.parametrize("error", [RuntimeError("boom"), ValueError("boom"), KeyError("boom")])
def test_a_defect_is_exit_status_1_with_its_trace(folder, monkeypatch, error):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr("defero.team.Team.load", fails)
    outcome = run("evaluate", "model", "cases.csv")
    assert (outcome.code, outcome.out) == (1, "")
    assert "Traceback (most recent call last)" in outcome.err
    assert "boom" in outcome.err
    assert outcome.err.endswith("this is a defect of defero, not of your input; please report the lines above.\n")


@pytest.mark.parametrize("error", [InputError("mend this"), PermissionError("mend this"), ImportError("mend this")])
def test_what_a_user_can_mend_is_exit_status_2_in_one_line(folder, monkeypatch, error):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr("defero.team.Team.load", fails)
    assert run("evaluate", "model", "cases.csv") == (2, "", "defero: mend this\n")


def test_import_and_help_load_nothing_heavy():
    program = """
import sys
import defero
from defero.cli.main import main
commands = ("fit", "route", "evaluate", "report", "demo", "datasets")
for words in (["--help"], *([command, "--help"] for command in commands)):
    sys.argv = ["defero", *words]
    try:
        main()
    except SystemExit as stop:
        assert stop.code == 0, stop.code
heavy = {"torch", "sklearn", "pandas", "matplotlib", "scipy", "pyarrow", "numpy"} & set(sys.modules)
sys.exit(f"imported: {sorted(heavy)}" if heavy else 0)
"""
    done = python(program)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_saved_network_is_judged_and_routed_without_torch(tmp_path):
    cases, new = lesions(100), lesions(30, seed=8)
    team = DeferralClassifier(
        "mlp", loss="decoupled", recipe=Recipe(hidden=(8,), expert_hidden=(4,), max_epochs=2), random_state=0
    )
    team.fit(cases[["age", "size_mm", "site"]], cases.truth, experts=cases[DOCTORS]).save(tmp_path / "model")
    new.to_csv(tmp_path / "new.csv", index=False)
    program = """
import sys
from defero.cli.main import main
model, table, out = sys.argv[1:]
for words in (["evaluate", model, table, "--label", "truth"], ["route", model, table, "--out", out]):
    sys.argv = ["defero", *words]
    try:
        main()
    except SystemExit as stop:
        assert stop.code == 0, stop.code
heavy = {"torch", "sklearn", "matplotlib"} & set(sys.modules)
sys.exit(f"imported: {sorted(heavy)}" if heavy else 0)
"""
    done = python(program, tmp_path / "model", tmp_path / "new.csv", tmp_path / "decisions.csv")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert len((tmp_path / "decisions.csv").read_text().splitlines()) == 31
