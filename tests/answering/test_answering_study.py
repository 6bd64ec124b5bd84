"""False alarms where features act in ways that no straight line shows. Writes ../statistical/results/answering.json."""

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from answering_studies import by_shape, checked
from study_results import write_study

RUNS = 2_000
SETTINGS = {
    "ring in 6 columns": {"shape": "ring", "columns": 6},
    "ring in 20 columns": {"shape": "ring", "columns": 20},
    "ring in 40 columns": {"shape": "ring", "columns": 40},
    "sign of a product of three, in 6 columns": {"shape": "product", "columns": 6},
    "sign of a product of three, in 40 columns": {"shape": "product", "columns": 40},
}
"""600 cases, six experts; P(label) and P(answered) swing between 0.15 and 0.85."""


@pytest.mark.parametrize("setting", ["ring in 20 columns", "sign of a product of three, in 6 columns"])
def test_curved_features_are_no_alarm(setting):
    found = [checked(by_shape(seed, **SETTINGS[setting])) for seed in range(12)]
    assert not any(check.depends_on_label for check in found)


@pytest.mark.parametrize("shape", ["ring", "product"])
def test_choice_by_the_label_is_an_alarm_though_features_predict_it(shape):
    found = [checked(by_shape(seed, shape, columns=6, slope=0.25, by_label=0.2)) for seed in range(8)]
    assert sum(check.depends_on_label for check in found) >= 7


def test_six_hundred_cases_and_six_experts_take_a_fraction_of_a_second():
    study = by_shape(0, "ring", columns=12)
    checked(study)
    started = time.process_time()
    checked(study)
    assert time.process_time() - started < 0.9


def _alarm(seed, options):
    """Return whether one run raises the alarm, and its CPU seconds."""
    started = time.process_time()
    alarm = checked(by_shape(seed, **options)).depends_on_label
    return alarm, time.process_time() - started


@pytest.mark.slow
def test_false_alarms_over_many_runs():
    # Forked: each run has a seed of its own, so the number of processes changes nothing.
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:

        def share(runs, **options):
            alarms, seconds = zip(*pool.map(_alarm, range(runs), [options] * runs, chunksize=10), strict=True)
            return float(np.mean(alarms)), sum(seconds)

        alarms = {name: share(RUNS, **options) for name, options in SETTINGS.items()}
        power = {
            f"{shape} predicts the label, answered by the label at 0.4 and 0.6": share(
                RUNS // 20, shape=shape, columns=6, slope=0.25, by_label=0.1
            )
            for shape in ("ring", "product")
        }
    write_study(
        "answering",
        runs=RUNS,
        cases=600,
        cpu_seconds=sum(seconds for _, seconds in (*alarms.values(), *power.values())),
        false_alarms={name: value for name, (value, _) in alarms.items()},
        alarms_where_true={name: value for name, (value, _) in power.items()},
    )
    assert max(value for value, _ in alarms.values()) <= 0.065
    assert min(value for value, _ in power.values()) >= 0.8
