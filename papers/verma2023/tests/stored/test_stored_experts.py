"""The authors' stored answers beside the laws that the pools state, where DEFERO_DATA has them.

For each expert of each stored run whose answers differ from those of the other runs, the counts of (class read,
answer) beside n(class read) times the law's table, as a chi-square. Where the law leaves no choice there is nothing
to test but that each answer is the one that it allows.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2

from defero import InputError
from defero_verma2023.pools.annotators import galaxyzoo_pool, hatespeech_pool
from defero_verma2023.pools.cifar10 import cifar10_sim1_pool, cifar10_sim2_pool, gradual_overlap_pool
from defero_verma2023.pools.ham10000 import ham10000_pool
from defero_verma2023.pools.oracles import noiseless_oracle_pool, oracle_pool
from defero_verma2023.stored.outputs import list_runs, outputs_folder, read_run

try:
    FOLDER = outputs_folder()
except InputError as missing:
    pytest.skip(str(missing), allow_module_level=True)

HATESPEECH, GALAXYZOO, HAM = "hatespeech_increase_experts", "galaxyzoo_increase_experts", "ham10000_increase_experts"
SIM1, SIM2 = "cifar10_sim1_increase_experts_prob70", "cifar10_sim2_increase_confidence"
NO_NOISE, WITH_NOISE, OVERLAP = "cifar10_oracle_nonoise_v2", "cifar10_oracle_withnoise", "cifar10_gradual_overlap"
REJECT = 1e-4

# Experts tested and, of these, experts whose law leaves no choice (they copy, or are right on every class).
EXPECTED = {
    HATESPEECH: (55, 4),
    GALAXYZOO: (271, 20),
    HAM: (204, 0),
    SIM1: (30, 0),
    SIM2: (20, 0),
    NO_NOISE: (120, 0),
    WITH_NOISE: (100, 0),
    OVERLAP: (70, 10),
}


@dataclass(frozen=True, eq=False)
class Run:
    entry: object
    labels: np.ndarray
    answers: np.ndarray


@cache
def different_runs(experiment):
    """Return the runs with logits, those with the same answers once: CIFAR's are the same for every seed."""
    runs = {}
    for entry in list_runs(FOLDER):
        if entry.experiment == experiment and entry.has_logits:
            stored = read_run(FOLDER, entry)
            runs.setdefault(stored.answers.tobytes(), Run(entry, stored.labels, stored.answers))
    return list(runs.values())


def oracle_places(run):
    """Return the classes on which somebody is always right, and who: nobody is by chance, 900 times in a row."""
    always = np.array([(run.answers[run.labels == y] == y).all(axis=0) for y in range(10)])
    return {"classes": np.flatnonzero(always.any(axis=1)), "oracles": np.flatnonzero(always.any(axis=0))}


def published_pool(run):
    setting, published = run.entry.setting, {"variant": "as_published"}
    return {
        HATESPEECH: lambda: hatespeech_pool(**published),
        GALAXYZOO: lambda: galaxyzoo_pool(**published),
        HAM: lambda: ham10000_pool(**published),
        SIM1: lambda: cifar10_sim1_pool(n_experts=int(setting), **published),
        SIM2: lambda: cifar10_sim2_pool(p_in=setting, **published),
        NO_NOISE: lambda: noiseless_oracle_pool(**oracle_places(run)),
        WITH_NOISE: lambda: oracle_pool(n_oracles=int(setting) + 1, noise="uniform", **published),
        OVERLAP: lambda: gradual_overlap_pool(overlap=setting, **published),
    }[run.entry.experiment]()


def written_pool(run):
    setting, written = run.entry.setting, {"variant": "as_written"}
    return {
        HATESPEECH: lambda: hatespeech_pool(**written),
        HAM: lambda: ham10000_pool(**written),
        SIM1: lambda: cifar10_sim1_pool(n_experts=int(setting), **written),
        SIM2: lambda: cifar10_sim2_pool(p_in=setting, **written),
        NO_NOISE: lambda: oracle_pool(n_oracles=int(setting) + 1, noise="none", **written),
        WITH_NOISE: lambda: oracle_pool(n_oracles=int(setting) + 1, noise="uniform", **written),
        OVERLAP: lambda: gradual_overlap_pool(overlap=setting, **written),
    }[run.entry.experiment]()


def fit(read, answers, table):
    """Return the p value and the degrees of freedom; an answer that the law forbids has p = 0."""
    counts = np.zeros(table.shape)
    np.add.at(counts, (read, answers), 1)
    expected = counts.sum(axis=1, keepdims=True) * table
    allowed = expected > 0
    freedom = int(allowed.sum() - allowed.any(axis=1).sum())
    if counts[~allowed].any():
        return 0.0, freedom
    statistic = np.sum((counts - expected)[allowed] ** 2 / expected[allowed])
    return (float(chi2.sf(statistic, freedom)) if freedom else 1.0), freedom


def fits(experiment, pool_of):
    """Return (p, degrees of freedom, file, expert) for each expert of each different run."""
    runs = different_runs(experiment)
    human = human_label(runs) if experiment in (HATESPEECH, GALAXYZOO) else None
    found = []
    for run in runs:
        for j, expert in enumerate(pool_of(run).take(range(run.answers.shape[1])).experts):
            if expert.reads != "recorded":
                read = human if expert.reads == "human" else run.labels
                found.append((*fit(read, run.answers[:, j], expert.table), run.entry.file, expert.name))
    return found


def human_label(runs):
    """Return expert 8's answers, the human label: one for all runs, which share their test items."""
    humans = {run.answers[:, 7].tobytes() for run in runs if run.answers.shape[1] >= 8}
    assert len(humans) == len({run.labels.tobytes() for run in runs}) == 1
    return next(run.answers[:, 7] for run in runs if run.answers.shape[1] >= 8)


@pytest.mark.parametrize("experiment", EXPECTED)
def test_the_stored_answers_do_not_reject_the_law(experiment):
    found = fits(experiment, published_pool)
    tested = [p for p, freedom, *_ in found if freedom]
    assert (len(found), len(found) - len(tested)) == EXPECTED[experiment]
    worst = min(found)
    assert worst[0] > REJECT, worst


def test_the_p_values_are_those_of_true_laws():
    """Of all tests together a twentieth is below 0.05 and half below 0.5, as it should be if each law is true."""
    tested = [p for experiment in EXPECTED for p, freedom, *_ in fits(experiment, published_pool) if freedom]
    for level in (0.05, 0.5):
        spread = np.sqrt(level * (1 - level) / len(tested))
        assert abs(np.mean(np.array(tested) < level) - level) < 4 * spread


@pytest.mark.parametrize("experiment", [experiment for experiment in EXPECTED if experiment != GALAXYZOO])
def test_the_law_as_written_is_rejected(experiment):
    """The text's law is not what was run: the chi-square can tell. (Galaxy-Zoo's two laws are one.)"""
    assert min(fits(experiment, written_pool))[0] < 1e-12


def test_no_noise_has_five_classes_and_as_many_oracles_as_said():
    for run in different_runs(NO_NOISE):
        places = oracle_places(run)
        assert len(places["classes"]) == 5
        assert len(places["oracles"]) == run.entry.setting + 1
