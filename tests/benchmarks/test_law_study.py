"""The benchmark of the law of answers: halves, what is heard, one trial from end to end, its tables, Kelly's areas."""

import numpy as np
import pytest
from benchmarks.law import consensus, page, simulated
from benchmarks.law.answered import MISSING, Answered
from benchmarks.law.sets import SETS
from benchmarks.law.summary import Trials
from benchmarks.law.trial import FEES, N_HEARD, WAYS, run_trial


def test_halves_share_no_group():
    rng = np.random.default_rng(0)
    groups = rng.integers(12, size=300)
    whole = Answered(rng.normal(size=(300, 2)), rng.integers(2, size=300), rng.integers(2, size=(300, 3)), groups)
    first, second = whole.halves(seed=1)
    assert not set(first.groups) & set(second.groups)
    assert len(first) + len(second) == 300


@pytest.mark.parametrize("n_heard", N_HEARD)
def test_so_many_answers_are_heard(n_heard):
    whole = simulated.decoys(0)
    heard = whole.heard(n_heard, seed=0)
    said = heard.answer_idx != MISSING
    assert (said.sum(axis=1) == (n_heard or 5)).all()
    full = {tuple(x): row for x, row in zip(whole.features.tolist(), whole.answer_idx, strict=True)}
    for x, row, some in zip(heard.features.tolist(), heard.answer_idx, said, strict=True):
        assert (full[tuple(x)][some] == row[some]).all()


def test_a_trial_fills_every_table(monkeypatch):
    monkeypatch.setattr(simulated, "N_ITEMS", 400)
    lines = [run_trial(SETS["independent"], seed) | {"tag": "now"} for seed in (0, 1)]
    trials = Trials(lines, SETS)
    assert set(lines[0]["honesty"]) == {str(n) for n in N_HEARD}
    for line in lines:
        for fee in FEES:
            ways = line["cost"][str(fee)]
            assert tuple(ways) == WAYS
            assert all(
                way["cost"] == pytest.approx(way["errors"] + fee * way["questions"], abs=1e-4) for way in ways.values()
            )
    assert abs(trials.mean_gap(0, ["independent"])) < 0.1
    tables = [
        page.sets(trials, trials),
        page.gaps(trials, trials),
        page.costs(trials),
        page.in_turn(trials),
        page.questions(trials),
    ]
    assert all("independent" in text for text in tables)
    assert "Mean regret" in page.cost_verdict(trials)


def test_areas_and_questions_of_a_line():
    line = np.array([[0.0, 4.0], [1.0, 2.0], [2.0, 1.0]])
    # From .5 to 1: mean 2.5; to 2: 1.5; level from there to 2.5.
    assert consensus.area(line) == pytest.approx(0.5 * 2.5 + 1.5 + 0.5)
    assert [consensus.questions_at(line, errors) for errors in (5.0, 3.0, 1.0, 0.5)] == [0.0, 0.5, 2.0, None]
