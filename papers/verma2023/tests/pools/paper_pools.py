"""One pool of every kind and variant, and the class shares that the paper's data have."""

import numpy as np

from defero_verma2023.pools.annotators import galaxyzoo_pool, hatespeech_pool
from defero_verma2023.pools.cifar10 import cifar10_sim1_pool, cifar10_sim2_pool, gradual_overlap_pool
from defero_verma2023.pools.ham10000 import ham10000_pool
from defero_verma2023.pools.oracles import noiseless_oracle_pool, oracle_pool

HAM_COUNTS = np.array([1089, 115, 1111, 6660, 142, 327, 514])  # rows with an age
HATESPEECH_COUNTS = np.array([1430, 19190, 4163])
SHARES = {
    2: np.array([0.5, 0.5]),
    3: HATESPEECH_COUNTS / HATESPEECH_COUNTS.sum(),
    7: HAM_COUNTS / HAM_COUNTS.sum(),
    10: np.full(10, 0.1),
}

PUBLISHED, WRITTEN = "as_published", "as_written"
CASES = {
    "hatespeech, published": hatespeech_pool(variant=PUBLISHED),
    "hatespeech, written": hatespeech_pool(variant=WRITTEN),
    "galaxyzoo, published": galaxyzoo_pool(variant=PUBLISHED),
    "galaxyzoo, written": galaxyzoo_pool(variant=WRITTEN),
    "ham10000, published": ham10000_pool(variant=PUBLISHED),
    "ham10000, written": ham10000_pool(variant=WRITTEN),
    "sim1, published": cifar10_sim1_pool(n_experts=4, variant=PUBLISHED),
    "sim1, written": cifar10_sim1_pool(n_experts=4, variant=WRITTEN),
    "sim2, published": cifar10_sim2_pool(p_in=0.8, variant=PUBLISHED),
    "sim2, written": cifar10_sim2_pool(p_in=0.8, variant=WRITTEN),
    "no noise, published": noiseless_oracle_pool(classes=[1, 2, 5, 7, 8], oracles=[0, 4, 9]),
    "no noise, written": oracle_pool(n_oracles=3, noise="none", variant=WRITTEN),
    "with noise, published": oracle_pool(n_oracles=3, noise="uniform", variant=PUBLISHED),
    "with noise, written": oracle_pool(n_oracles=3, noise="uniform", variant=WRITTEN),
    "overlap, published": gradual_overlap_pool(overlap=0.4, variant=PUBLISHED),
    "overlap, written": gradual_overlap_pool(overlap=0.4, variant=WRITTEN),
}


def what_is_read(pool, labels, *, seed):
    """Return the arguments `human` and `recorded` that the pool needs: right or one class up, and their confusion."""
    shift = (np.random.default_rng(seed).random(len(labels)) < 0.2).astype(int)
    read = (labels + shift) % pool.n_classes
    confusion = 0.8 * np.eye(pool.n_classes) + 0.2 * np.roll(np.eye(pool.n_classes), 1, axis=1)
    needed = pool.reads - {"label"}
    return dict.fromkeys(needed, read), {f"{source}_confusion": confusion for source in needed}
