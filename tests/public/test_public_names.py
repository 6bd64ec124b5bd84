"""The public surface: few names, each documented; what prints is short; `import defero` is light."""

import importlib
import inspect
import subprocess
import sys

import numpy as np
import pytest

import defero
from defero import DeferralClassifier, ExpertTable, Team
from defero.datasets import wedge

MODULES = [name for name in dir(defero) if name not in defero.__all__]


def test_there_are_about_25_names_at_the_top():
    assert len(defero.__all__) <= 27
    for name in defero.__all__:
        assert name == "__version__" or inspect.getdoc(getattr(defero, name)), name


@pytest.mark.parametrize("module", MODULES)
def test_a_public_module_lists_its_names_and_documents_them(module):
    public = importlib.import_module(f"defero.{module}")
    assert public is getattr(defero, module)
    assert public.__doc__
    for name in public.__all__:
        value = getattr(public, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name


def test_private_rooms_are_no_attributes():
    with pytest.raises(AttributeError, match="no attribute 'rooms'"):
        _ = defero.rooms
    assert {"core", "team", "scorers", "cli"}.isdisjoint(dir(defero))


def test_the_advised_estimator_has_at_most_a_dozen_parameters():
    parameters = inspect.signature(DeferralClassifier).parameters
    assert len(parameters) <= 12
    assert (parameters["net"].default, parameters["loss"].default) == ("auto", "auto")


def test_a_team_of_many_experts_prints_in_ten_lines():
    rng = np.random.default_rng(0)
    names = [f"a person with a long name, number {j}" for j in range(300)]
    team = Team.from_probabilities(rng.dirichlet([1] * 40, 50), rng.random((50, 300)), expert_names=names)
    lines = repr(team).splitlines()
    assert len(lines) <= 10
    assert max(map(len, lines)) <= 120
    assert "40 classes, 300 experts" in lines[0]
    assert "<pre>" in team._repr_html_()


def test_tables_and_benchmarks_print_in_a_few_lines():
    cases = wedge(300, random_state=0)
    table = ExpertTable(cases.labels, cases.answers, features=cases.features, expert_names=[f"<{j}>" for j in range(4)])
    assert repr(cases).splitlines() == [repr(cases)]
    assert len(repr(table).splitlines()) <= 10
    assert "&lt;0&gt;" in table._repr_html_()


def test_calibrate_changes_a_router_as_it_changes_an_estimator():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    answers = np.where(rng.random((400, 1)) < 0.7, labels[:, None], 1 - labels[:, None])
    team = Team.from_probabilities(np.full((400, 2), 0.5), np.full((400, 1), 0.99))
    before = team.copy()
    assert team.calibrate(None, labels, answers) is team
    assert before.calibrator is None
    assert abs(team.scores().expert_proba.mean() - 0.7) < 0.05
    assert before.scores().expert_proba.mean() == pytest.approx(0.99)


def test_import_loads_neither_torch_nor_scikit_learn_nor_pandas():
    heavy = ("torch", "sklearn", "pandas", "scipy", "matplotlib")
    code = f"import sys, defero; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
