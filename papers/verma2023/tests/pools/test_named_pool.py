"""One contract for every named pool: draws beside the closed form, streams, and error words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper_pools import CASES, SHARES, what_is_read

from defero import InputError
from defero_verma2023.pools.pool import ExpertPool, PoolExpert
from defero_verma2023.pools.tables import draw_from_table

N_DRAWS = 250_000
each_pool = pytest.mark.parametrize("pool", CASES.values(), ids=CASES.keys())
a_pool = st.sampled_from(list(CASES.values()))
HATE, HAM, SIM2 = CASES["hatespeech, published"], CASES["ham10000, published"], CASES["sim2, published"]


@each_pool
def test_draws_are_right_as_often_as_the_law_says(pool):
    shares = SHARES[pool.n_classes]
    labels = np.random.default_rng(0).choice(pool.n_classes, size=N_DRAWS, p=shares)
    read, confusions = what_is_read(pool, labels, seed=1)
    right = (pool.draw(labels, rng=np.random.default_rng(2), **read) == labels[:, None]).mean(axis=0)
    np.testing.assert_allclose(right, pool.expected_accuracy(shares, **confusions), rtol=0, atol=0.005)


@given(a_pool, st.data(), st.integers(0, 2**32))
def test_answers_are_class_numbers_repeat_and_never_come_at_probability_0(pool, data, seed):
    labels = np.array(data.draw(st.lists(st.integers(0, pool.n_classes - 1), max_size=20)), dtype=int)
    read, _ = what_is_read(pool, labels, seed=seed)
    kept = labels.copy()
    first, again = (pool.draw(labels, rng=np.random.default_rng(seed), **read) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(labels, kept)
    assert first.shape == (len(labels), pool.n_experts)
    assert first.dtype == np.int64
    for j, expert in enumerate(pool.experts):
        assert np.all(expert.table[{"label": labels, **read}[expert.reads], first[:, j]] > 0)


@given(pool=a_pool, seed=st.integers(0, 2**32), where=st.integers(0, 29))
def test_an_item_is_answered_for_itself(pool, seed, where):
    labels = np.random.default_rng(seed).integers(pool.n_classes, size=30)
    other = labels.copy()
    other[where] = (other[where] + 1) % pool.n_classes
    draws = []
    for y in (labels, other):
        read, _ = what_is_read(pool, y, seed=0)
        draws.append(np.delete(pool.draw(y, rng=np.random.default_rng(seed), **read), where, axis=0))
    np.testing.assert_array_equal(*draws)


@given(pool=a_pool, seed=st.integers(0, 2**32), data=st.data())
def test_the_first_experts_alone_answer_the_same(pool, seed, data):
    n_first = data.draw(st.integers(1, pool.n_experts))
    labels = np.random.default_rng(seed).integers(pool.n_classes, size=15)
    first = pool.take(range(n_first))
    draws = [
        p.draw(labels, rng=np.random.default_rng(seed), **what_is_read(p, labels, seed=0)[0]) for p in (pool, first)
    ]
    np.testing.assert_array_equal(draws[0][:, :n_first], draws[1])


@given(st.integers(2, 6), st.integers(0, 2**32))
def test_draws_from_any_table_are_draws_by_searching_its_sums(n_classes, seed):
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(n_classes, 0.3), size=n_classes)
    read = rng.integers(n_classes, size=50)
    uniform = np.random.default_rng(5).random(50)
    twin = [
        np.searchsorted(np.cumsum(table[r]), u, side="right")  # the class into whose stretch of [0, 1) u falls
        for r, u in zip(read, uniform, strict=True)
    ]
    np.testing.assert_array_equal(draw_from_table(read, table, rng=np.random.default_rng(5)), twin)


@pytest.mark.parametrize(("uniform", "answer"), [(0.0, 1), (np.nextafter(1, 0), 10)])
def test_the_ends_of_the_draw_never_reach_an_answer_of_probability_0(uniform, answer):
    row = np.array([0.0] + [0.1] * 10 + [0.0])  # the sums end at 0.9999999999999999

    class Fixed(np.random.Generator):
        def random(self, size):
            return np.full(size, uniform)

    answers = draw_from_table(np.array([0]), np.tile(row, (12, 1)), rng=Fixed(np.random.PCG64(0)))
    assert answers.tolist() == [answer]


def test_each_expert_may_have_a_person_of_its_own():
    labels = np.zeros(50, dtype=int)
    people = np.random.default_rng(0).integers(3, size=(50, 10))
    answers = HATE.draw(labels, human=people, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(answers[:, [7, 9]], people[:, [7, 9]])
    shared = HATE.draw(labels, human=people[:, 0], rng=np.random.default_rng(0))
    np.testing.assert_array_equal(shared[:, 7], shared[:, 9])


def test_the_network_gives_its_recorded_answers():
    recorded = np.array([6, 0, 3])
    answers = HAM.draw([0, 1, 2], recorded=recorded, rng=np.random.default_rng(0))
    assert answers[:, 7].tolist() == recorded.tolist()
    without = HAM.take([0, 1, 2, 3, 4, 5, 6, 8, 9])
    assert without.draw([0, 1, 2], rng=np.random.default_rng(0)).shape == (3, 9)


def test_accuracy_by_hand_of_a_person_who_confuses_two_classes():
    # The person sees class 0 half of the time as 2; expert 5 flips 0 to 1 and 2 to 0, with probability 0.3.
    confusion = [[0.5, 0, 0.5], [0, 1, 0], [0, 0, 1]]
    found = HATE.expected_accuracy([0.5, 0.25, 0.25], human_confusion=confusion)
    np.testing.assert_allclose(found[4], 0.5 * (0.5 * 0.7 + 0.5 * 0.3) + 0.5 * 0.7)
    np.testing.assert_allclose(found[7], 0.75)
    assert np.isnan(HATE.expected_accuracy([0.5, 0.25, 0.25])).tolist() == [False] + [True] * 9
    assert not np.isnan(HAM.expected_accuracy(SHARES[7], recorded_confusion=np.eye(7))).any()


def test_a_pool_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        HATE.experts[0].table[0, 0] = 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda rng: HATE.draw([0], rng=rng), r"human is needed: annotator_10, .*, human_10 read it in the pool hate"),
        (lambda rng: HAM.draw([0], rng=rng), "recorded is needed: mlp_mixer read it in the pool ham10000"),
        (lambda rng: HAM.draw([0], recorded=[0], human=[0], rng=rng), "human must be left out: no expert reads it"),
        (lambda rng: SIM2.draw([0], recorded=[0], rng=rng), "recorded must be left out: no expert reads it"),
        (lambda rng: HATE.draw([0, 1], human=[0], rng=rng), r"human must have shape \(2,\) or \(2, 10\), got \(1,\)"),
        (lambda rng: HAM.draw([0], recorded=[[0]], rng=rng), r"recorded must have shape \(1,\), got \(1, 1\)"),
        (lambda rng: HAM.draw([0], recorded=[7], rng=rng), r"recorded must lie in 0\.\.6, got 7"),
        (lambda rng: HATE.draw([0], human=np.full((1, 10), 3), rng=rng), r"human must lie in 0\.\.2, got 3"),
        (lambda rng: SIM2.draw([10], rng=rng), r"labels must lie in 0\.\.9, got 10"),
        (lambda rng: SIM2.draw([0], rng=1), r"rng must be a numpy\.random\.Generator"),
        (lambda rng: SIM2.take([4]), r"^experts must lie in 0\.\.3, got 4"),
        (
            lambda rng: SIM2.take(["expert_1"]),
            r"experts must be expert numbers 0\.\.3, got <U8; pass whole numbers",
        ),
        (lambda rng: SIM2.take([[0]]), r"experts must have one axis of expert numbers, got shape \(1, 1\)"),
        (lambda rng: SIM2.take([]), "experts of the pool cifar10_sim2 must be at least one"),
        (lambda rng: SIM2.take([1, 1]), "must have different names, got .'expert_2', 'expert_2'"),
        (lambda rng: SIM2.expected_accuracy([1.0]), r"class_shares must have shape \(10,\), one per class, got \(1,\)"),
        (
            lambda rng: SIM2.expected_accuracy(np.ones(10)),
            "class_shares must be probabilities that sum to 1, got a sum",
        ),
        (
            lambda rng: HATE.expected_accuracy(SHARES[3], human_confusion=np.eye(2)),
            "must be a table of 3 classes, got 2",
        ),
        (lambda rng: PoolExpert("a", "label", [[1, 0]]), r"table of a must be a \(K, K\) table .* got shape \(1, 2\)"),
        (lambda rng: PoolExpert("a", "label", [[1, 0], [0.5, 0.4]]), r"that sum to 1, got \[0.5, 0.4\] in row 1"),
        (
            lambda rng: PoolExpert("a", "label", [[2, -1], [0, 1]]),
            "rows of probabilities that sum to 1, got .* in row 0",
        ),
        (lambda rng: PoolExpert("a", "truth", np.eye(2)), "reads must be one of label, human, recorded, got 'truth'"),
        (
            lambda rng: ExpertPool("p", (PoolExpert("a", "label", np.eye(2)), PoolExpert("b", "label", np.eye(3)))),
            r"experts of the pool p must share the classes, got K in \[2, 3\]",
        ),
    ],
)
def test_what_cannot_be_drawn_or_built_is_named(call, words):
    with pytest.raises(InputError, match=words):
        call(np.random.default_rng(0))
