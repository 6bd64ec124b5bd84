"""The laws of the paper's pools, by hand and beside the two-step stories that they sum up."""

from fractions import Fraction

import numpy as np
import pytest
from paper_pools import CASES, HAM_COUNTS, PUBLISHED, SHARES, WRITTEN

from defero import InputError
from defero.simulate import specialist
from defero_verma2023.pools.annotators import hatespeech_pool
from defero_verma2023.pools.catalogue import POOLS
from defero_verma2023.pools.cifar10 import cifar10_sim1_pool, cifar10_sim2_pool, gradual_overlap_pool
from defero_verma2023.pools.ham10000 import ham10000_pool
from defero_verma2023.pools.oracles import noiseless_oracle_pool, oracle_pool
from defero_verma2023.pools.picture_sets import HAM10000_CLASSES

OPTIONS = {
    "cifar10_sim1": {"n_experts": 20},
    "cifar10_sim2": {"p_in": 0.6},
    "oracles": {"n_oracles": 1, "noise": "uniform"},
    "gradual_overlap": {"overlap": 0.2},
}
each_variant = pytest.mark.parametrize("variant", [PUBLISHED, WRITTEN])


def story(n_classes, steps):
    """Build P(answer | class) from steps(read) -> [(probability, answers drawn from alike)], in exact fractions."""
    table = [[Fraction(0)] * n_classes for _ in range(n_classes)]
    for read in range(n_classes):
        for p, answers in steps(read):
            for answer in answers:
                table[read][answer] += Fraction(str(p)) / len(answers)
    return np.array(table, dtype=float)


def else_guess(p, n_classes):
    return story(n_classes, lambda r: [(p(r), [r]), (1 - Fraction(str(p(r))), range(n_classes))])


def else_other(p, n_classes):
    return story(n_classes, lambda r: [(p(r), [r]), (1 - Fraction(str(p(r))), [k for k in range(n_classes) if k != r])])


def tables(pool):
    return np.array([expert.table for expert in pool.experts])


@pytest.mark.parametrize("n_classes", [2, 3])
@each_variant
def test_annotators(n_classes, variant):
    pool = POOLS["hatespeech" if n_classes == 3 else "galaxyzoo"](variant=variant)

    def flip(p):
        if variant == WRITTEN:
            return else_other(lambda h: 1 - Fraction(str(p)), n_classes)
        return story(n_classes, lambda h: [(1 - Fraction(str(p)), [h]), (p, [1 if h == 0 else 0])])

    copy = np.eye(n_classes)
    mix = {p: else_guess(lambda h, p=p: p, n_classes) for p in (0.0, 0.1, 0.5, 0.75, 0.85)}
    expected = [mix[0.0], mix[0.1], flip(0.5), mix[0.75], flip(0.3), flip(0.2), mix[0.85], copy, mix[0.5], copy]
    np.testing.assert_allclose(tables(pool), expected, atol=1e-15)
    assert [expert.reads for expert in pool.experts] == ["label"] + ["human"] * 9


def test_two_classes_make_the_variants_one():
    np.testing.assert_allclose(tables(CASES["galaxyzoo, published"]), tables(CASES["galaxyzoo, written"]))


def test_hatespeech_by_hand_on_a_perfect_person():
    perfect = {"human_confusion": np.eye(3)}
    found = CASES["hatespeech, published"].expected_accuracy(SHARES[3], **perfect)
    np.testing.assert_allclose(found, [1 / 3, 0.4, 0.5, 5 / 6, 0.7, 0.8, 0.9, 1, 2 / 3, 1])
    written = hatespeech_pool(variant=WRITTEN).experts[4].table
    np.testing.assert_allclose(written, [[0.7, 0.15, 0.15], [0.15, 0.7, 0.15], [0.15, 0.15, 0.7]])


@each_variant
def test_ham10000(variant):
    code = {name: k for k, name in enumerate(["bkl", "df", "mel", "nv", "vasc", "akiec", "bcc"])}
    assert tuple(code) == HAM10000_CLASSES
    benign, malign, everything = ["nv", "bkl", "df", "vasc"], ["mel", "bcc", "akiec"], list(code)
    seventh = Fraction(15, 100) if variant == WRITTEN else Fraction(1, 7)
    third = Fraction(15, 100) if variant == WRITTEN else Fraction(33, 100)
    laws = [
        (malign, Fraction(1, 4), seventh),
        (benign, Fraction(1, 4), seventh),
        (["nv"], Fraction(1, 2), seventh),
        (["vasc"], Fraction(7, 10), seventh),
        (["mel"], Fraction(3, 4), third),
        (benign, Fraction(3, 4), Fraction(1, 4)),
        (everything, Fraction(4, 5), Fraction(1, 2)),
        (everything, Fraction(4, 5), Fraction(3, 5)),
    ]

    def law(field, inside, outside):
        field = [code[name] for name in field]

        def steps(y):
            p = inside if y in field else outside
            wrong = [k for k in range(7) if k != y]
            if variant == PUBLISHED and len(field) < 7:
                wrong = [k for k in wrong if k not in field]
            return [(p, [y]), (1 - p, wrong)]

        return story(7, steps)

    derms = [law(*options) for options in laws]
    expected = [np.full((7, 7), 1 / 7), *derms[:6], np.eye(7), *derms[6:]]
    pool = ham10000_pool(variant=variant)
    np.testing.assert_allclose(tables(pool), expected, atol=1e-15)
    assert [expert.reads for expert in pool.experts] == ["label"] * 7 + ["recorded"] + ["label"] * 2


def test_ham10000_on_its_class_shares():
    found = 100 * CASES["ham10000, published"].expected_accuracy(HAM_COUNTS / HAM_COUNTS.sum())
    np.testing.assert_array_equal(found.round(1), [14.3, 16.4, 22.9, 38.2, 15.1, 37.7, 65.2, np.nan, 80, 80])
    # By hand: 1,952 of 9,958 are malign, so 0.15 + 0.10 * 1952 / 9958, and so on.
    written = CASES["ham10000, written"].expected_accuracy(HAM_COUNTS / HAM_COUNTS.sum())
    shares = np.array([1952, 8006, 6660, 142, 1111, 8006]) / 9958
    by_hand = np.array([0.15, 0.15, 0.15, 0.15, 0.15, 0.25]) + shares * [0.10, 0.10, 0.35, 0.55, 0.60, 0.50]
    np.testing.assert_allclose(written[1:7], by_hand)


def test_simulation_1():
    published, written = (cifar10_sim1_pool(n_experts=3, variant=v) for v in (PUBLISHED, WRITTEN))
    for table in tables(published):
        np.testing.assert_allclose(table, else_guess(lambda y: 0.7 if y <= 5 else 0, 10), atol=1e-15)
    for table in tables(written):
        np.testing.assert_allclose(table, else_other(lambda y: 0.7 if y < 5 else 0.1, 10), atol=1e-15)
    np.testing.assert_allclose(published.experts[0].table.diagonal(), [0.73] * 6 + [0.1] * 4)
    np.testing.assert_allclose(written.experts[0].table.diagonal(), [0.7] * 5 + [0.1] * 5)


@pytest.mark.parametrize("p_in", [0.2, 0.4, 0.6, 0.8, 0.95])
def test_simulation_2(p_in):
    published, written = (tables(cifar10_sim2_pool(p_in=p_in, variant=v)) for v in (PUBLISHED, WRITTEN))
    for j in (1, 2, 3):
        np.testing.assert_allclose(published[j], else_guess(lambda y: p_in if y <= 5 else 0.2, 10), atol=1e-15)
        np.testing.assert_allclose(written[j], else_other(lambda y: p_in if y < 5 else 0.1, 10), atol=1e-15)
    assert np.all(published[0] == 0.1)
    assert np.all(written[0] == 0.1)
    np.testing.assert_allclose(published[1].diagonal()[[0, 9]], [p_in + (1 - p_in) / 10, 0.28])


@pytest.mark.parametrize("overlap", [0.1, 0.4, 0.95, 1.0])
def test_gradual_overlap(overlap):
    published, written = (tables(gradual_overlap_pool(overlap=overlap, variant=v)) for v in (PUBLISHED, WRITTEN))
    for j in range(10):
        np.testing.assert_allclose(published[j], else_guess(lambda y, j=j: 1 if y == j else overlap, 10), atol=1e-15)
        np.testing.assert_allclose(written[j], else_other(lambda y, j=j: 1 if y == j else overlap, 10), atol=1e-15)


@pytest.mark.parametrize("m", range(1, 11))
def test_oracles_with_noise_and_as_written(m):
    with_noise = tables(oracle_pool(n_oracles=m, noise="uniform", variant=PUBLISHED))
    guessing = tables(oracle_pool(n_oracles=m, noise="uniform", variant=WRITTEN))
    wrong = tables(oracle_pool(n_oracles=m, noise="none", variant=WRITTEN))
    for j in range(10):
        is_oracle = j < m
        in_field = 0.95 if is_oracle else 0.1
        published = else_guess(lambda y, p=in_field: p if y < m else Fraction(1, 9), 10)
        np.testing.assert_allclose(with_noise[j], published, atol=1e-15)
        np.testing.assert_allclose(guessing[j], else_guess(lambda y, o=is_oracle: int(o and y < m), 10), atol=1e-15)
        np.testing.assert_allclose(wrong[j], else_other(lambda y, o=is_oracle: int(o and y < m), 10), atol=1e-15)
    np.testing.assert_allclose(with_noise[0].diagonal(), [0.955] * m + [0.2] * (10 - m))
    np.testing.assert_allclose(with_noise[-1].diagonal()[0], 0.955 if m == 10 else 0.19)


def test_oracles_without_noise_as_published():
    known, outside = [1, 2, 5, 7, 8], [0, 3, 4, 6, 9]
    pool = noiseless_oracle_pool(classes=known, oracles=[0, 4])
    oracle_table = story(10, lambda y: [(1, [y] if y in known else outside)])
    other_table = story(10, lambda y: [(1, outside)])
    for j, table in enumerate(tables(pool)):
        np.testing.assert_allclose(table, oracle_table if j in (0, 4) else other_table, atol=1e-15)
    assert pool.expert_names[:2] == ("oracle_1", "other_2")


def test_oracles_without_noise_are_drawn():
    found = [
        oracle_pool(n_oracles=4, noise="none", variant=PUBLISHED, rng=np.random.default_rng(seed)) for seed in (0, 0, 1)
    ]
    for pool in found:
        right = tables(pool).diagonal(axis1=1, axis2=2)
        assert np.sum(right == 1) == 4 * 5
        assert np.sum(right.max(axis=1) == 1) == 4
    assert found[0].expert_names == found[1].expert_names
    assert not np.array_equal(tables(found[0]), tables(found[2]))


def test_the_tables_are_those_of_the_laws():
    """Each law of this package, drawn 200,000 times per class, beside the table that says the same."""
    rng, n = np.random.default_rng(3), 200_000
    pairs = [
        (lambda y: specialist(y, classes=[3], p_in=0.5, p_out=0.15, n_classes=7, rng=rng), "ham10000, written", 3),
        (lambda y: specialist(y, classes=[], p_in=1.0, p_out=0.7, n_classes=3, rng=rng), "hatespeech, written", 4),
        (lambda y: np.where(rng.random(n) < 0.75, y, rng.integers(3, size=n)), "hatespeech, published", 3),
        (lambda y: np.where(y <= 2, y, rng.integers(10, size=n)), "with noise, written", 0),
    ]
    for law, case, j in pairs:
        table = CASES[case].experts[j].table
        for label, row in enumerate(table):
            found = np.bincount(law(np.full(n, label)), minlength=len(row)) / n
            assert np.all(np.abs(found - row) <= 5 * np.sqrt(row * (1 - row) / n)), (case, label)


def test_the_registry_has_every_pool():
    sizes = {name: make(variant=WRITTEN, **OPTIONS.get(name, {})).n_experts for name, make in POOLS.items()}
    assert sizes == {
        "hatespeech": 10,
        "galaxyzoo": 10,
        "ham10000": 10,
        "cifar10_sim1": 20,
        "cifar10_sim2": 4,
        "oracles": 10,
        "gradual_overlap": 10,
    }


@pytest.mark.parametrize("name", POOLS)
def test_a_variant_that_is_none_is_refused(name):
    with pytest.raises(InputError, match="variant must be one of as_written, as_published, got 'as_run'"):
        POOLS[name](variant="as_run", **OPTIONS.get(name, {}))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cifar10_sim1_pool(n_experts=0, variant=WRITTEN), "n_experts must be at least 1, got 0"),
        (lambda: cifar10_sim2_pool(p_in=80, variant=WRITTEN), r"p_in must be a probability in \[0, 1\], got 80"),
        (lambda: gradual_overlap_pool(overlap=-1, variant=WRITTEN), r"overlap must be a probability .* got -1"),
        (lambda: oracle_pool(n_oracles=0, noise="none", variant=WRITTEN), "n_oracles must be at least 1, got 0"),
        (lambda: oracle_pool(n_oracles=11, noise="none", variant=WRITTEN), "n_oracles must be at most 10, got 11"),
        (lambda: oracle_pool(n_oracles=1, noise="some", variant=WRITTEN), "noise must be one of none, uniform, got"),
        (lambda: oracle_pool(n_oracles=1, noise="none", variant=PUBLISHED), "rng is needed: without noise"),
        (lambda: oracle_pool(n_oracles=1, noise="none", variant=PUBLISHED, rng=3), "rng must be a numpy.random.Gen"),
        (
            lambda: oracle_pool(n_oracles=1, noise="none", variant=WRITTEN, rng=np.random.default_rng(0)),
            "rng must be left out: with noise 'none', as_written, no part",
        ),
        (lambda: noiseless_oracle_pool(classes=range(10), oracles=[0]), "classes must be 1 to 9 of the 10 classes"),
        (lambda: noiseless_oracle_pool(classes=[], oracles=[0]), "classes must be 1 to 9 .*, got 0"),
        (
            lambda: noiseless_oracle_pool(classes=[0], oracles=[10]),
            r"oracles must lie in 0\.\.9, got 10",
        ),
    ],
)
def test_options_that_make_no_pool_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
