"""From trials to figures: means over splits with intervals, and tests against three references."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.people.crowd import PeopleSet
from benchmarks.people.trial import Trial
from benchmarks.resampled import Alternative, nadeau_bengio
from defero.judge import holm

REFERENCES: dict[str, Alternative] = {
    "model alone": "two-sided",
    "random annotator": "two-sided",
    "plain rule": "greater",
}
"""What every system is tested against; the plain rule is a mark to beat, so that test has one side."""

_MEANS = ("questions", "asked", "promised", "kept", "smooth_error")


def summarise(sets: Sequence[PeopleSet], trials: Sequence[Trial]) -> dict[str, dict[str, Any]]:
    """Return {data set: figures}, tests adjusted by Holm over all data sets that have a truth."""
    figures = {}
    for one in sets:
        own = [trial for trial in trials if trial.crowd == one.name]
        if own:
            figures[one.name] = _set_figures(one, own)
    # Sets of agreement have none.
    tests = [
        test for found in figures.values() for system in found["systems"].values() for test in system["tests"].values()
    ]
    for test, adjusted in zip(tests, holm([test["p_value"] for test in tests]).tolist(), strict=True):
        test["holm"] = adjusted
        test["clear"] = adjusted < 0.05
    return figures


def _set_figures(one: PeopleSet, trials: Sequence[Trial]) -> dict[str, Any]:
    by_system: dict[str, list[Trial]] = {}
    for trial in sorted(trials, key=lambda trial: trial.split):
        by_system.setdefault(trial.system, []).append(trial)
    names = list(dict.fromkeys(trial.system for trial in trials))
    sizes = {"n_train": trials[0].n_train, "n_test": trials[0].n_test}
    return {
        "note": one.note,
        "agreement": one.agreement,
        **sizes,
        "splits": sorted({trial.split for trial in trials}),
        "systems": {name: _system_figures(by_system[name], by_system, one.agreement) for name in names},
    }


def _system_figures(trials: list[Trial], others: dict[str, list[Trial]], agreement: bool) -> dict[str, Any]:
    accuracy = [trial.accuracy for trial in trials]
    n_train, n_test = _mean(trials, "n_train"), _mean(trials, "n_test")
    spread = nadeau_bengio(accuracy, n_train=n_train, n_test=n_test) if len(accuracy) > 1 else None
    tests = {}
    for name, alternative in REFERENCES.items():
        reference = others.get(name)
        if agreement or spread is None or reference is None or reference is trials:
            continue
        theirs = {trial.split: trial.accuracy for trial in reference}
        gains = np.subtract(accuracy, [theirs[trial.split] for trial in trials])
        found = nadeau_bengio(gains, n_train=n_train, n_test=n_test, alternative=alternative).to_dict()
        # As if splits shared no cases: what a plain paired t-test would say, beside the honest one.
        plain = nadeau_bengio(gains, n_train=n_train, n_test=1e-9, alternative=alternative)
        tests[name] = {**found, "p_value_uncorrected": plain.p_value}
    return {
        "splits": len(trials),
        "accuracy": float(np.mean(accuracy)),
        "low": None if spread is None else spread.low,
        "high": None if spread is None else spread.high,
        **{name: _plain(_mean(trials, name)) for name in _MEANS},
        # The median: the first network that is ever fitted also loads libraries.
        "seconds": round(float(np.median([trial.seconds for trial in trials])), 3),
        "accuracy_of_each_split": [round(value, 6) for value in accuracy],
        "tests": tests,
        "strata": {
            name: _stratum_figures(name, trials, others.get("model alone", []))
            for name in sorted({name for trial in trials for name in trial.strata})
        },
    }


def _stratum_figures(name: str, trials: list[Trial], model: list[Trial]) -> dict[str, Any]:
    """Return the means of one category over the splits, and its accuracy less the model's with an interval."""
    own = [trial for trial in trials if name in trial.strata]
    figures: dict[str, Any] = {}
    for key in own[0].strata[name]:
        values = [trial.strata[name][key] for trial in own]
        known = [value for value in values if not math.isnan(value)]
        figures[key] = _plain(float(np.mean(known)) if known else math.nan)
    alone = {trial.split: trial.strata[name]["accuracy"] for trial in model if name in trial.strata}
    gains = [trial.strata[name]["accuracy"] - alone[trial.split] for trial in own if trial.split in alone]
    if len(gains) > 1 and model is not trials:
        # Of a category the same share of cases is held out as of all.
        share = _mean(own, "n_test") / _mean(own, "n_train")
        found = nadeau_bengio(gains, n_train=figures["n"] / share, n_test=figures["n"])
        figures["minus_model"] = found.to_dict()
    return figures


def _mean(trials: list[Trial], name: str) -> float:
    values = [value for trial in trials if not math.isnan(value := float(getattr(trial, name)))]
    return float(np.mean(values)) if values else math.nan


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)
