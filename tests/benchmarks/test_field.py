"""The table of the field: a method from outside, resuming, and the numbers of the page by hand."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.field import __main__ as command
from benchmarks.field import method as methods_from
from benchmarks.field.method import Entry, as_choice, from_file, installed
from benchmarks.field.methods import METHODS
from benchmarks.field.page import gaps, page, verdict
from benchmarks.field.problem import FieldSet
from benchmarks.field.sets import SETS
from benchmarks.field.sets.language_models import N_CLASSES, drawn_labels
from benchmarks.field.summary import ACCURACY, COSTS, DEFAULT, Field
from benchmarks.field.trial import FEES, run_trial
from benchmarks.tables.split import Rows, Split

from defero import InputError

PAGE = Path(__file__).parents[2] / "docs" / "studies" / "field.md"
TOY = """
import numpy as np

class Toy:
    \"\"\"Ask the first expert about everything.\"\"\"

    name = "toy"

    def fit(self, X, y, experts):
        self.label = int(np.bincount(y).argmax())

    def decide(self, X, *, fees, available):
        return np.where(available[:, 0], 0, -1), np.full(len(X), self.label)

class Lazy:
    pass
"""


def tiny(seed):
    """Return 40 rows to learn from and 20 to test: expert 0 is always right, expert 1 never."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, 60)
    features = pd.DataFrame({"x": labels + rng.normal(size=60)})
    rows = Rows(features, labels, np.column_stack([labels, 1 - labels]))
    return Split(rows.take(np.arange(40)), rows.take(np.arange(40, 60)), n_classes=2, seed=seed)


TINY = FieldSet("tiny", tiny, "Two experts.", "simulated", fresh=True)


@pytest.fixture
def only_tiny(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "SETS", {"tiny": TINY})
    quick = Entry(DEFAULT, METHODS["two-stage, logistic"].make)  # the default itself takes seconds
    monkeypatch.setattr(command, "METHODS", {DEFAULT: quick, "model only": METHODS["model only"]})
    monkeypatch.setattr(command, "RESULTS", tmp_path / "committed")
    (tmp_path / "mine.py").write_text(TOY)
    return tmp_path


def test_a_method_from_outside_gets_its_row_and_a_second_run_adds_nothing(only_tiny, capsys):
    asked = ["--method", f"{only_tiny / 'mine.py'}:Toy", "--methods", "toy", "default", "model only"]
    asked += ["--splits", "1", "--out", str(only_tiny / "out")]
    assert command.main(asked) == 0
    lines = [json.loads(text) for text in (only_tiny / "out" / "field.jsonl").read_text().splitlines()]
    assert len(lines) == 3
    toy = next(line for line in lines if line["system"] == "toy")
    assert (toy["accuracy"], toy["questions"], toy["promised"]) == (1.0, 1.0, None)
    assert [toy[f"cost_{fee}"] for fee in FEES] == list(FEES)  # never wrong, and one question each
    written = (only_tiny / "out" / "field.md").read_text()
    assert "| toy | 100.0 | 1.00 | 5.0 | |" in written
    assert command.main(asked) == 0
    assert len((only_tiny / "out" / "field.jsonl").read_text().splitlines()) == 3


def test_the_example_of_the_page_runs(only_tiny):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (only_tiny / "example.py").write_text(code)
    line = run_trial("tiny", from_file(f"{only_tiny / 'example.py'}:Mine"), TINY.problem(0))
    assert (line["accuracy"], line["questions"]) == (1.0, 1.0)
    assert line["promised"] == pytest.approx(41 / 42, abs=1e-4)


@pytest.mark.parametrize(
    ("spec", "words"),
    [("mine.py:Toi", "did you mean 'Toy'"), ("other.py:Toy", "other.py:Toy"), ("mine.py:Lazy", "fit and decide")],
)
def test_a_wrong_method_is_one_line(only_tiny, capsys, spec, words):
    assert command.main(["--method", str(only_tiny / spec), "--out", str(only_tiny)]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "--method" in line
    assert words in line


def test_an_unknown_set_is_named(only_tiny, capsys):
    assert command.main(["--sets", "tini"]) == 2
    assert "did you mean 'tiny'" in capsys.readouterr().err


def test_an_installed_package_adds_a_method(monkeypatch, only_tiny):
    class Point:
        def load(self):
            return from_file(f"{only_tiny / 'mine.py'}:Toy").make(0).__class__

    monkeypatch.setattr(methods_from, "entry_points", lambda *, group: [Point()] if group == "defero.field" else [])
    assert [entry.name for entry in installed()] == ["toy"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "must return a Choice"),
        ((np.array([0, 2]), np.zeros(2, dtype=int)), "between -1"),
        ((np.array([0, 0]), np.zeros(2, dtype=int)), "cannot be asked"),
        ((np.array([0.0, 0.0]), np.zeros(2, dtype=int)), "expert must be 2 whole numbers"),
        ((np.array([-1, -1]), np.zeros(3, dtype=int)), "label must be 2 whole numbers"),
    ],
)
def test_what_decide_returns_is_checked(given, words):
    with pytest.raises(InputError, match=words):
        as_choice(given, name="toy", available=np.array([[True, True], [False, True]]))


def test_hearing_somebody_who_did_not_answer_is_refused():
    class Liar:
        def fit(self, X, y, experts): ...

        def answer(self, X, answers, *, fees):
            return methods_from.Heard(np.zeros(len(X), dtype=int), np.ones((len(X), 3), dtype=bool))

    with pytest.raises(InputError, match="heard must be"):
        run_trial("tiny", Entry("liar", lambda seed: Liar()), TINY.problem(0))


def line(one, method, split, accuracy, cost):
    figures = {"accuracy": accuracy, "questions": 0.5, "promised": accuracy + 0.02, "fit_s": 1.0, "decide_s": 0.0}
    figures |= dict.fromkeys(COSTS, cost) | {f"questions_{fee}": 0.5 for fee in FEES}
    where = {"commit": "abc", "versions": {"python": "3"}, "n_train": 70, "n_test": 30, "n_experts": 2}
    return (one, method, split, "field"), {"set": one, "system": method, "split": split} | figures | where


@pytest.fixture
def field():
    accuracy = {
        ("a", DEFAULT): (0.8, 0.9),
        ("a", "other"): (0.8, 0.86),
        ("b", DEFAULT): (0.7, 0.7),
        ("b", "other"): (0.74, 0.76),
    }
    lines = dict(
        line(one, name, split, value, 1 - value)
        for (one, name), values in accuracy.items()
        for split, value in enumerate(values)
    )
    names = {name: FieldSet(name, tiny, f"Set {name}.", "simulated") for name in "ab"}
    return Field(lines, names, {name: Entry(name, lambda seed: None) for name in (DEFAULT, "other")})


def test_gaps_by_hand(field):
    assert field.best("a", ACCURACY) == DEFAULT
    assert field.gap("a", "other", ACCURACY) == pytest.approx(0.02)
    assert field.mean_gap(DEFAULT, ACCURACY) == pytest.approx(0.05 / 2)
    assert field.mean_gap(DEFAULT, COSTS[0]) == pytest.approx(0.05 / 2)
    assert field.ranked(ACCURACY) == ["other", DEFAULT]
    assert field.splits() == "2 splits"
    assert field.promise_error("other") == pytest.approx(0.02)
    test = field.difference("b", "other", ACCURACY)
    # t = d / sqrt((1 / m + n_test / n_train) s^2) of Nadeau and Bengio
    assert test.mean == pytest.approx(-0.05)
    assert test.t == pytest.approx(-0.05 / np.sqrt((1 / 2 + 30 / 70) * 0.0002))


def test_the_page_says_where_the_default_is_behind(field):
    assert "Accuracy: `default` is number 2 of 2 with 2.5, behind other 1.0." in verdict(field)
    assert "| other | 1.0 | -1.5" in gaps(field)
    written = page(field.lines, field.sets, field.methods)
    assert "| b | other | -5.0" in written
    assert "## a" in written


def test_at_least_eight_sets_and_fifteen_methods():
    assert len(SETS) >= 8
    assert {one.group for one in SETS.values()} == {"people", "table", "language models", "simulated"}
    assert len(METHODS) >= 15
    assert all(entry.source for entry in METHODS.values())
    assert all(one.note for one in SETS.values())


def test_only_right_or_wrong_becomes_labels_that_no_model_knows():
    scores = np.tile([1.0, 0.0, 0.5], (4_000, 1))
    rows = drawn_labels(pd.DataFrame({"x": np.zeros(4_000)}), scores, np.random.default_rng(0))
    assert rows.correct[:, 0].all()
    assert not rows.correct[:, 1].any()
    assert rows.correct[:, 2].mean() == pytest.approx(0.5, abs=0.03)
    assert np.bincount(rows.label_idx, minlength=N_CLASSES).min() > 700
    assert rows.observed.all()
