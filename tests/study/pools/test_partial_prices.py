"""Prices of some members: the others keep those learned in fit."""

import numpy as np
import pandas as pd
import pytest
from scored import fitted

from defero import ExpertPool, InputError, Terms

NAMES = ["small", "medium", "large"]


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"task": rng.choice(["law", "maths"], n), "words": rng.uniform(5, 90, n)})
    for name, p in zip(NAMES, (0.5, 0.6, 0.9), strict=True):
        frame[name] = (rng.random(n) < p).astype(float)
    for name, price in zip(NAMES, (0.1, 0.4, 2.0), strict=True):
        frame[f"{name}_price"] = price
    return frame


@pytest.fixture(scope="module")
def pool():
    frame = table()
    return ExpertPool().fit(frame[["task", "words"]], frame[NAMES], prices=[1.0, 2.0, 3.0])


def test_prices_of_some_members_leave_the_others_as_learned(pool):
    item = {"task": "law", "words": 9.0}
    for absent, fee in ((["medium", "large"], 0.001), (["small", "large"], 2.0), (["small", "medium"], 3.0)):
        terms = Terms(fees={"small": 0.001}, absent=absent, error_cost=5.0)
        assert pool.decide(item, terms=terms).fee.tolist() == [fee]
    assert pool.decide(item, terms=Terms(fees={"large": 0.01}, error_cost=5.0)).fee.tolist() == [0.01]
    assert pool.decide(item, terms=Terms(fees=pd.DataFrame({"large": [0.02]}), error_cost=5.0)).fee.tolist() == [0.02]


def test_a_typo_in_a_price_names_the_member_that_was_meant(pool):
    with pytest.raises(InputError, match="no expert smal; did you mean 'small'"):
        pool.decide({"task": "law", "words": 9.0}, terms=Terms(fees={"smal": 1.0}, error_cost=1.0))
    frame = table()
    with pytest.raises(InputError, match="no expert smal; did you mean 'small'"):
        ExpertPool().fit(frame[["words"]], frame[NAMES], prices={"smal": 1, "medium": 1, "large": 1})


@pytest.fixture(scope="module")
def study():
    fees = {name: f"@{name}_price" for name in NAMES}
    return fitted(table(), expert_names=NAMES, fees=fees, error_cost=1.0)


def test_a_fee_of_one_member_keeps_the_fees_of_the_others(study):
    new = table(n=50, seed=1)
    routed = study.route(new, terms=Terms(fees={"large": 0.001})).to_frame()
    assert set(routed["route"]) == {"large"}
    assert routed["fee"].tolist() == [0.001] * 50
    judged = study.evaluate(new, terms=Terms(fees={"large": 0.001}))
    assert judged.record.price[0].tolist() == [0.1, 0.4, 0.001]


def test_a_missing_column_of_prices_leaves_the_other_columns_as_they_are(study):
    new = table(n=50, seed=1).drop(columns="medium_price").assign(small_price=7.0, large_price=5.0)
    judged = study.evaluate(new)
    assert judged.record.price[0] == pytest.approx([7.0, 0.4, 5.0])
    (note,) = [note for note in judged.notes if "medium_price" in note]
    assert "expected prices" in note
    assert "small" not in note
    routing = study.route(new)
    assert any("medium_price" in note for note in routing.notes)
    assert set(routing.to_frame()["fee"].round(9)) <= {7.0, 0.4, 5.0}


def test_a_column_that_somebody_names_must_be_there(study):
    with pytest.raises(InputError, match="nowhere"):
        study.route(table(n=5, seed=1), terms=Terms(fees={"large": "@nowhere"}))


def test_one_note_counts_the_items_that_miss_the_floor(study):
    new = table(n=50, seed=1)
    routing = study.route(new, terms=Terms(floor=0.999))
    (note,) = [note for note in routing.notes if "0.999" in note]
    assert "50 of 50 items" in note
    assert not [note for note in study.route(new, terms=Terms(floor=0.1)).notes if "0.1" in note]


def test_somebody_must_be_left_to_be_asked(study):
    new = table(n=5, seed=1)
    assert "large" not in set(study.route(new, terms=Terms(absent=["large"])).to_frame()["route"])
    with pytest.raises(InputError, match="did you mean 'large'"):
        study.route(new, terms=Terms(absent=["larg"]))
    with pytest.raises(InputError, match="nobody of the team is left"):
        study.evaluate(new, terms=Terms(absent=NAMES))
