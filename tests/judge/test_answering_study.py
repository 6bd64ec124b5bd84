"""Levels and alarms of the answering check over many studies. Writes ../statistical/results/answering.json."""

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from answering_studies import AT_RANDOM, BY_FEATURES, by_shape, checked, one_expert
from study_results import write_study

RUNS = 500
LEVELS = (0.01, 0.05)
RING = {"shape": "ring", "columns": 20}


def at_random_one_expert(seed):
    return one_expert(seed, rates=(0.41, 0.41))


def by_ring(seed):
    """Label and answering follow a ring in two of 20 columns; both chances swing between 0.15 and 0.85."""
    return by_shape(seed, **RING)


def test_curved_features_are_no_alarm():
    assert not any(checked(by_ring(seed)).depends_on_label for seed in range(4))


@pytest.mark.parametrize("shape", ["ring", "product"])
def test_choice_by_the_label_is_an_alarm_though_features_predict_it(shape):
    found = [checked(by_shape(seed, shape, columns=6, slope=0.25, by_label=0.2)) for seed in range(3)]
    assert all(check.depends_on_label for check in found)


def test_six_hundred_cases_and_six_experts_take_a_fraction_of_a_second():
    study = by_shape(0, "ring", columns=12)
    checked(study)
    started = time.process_time()
    checked(study)
    assert time.process_time() - started < 0.9


def _run(study, seed):
    """Return both p values of one run, whether it raises an alarm or a note, and its CPU seconds."""
    started = time.process_time()
    found = checked(study(seed), rng=np.random.default_rng([1, seed]))
    return (
        found.p_label,
        found.p_features,
        found.depends_on_label,
        found.depends_on_features,
        time.process_time() - started,
    )


@pytest.mark.slow
def test_levels_over_many_runs():
    # Forked: each run has a seed of its own, so the number of processes changes nothing.
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:

        def runs(study, number):
            return np.array(list(pool.map(_run, [study] * number, range(number), chunksize=10)), dtype=float).T

        at_random = {study.__name__: runs(study, RUNS) for study in (at_random_one_expert, *AT_RANDOM)}
        by_features = {study.__name__: runs(study, RUNS // 5) for study in (*BY_FEATURES, by_ring)}
    levels = {
        name: {
            what: {str(level): float((p <= level).mean()) for level in LEVELS}
            for what, p in zip(("label", "features"), found, strict=False)
            if not np.isnan(p).all()
        }
        for name, found in at_random.items()
    }
    noted = {name: float(found[2:4].max(axis=0).mean()) for name, found in at_random.items()}
    alarms = {name: float(found[2].mean()) for name, found in by_features.items()}
    write_study(
        "answering",
        runs=RUNS,
        cpu_seconds=sum(found[4].sum() for found in (*at_random.values(), *by_features.values())),
        rejected_at_random=levels,
        any_note_at_random=noted,
        label_alarms_by_features=alarms,
    )
    for of_study in levels.values():
        for shares in of_study.values():
            assert shares["0.01"] <= 0.026  # three standard errors above the level
            assert shares["0.05"] <= 0.08
    assert max(alarms.values()) <= 0.05
