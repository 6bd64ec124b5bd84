"""A pool from scores and prices: what it learns, its edges, and what it refuses."""

import numpy as np
import pandas as pd
import pytest

from defero import ExpertPool, InputError, ModelFolderError, Team, Terms
from defero.judge import Judge

NAMES = ["small", "large", "odd"]


def pool_of(n=600, seed=0, gaps=0.0):
    """Two tasks: `small` is good at one, `odd` at the other, `large` at both, for more money."""
    rng = np.random.default_rng(seed)
    task = rng.choice(["maths", "poems"], n)
    length = rng.integers(10, 100, n).astype(float)
    right = np.column_stack(
        [np.where(task == "maths", 0.8, 0.3), np.full(n, 0.85), np.where(task == "maths", 0.2, 0.95)]
    )
    scores = (rng.random(right.shape) < right).astype(float)
    scores[rng.random(scores.shape) < gaps] = np.nan
    table = pd.DataFrame({"task": task, "length": length})
    return table, pd.DataFrame(scores, columns=NAMES), np.outer(length, [0.01, 0.1, 0.02]), right


def test_it_knows_who_is_good_at_what(tmp_path):
    table, scores, prices, right = pool_of()
    pool = ExpertPool().fit(table, scores, prices=prices)
    expected = pool.predict_expert_proba(table)
    assert np.abs(expected - right).mean() < 0.06
    assert pool.team_.expert_names == tuple(NAMES)
    pool.save(tmp_path / "pool")
    again = Team.load(tmp_path / "pool")
    assert isinstance(again, Team)
    assert again.scored_only
    np.testing.assert_array_equal(again.scores(table).expert_proba, expected)
    terms = Terms(error_cost=3.0)
    first, second = pool.decide(table, terms=terms), again.decide(table, terms=terms)
    np.testing.assert_array_equal(first.fee, second.fee)
    assert first.name.tolist() == second.name.tolist()
    assert first.reason == second.reason


def test_prices_decide_later_and_expected_prices_are_learned():
    table, scores, prices, _ = pool_of()
    pool = ExpertPool().fit(table, scores, prices=prices)
    assert set(pool.decide(table, terms=Terms(error_cost=1e-9)).name) == {"small"}
    best = pool.decide(table)
    assert set(best.name[table.task == "poems"]) == {"odd"}
    assert set(best.name[table.task == "maths"]) == {"large"}
    learned = pool.team_.prices.predict(pool.team_.features(table))
    assert np.abs(learned - prices).max() < 0.3 * prices.max()
    cheap = pool.decide(table, terms=Terms(fees={"small": 5.0, "large": 0.0, "odd": 5.0}, error_cost=1.0))
    assert set(cheap.name) == {"large"}
    assert cheap.fee.tolist() == [0.0] * len(table)
    curve = pool.curve(table, scores, terms=Terms(fees=prices))
    assert curve.area > 0.02
    assert curve.quality[-1] == pytest.approx(scores.to_numpy()[np.arange(len(table)), best.expert].mean())


def test_a_budget_a_floor_and_limits():
    table, scores, prices, _ = pool_of()
    pool = ExpertPool().fit(table, scores, prices=prices)
    money = 1.5 * prices.min(axis=1).sum()
    batch = pool.assign(table, terms=Terms(fees=prices, budget=money))
    assert batch.deferred.all()
    assert prices[np.arange(len(table)), batch.expert].sum() <= money
    floor = pool.decide(table, terms=Terms(fees=prices, floor=0.75))
    assert set(floor.name) == {"small", "odd"}
    limited = pool.assign(table.iloc[:10], terms=Terms(capacity={"large": 2, "odd": 3}))
    assert limited.load[1] <= 2
    assert limited.load[2] <= 3
    assert (limited.expert >= 0).all()


def test_half_of_the_scores_may_be_missing():
    table, scores, prices, right = pool_of(n=1200, gaps=0.5)
    expected = ExpertPool().fit(table, scores, prices=prices).predict_expert_proba(table)
    assert np.abs(expected - right).mean() < 0.07


def test_a_member_with_constant_scores_and_one_without_any():
    table, scores, _, _ = pool_of()
    scores["always"], scores["never_asked"] = 1.0, np.nan
    pool = ExpertPool().fit(table, scores)
    assert pool.team_.answer_counts.tolist() == [600, 600, 600, 600, 0]
    assert set(pool.decide(table).name) == {"always"}
    unknown = pool.predict_expert_proba(table)[:, 4]
    assert ((unknown > 0.2) & (unknown < 0.9)).all()


def test_a_price_of_zero_and_all_members_dear():
    table, scores, _, _ = pool_of()
    pool = ExpertPool().fit(table, scores, prices=[0.0, 1.0, 1.0])
    assert set(pool.decide(table, terms=Terms(error_cost=0.01)).name) == {"small"}
    dear = pool.decide(table, terms=Terms(fees=[1e6, 2e6, 3e6], error_cost=1.0))
    assert set(dear.name) == {"small"}  # somebody must answer: the cheapest


def test_prices_that_are_not_known():
    table, scores, _, _ = pool_of()
    pool = ExpertPool().fit(table, scores, prices={"small": 1.0, "large": None, "odd": 2.0})
    paid = pool.decide(table, terms=Terms(error_cost=1e9))
    assert "large" not in set(paid.name)
    free = pool.decide(table)
    assert np.isnan(free.fee[free.name == "large"]).all()
    now = Terms(fees={"small": None, "large": 0.5, "odd": None}, error_cost=1e9)
    named = pool.decide(table, terms=now)
    assert "large" in set(named.name)
    assert set(named.fee[named.name == "large"]) == {0.5}
    assert set(named.fee[named.name == "odd"]) <= {2.0}


def test_a_pool_of_one():
    table, scores, _, _ = pool_of()
    pool = ExpertPool().fit(table, scores[["large"]], prices=[2.0])
    decision = pool.decide(table, terms=Terms(error_cost=0.1))
    assert set(decision.name) == {"large"}
    assert abs(decision.p_right.mean() - scores["large"].mean()) < 0.02
    assert np.isnan(pool.curve(table, scores[["large"]]).area)


def test_who_cannot_be_asked_is_not():
    table, scores, _, _ = pool_of()
    pool = ExpertPool().fit(table, scores, prices=[1.0, 1.0, 1.0])
    assert "large" not in set(pool.decide(table, terms=Terms(absent=["large"])).name)
    nobody = pool.decide(table[:2], terms=Terms(available=np.zeros((2, 3), dtype=bool)))
    assert nobody.expert.tolist() == [-1, -1]
    assert nobody.name.tolist() == ["nobody"] * 2
    assert nobody.reason == ["nobody can be asked"] * 2
    assert nobody.fee.tolist() == [0.0, 0.0]


def test_a_newcomer_from_none_few_and_many_scores():
    table, scores, _, right = pool_of(n=3000)
    scores_new = (np.random.default_rng(5).random(len(table)) < right[:, 2] - 0.1).astype(float)
    pool = ExpertPool().fit(table, scores, prices=[1.0, 1.0, 1.0])
    errors = []
    for n in (0, 40, 1000):
        team = pool.team_.copy()
        team.add_expert("new", table[:n] if n else None, scores_new[:n] if n else None, price=0.5)
        assert team.expert_names[-1] == "new"
        assert team.answer_counts[-1] == n
        proba = team.scores(table).expert_proba
        errors.append(np.abs(proba[:, 3] - (right[:, 2] - 0.1)).mean())
        np.testing.assert_array_equal(proba[:, :3], pool.predict_expert_proba(table))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.05
    same = pool.team_.copy().add_expert("copy", like="odd")
    proba = same.scores(table).expert_proba
    np.testing.assert_allclose(proba[:, 3], proba[:, 2])
    with pytest.raises(InputError, match="did you mean 'odd'"):
        pool.team_.copy().add_expert("copy", like="od")
    gone = same.remove_expert("large").rename_expert("copy", "twin")
    assert gone.expert_names == ("small", "odd", "twin")
    np.testing.assert_array_equal(gone.scores(table).expert_proba, np.delete(proba, 1, axis=1))


def test_a_judge_who_errs_is_corrected():
    table, scores, _, right = pool_of(n=6000)
    rng = np.random.default_rng(1)
    marks = np.where(scores == 1, rng.random(scores.shape) < 0.9, rng.random(scores.shape) < 0.2).astype(float)
    raw = ExpertPool().fit(table, marks).predict_expert_proba(table)
    corrected = ExpertPool(judge=Judge(0.9, 0.8)).fit(table, marks).predict_expert_proba(table)
    assert np.abs(corrected - right).mean() < 0.03 < 0.05 < np.abs(raw - right).mean()


def test_single_items_in_a_program():
    table, scores, prices, _ = pool_of()
    pool = ExpertPool().fit(table, scores, prices=prices)
    one = pool.decide({"task": "poems", "length": 20})
    assert one.name.tolist() == ["odd"]
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(300, 8)).astype(np.float32)
    right = (vectors[:, :3] > 0).astype(float)
    numbers = ExpertPool().fit(vectors, right, prices=[1.0, 1.0, 1.0])
    assert len(numbers.decide(vectors[0])) == 1
    terms = Terms(error_cost=5.0)
    batch = numbers.decide(vectors, terms=terms)
    singly = [int(numbers.decide(row, terms=terms).expert[0]) for row in vectors[:20]]
    assert singly == batch.expert[:20].tolist()
    texts = [text for k in range(40) for text in (f"sum of {k} and 3", f"a poem on rain in year {k}")]
    words = ExpertPool().fit(texts, np.tile([[1.0, 0.0], [0.0, 1.0]], (40, 1)))
    assert words.decide(["the sum of 7 and 2", "rain in a poem"]).expert.tolist() == [0, 1]
    assert words.decide("a poem").expert.tolist() == [1]


def test_blocks_of_rows_are_decided_as_all_at_once():
    rng = np.random.default_rng(3)
    vectors, scores = rng.normal(size=(9000, 5)).astype(np.float32), rng.random((9000, 4))
    pool = ExpertPool().fit(vectors[:500], scores[:500], prices=[0.1, 0.2, 0.3, 0.4])
    whole = pool.predict_expert_proba(vectors)
    for error_cost in (None, 2.0):
        value = whole if error_cost is None else error_cost * whole - [0.1, 0.2, 0.3, 0.4]
        expert = pool.decide(vectors, terms=Terms(error_cost=error_cost)).expert
        picked = value[np.arange(9000), expert]
        np.testing.assert_allclose(picked, value.max(axis=1), atol=0.002 * (error_cost or 1.0))


@pytest.mark.parametrize(
    ("change", "argument", "words"),
    [
        ({"scores": [[1.5, 0.0]] * 4}, "scores", r"1\.5 for a in row 0"),
        ({"scores": [[np.nan, np.nan]] * 4}, "scores", "some scores"),
        ({"scores": [[1.0, 0.0]] * 3}, "scores", "4 rows"),
        ({"prices": [-1.0, 2.0]}, "prices", "not negative, got -1 for a"),
        ({"prices": {"a": 1.0, "b": 1.0, "c": 1.0}}, "prices", "no expert c"),
        ({"prices": [1.0, 2.0, 3.0]}, "prices", r"shape \(2,\)"),
        ({"prices": ["cheap", 1.0]}, "prices", "numbers"),
        ({"expert_names": ["a"]}, "expert_names", "2 names"),
        ({"X": [[np.nan]] * 4}, "X", "finite"),
        ({"groups": [1, 2]}, "groups", "4 items"),
    ],
)
def test_bad_input_names_the_argument(change, argument, words):
    given = {"X": np.arange(4.0)[:, None], "scores": [[1.0, 0.0]] * 4, "expert_names": ["a", "b"]}
    given |= change
    pool = ExpertPool()
    with pytest.raises(InputError, match=words) as error:
        pool.fit(given.pop("X"), given.pop("scores"), **given)
    assert error.value.argument == argument


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"error_cost": -1.0}, "error_cost"),
        ({"error_cost": np.nan}, "error_cost"),
        ({"floor": 2.0}, "floor"),
        ({"budget": 1.0}, "budget"),
        ({"fees": {"a": 1.0, "b": -2.0}}, "fees"),
        ({"available": {"c": False}}, "available"),
        ({"capacity": {"c": 1}}, "capacity"),
        ({"X": [[np.inf]]}, "X"),
    ],
)
def test_decide_refuses_what_makes_no_sense(change, argument):
    pool = ExpertPool().fit(np.arange(8.0)[:, None], [[1.0, 0.0]] * 8, expert_names=["a", "b"], prices=[1.0, 2.0])
    with pytest.raises(InputError) as error:
        pool.decide(change.pop("X", [[1.0]]), terms=Terms(**change))
    assert error.value.argument == argument


def test_a_damaged_folder_is_refused(tmp_path):
    pool = ExpertPool().fit(np.arange(8.0)[:, None], [[1.0, 0.0]] * 8)
    pool.save(tmp_path / "pool")
    assert "scores alone, 2 experts" in repr(Team.load(tmp_path / "pool"))
    assert len(repr(pool.decide([[1.0]] * 50))) < 900
    manifest = tmp_path / "pool" / "model.json"
    manifest.write_text(manifest.read_text().replace('"expert_1"', '"expert_2"'))
    with pytest.raises(ModelFolderError, match="checksum"):
        Team.load(tmp_path / "pool")


def test_what_needs_labels_is_refused():
    team = ExpertPool().fit(np.arange(8.0)[:, None], [[1.0, 0.0]] * 8).team_
    for wanted in (lambda: team.predict([[1.0]]), lambda: team.calibrate([[1.0]], [0], [[0, 0]])):
        with pytest.raises(InputError, match="only scores"):
            wanted()


@pytest.mark.parametrize("kind", [list, pd.Series, np.array, lambda texts: np.array(texts, dtype=object)])
def test_texts_come_as_a_list_a_series_or_an_array(kind):
    texts = [text for k in range(40) for text in (f"sum of {k} and 3", f"a poem on rain in year {k}")]
    scores = np.tile([[1.0, 0.0], [0.0, 1.0]], (40, 1))
    pool = ExpertPool().fit(kind(texts), scores)
    assert pool.team_.recipe.text == ("text",)
    assert pool.decide(kind(["the sum of 7 and 2", "rain in a poem"])).expert.tolist() == [0, 1]
    new = pool.add_expert("new", kind(texts[:10]), np.ones(10))
    assert new.team_.expert_names[-1] == "new"


def test_a_blank_text_is_a_text_without_words():
    texts = pd.Series(["a sum", None, "a poem", "a sum"] * 10)
    pool = ExpertPool().fit(texts, [[1.0, 0.0]] * 40)
    assert len(pool.decide(pd.Series(["a sum", None]))) == 2


def test_the_cell_that_is_no_score_is_named():
    with pytest.raises(InputError, match="got 'yes' in row 1, column 0") as error:
        ExpertPool().fit([[1.0], [2.0]], [[1, None], ["yes", 0]])
    assert error.value.argument == "scores"
    with pytest.raises(InputError, match="differ in length"):
        ExpertPool().fit([[1.0], [2.0]], [[1, 0], [1]])


@pytest.mark.parametrize(("groups", "noted"), [(np.zeros(100), True), (np.arange(100) % 20, False)])
def test_it_says_that_with_one_group_nothing_is_held_out(groups, noted):
    rng = np.random.default_rng(0)
    x, scores = rng.normal(size=(100, 2)), (rng.random((100, 2)) < 0.7).astype(float)
    notes = ExpertPool().fit(x, scores, groups=groups).notes_
    assert any("in one group" in note for note in notes) == noted


@pytest.mark.parametrize("pick", ["absent", "no rows"])
def test_a_curve_without_anybody_to_ask_is_printed(pick):
    table, scores, prices, _ = pool_of()
    pool = ExpertPool().fit(table, scores, prices=prices)
    terms = Terms(absent=NAMES, error_cost=10) if pick == "absent" else None
    assert "0 points" in str(pool.curve(table[:0] if pick == "no rows" else table, terms=terms))
