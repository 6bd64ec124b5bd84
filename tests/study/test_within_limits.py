"""evaluate under limits: nobody beyond their capacity, only recorded answers, and what it cost."""

import numpy as np
import pandas as pd
import pytest

from defero import Study, read_cases
from defero.core.errors import InputError
from defero.datasets import wedge
from defero.decide.terms import Terms

NAMES = ["ann", "bob", "cem", "dot"]


@pytest.fixture(scope="module")
def study():
    past = wedge(600, random_state=0)
    frame = pd.DataFrame(past.features).add_prefix("x").assign(truth=past.labels)
    answers = pd.DataFrame(past.answers, columns=NAMES).astype(object)
    answers[np.random.default_rng(0).random(answers.shape) < 0.3] = None
    frame[NAMES] = answers
    team = Study(read_cases(frame, label="truth", expert_names=NAMES))
    team.fit("linear", loss="ova", terms=Terms(fees={"all": 1.0}, error_cost=20.0))
    return team


def test_limits_that_do_not_bind_change_nothing(study):
    free = study.evaluate(terms=Terms(capacity={"all": 1_000}))
    way = next(way for way in free.trial.ways if way.name == "one")
    np.testing.assert_array_equal(free.limited.label_idx, way.label_idx)
    assert free.limited.to_dict()["questions"] == pytest.approx(free.record.way.questions)
    assert study.evaluate().limited is None


def test_nobody_is_asked_beyond_their_capacity_or_about_cases_they_did_not_answer(study):
    judged = study.evaluate(terms=Terms(capacity={"ann": 3, "all": 10}, budget=20.0))
    batch, answers = judged.limited.assignment, judged.trial.answer_idx
    assert batch.load[0] <= 3
    assert (batch.load[1:] <= 10).all()
    assert batch.load.sum() <= 20
    asked = np.flatnonzero(batch.deferred)
    assert (answers[asked, batch.expert[asked]] >= 0).all()
    assert judged.limited.share.value < judged.record.team.value


def test_the_cost_is_that_of_a_loop(study):
    judged = study.evaluate(terms=Terms(at_most_asked=0.2))
    batch, trial = judged.limited.assignment, judged.trial
    costs = []
    for i, expert in enumerate(batch.expert.tolist()):
        label = trial.scores.class_proba[i].argmax() if expert < 0 else trial.answer_idx[i, expert]
        costs.append((0.0 if expert < 0 else 1.0) + (0.0 if label == trial.label_idx[i] else 20.0))
    np.testing.assert_allclose(judged.limited.cost, costs)
    assert batch.deferred.mean() <= 0.2
    assert "Under the limits" in judged.summary()
    assert judged.to_dict()["limits"]["cost"] == pytest.approx(np.mean(costs))


def test_an_unknown_name_is_refused(study):
    with pytest.raises(InputError, match="did you mean 'ann'") as raised:
        study.evaluate(terms=Terms(capacity={"anm": 3}))
    assert raised.value.argument == "capacity"
