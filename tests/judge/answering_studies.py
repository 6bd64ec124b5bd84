"""Ways in which answers come about, at random or not: (item, expert, label, features, K, J)."""

import numpy as np

from defero.core import Answers
from defero.core.scores import sigmoid
from defero.judge import answer_weights, check_answering


def who_said(item, expert, n_items, *, n_classes, n_experts, classes=None):
    """Return who answered what; what was said plays no part."""
    names = np.arange(n_classes) if classes is None else np.array(classes)
    said = np.zeros(len(item), dtype=np.int8)
    return Answers.from_triplets(item, expert, said, n_items=n_items, n_experts=n_experts, classes=names)


def check(item, expert, label, features=None, *, rng=None, **sizes):
    return check_answering(who_said(item, expert, len(label), **sizes), label, features, rng=rng)


def weights(item, expert, label, features=None, *, by="label", most=10.0, **sizes):
    """Return the weights in the order of the answers here."""
    found = answer_weights(who_said(item, expert, len(label), **sizes), label, features, by=by, most=most)
    back = np.empty_like(found)
    back[np.lexsort((expert, item))] = found
    return back


def checked(study, **options):
    item, expert, label, features, n_classes, n_experts = study
    return check(item, expert, label, features, n_classes=n_classes, n_experts=n_experts, **options)


def few_of_many(rng, n_items, n_experts, each=5):
    """Each item goes to exactly `each` experts drawn at random."""
    return np.repeat(np.arange(n_items), each), np.argsort(rng.random((n_items, n_experts)), axis=1)[:, :each].ravel()


def one_expert(seed, *, rates, n=1_000):
    """The example of the bias: classes (0.7, 0.3), answered at these rates."""
    rng = np.random.default_rng(seed)
    label = (rng.random(n) < 0.3).astype(int)
    item = np.flatnonzero(rng.random(n) < np.array(rates)[label])
    return item, np.zeros(len(item), int), label, None, 2, 1


def at_random_uneven(seed, n=1_000):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    label = (rng.random(n) < sigmoid(1.5 * x[:, 0])).astype(int)
    return *np.nonzero(rng.random((n, 4)) < [0.1, 0.9, 0.5, 0.9]), label, x, 2, 4


def at_random_five_of_203(seed, n=1_000):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    label = (rng.random(n) < sigmoid(1.5 * x[:, 0])).astype(int)
    return *few_of_many(rng, n, 203), label, x, 2, 203


def at_random_in_batches(seed, n=1_000):
    """Twenty items at a time go to the same five people."""
    rng = np.random.default_rng(seed)
    panels = np.argsort(rng.random((n // 20, 100)), axis=1)[:, :5]
    return (
        np.repeat(np.arange(n), 5),
        panels.repeat(20, axis=0).ravel(),
        rng.integers(8, size=n),
        rng.normal(size=(n, 5)),
        8,
        100,
    )


def at_random_rare_classes(seed, n=800):
    """Two rare classes, most experts with a dozen answers, a few with hundreds."""
    rng = np.random.default_rng(seed)
    label = rng.choice(3, size=n, p=[0.93, 0.05, 0.02])
    observed = rng.random((n, 60)) < rng.exponential(0.05, size=60)
    return *np.nonzero(observed), label, rng.normal(size=(n, 40)), 3, 60


AT_RANDOM = [at_random_uneven, at_random_five_of_203, at_random_in_batches, at_random_rare_classes]


def by_features(seed, n=3_000):
    """What foretells the label also decides who is asked."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    label = (rng.random(n) < sigmoid(2 * x[:, 0])).astype(int)
    return *np.nonzero(rng.random((n, 6)) < sigmoid(2 * x[:, :1] - 1)), label, x, 2, 6


def by_narrow_regions(seed, n=3_000):
    """Each expert gets a stretch of a feature on which the four classes stand like steps."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 3))
    label = np.clip(4 * x[:, 1] + 0.5 * rng.normal(size=n), 0, 3).astype(int)
    near = np.abs((20 * x[:, 1]).astype(int)[:, None] - np.arange(20)) < 3
    return *np.nonzero(rng.random((n, 20)) < np.where(near, 0.6, 0.05)), label, x, 4, 20


def by_many_features(seed, n=3_000):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 100))
    along = x @ rng.normal(size=100) / 10
    label = (rng.random(n) < sigmoid(3 * along)).astype(int)
    return *np.nonzero(rng.random((n, 30)) < 0.2 * sigmoid(2 * along)[:, None]), label, x, 2, 30


def by_doubt(seed, n=3_000):
    """Only unclear items are answered much, where the label is most uncertain."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    proba = sigmoid(4 * x[:, 0])
    observed = rng.random((n, 30)) < (0.01 + 0.8 * proba * (1 - proba))[:, None]
    return *np.nonzero(observed), (rng.random(n) < proba).astype(int), x, 2, 30


def by_shape(seed, shape, *, n=600, columns=20, n_experts=6, slope=0.35, by_label=0.0):
    """Label and answering follow the same function of two or three columns, and no column says anything alone."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, columns))
    side = np.sign(x[:, :3].prod(axis=1)) if shape == "product" else np.tanh(3 * ((x[:, :2] ** 2).sum(axis=1) - 1.4))
    label = (rng.random(n) < 0.5 + slope * side).astype(int)
    chance = np.clip(0.5 + (0 if by_label else slope) * side + by_label * (2 * label - 1), 0.02, 0.98)
    return *np.nonzero(rng.random((n, n_experts)) < chance[:, None]), label, x, 2, n_experts


BY_FEATURES = [by_features, by_narrow_regions, by_many_features, by_doubt]


def by_taste(seed, n=1_000):
    """Five answers for each item, and yet everybody has a class that they like."""
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=n)
    liking = rng.gumbel(size=(n, 100)) + 0.8 * rng.normal(size=100) * (2 * label[:, None] - 1)
    chosen = np.argsort(-liking, axis=1)[:, :5]
    return np.repeat(np.arange(n), 5), chosen.ravel(), label, rng.normal(size=(n, 3)), 2, 100


def by_one_of_many(seed, n=1_000):
    """Ninety-nine answer at random; the eighth goes for class 1."""
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=n)
    observed = rng.random((n, 100)) < 0.05
    observed[:, 7] = rng.random(n) < np.where(label == 1, 0.2, 0.02)
    return *np.nonzero(observed), label, rng.normal(size=(n, 3)), 2, 100
