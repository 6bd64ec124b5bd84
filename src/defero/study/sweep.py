"""Sweep: the same cases, fitted and tested with every combination of learner, loss and seed."""

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import defero
from defero.core.errors import InputError
from defero.data.case_file import Cases
from defero.data.fingerprint import row_fingerprints
from defero.engines import Engine, run_once

FIGURES = ("items", "team", "model", "questions", "promised", "kept")


@dataclass(frozen=True, eq=False)
class SweepCases:
    """What every run of a sweep needs: the cases, how they are split, and the other options of `fit`."""

    cases: Cases
    split_options: Mapping[str, Any]
    fit_options: Mapping[str, Any]

    def digest(self) -> str:
        """Return a text that changes with the cases, the options and the version of defero."""
        hashed = hashlib.sha256(np.ascontiguousarray(row_fingerprints(self.cases.frame)).tobytes())
        options = [defero.__version__, dict(self.split_options), dict(self.fit_options), self.cases.table.expert_names]
        hashed.update(json.dumps(options, sort_keys=True, default=repr).encode())
        return hashed.hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Sweep:
    """The runs of a sweep, each with its settings and its figures on its own test part.

    Attributes
    ----------
    settings : list of dict
        net, loss and seed of each run.
    figures : list of dict
        items (cases of the test part), team and model (share right), questions (mean answers heard per case), promised
        and kept (mean probability of the chosen decider, and how often they were right), of each run.
    """

    settings: list[dict[str, Any]] = field(repr=False)
    figures: list[dict[str, Any]] = field(repr=False)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each run."""
        return pd.DataFrame(
            [{**settings, **figures} for settings, figures in zip(self.settings, self.figures, strict=True)],
            columns=["net", "loss", "seed", *FIGURES],
        )

    def means(self) -> pd.DataFrame:
        """Return, for each learner and loss, the mean over the seeds and their number; the best team comes first."""
        grouped = self.to_frame().groupby(["net", "loss"], sort=False)
        means = grouped[list(FIGURES)].mean().assign(seeds=grouped.size())
        return means.sort_values("team", ascending=False, kind="stable").reset_index()

    def __repr__(self) -> str:
        best = self.means().iloc[0]
        return (
            f"Sweep of {len(self.settings)} runs: the best team is net={best['net']!r}, loss={best['loss']!r} "
            f"({100 * best['team']:.1f} % right, {best['seeds']:.0f} seeds); means() and to_frame() have the figures."
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.means().round(3).to_html(index=False)}"


def run_sweep(
    shared: SweepCases,
    *,
    nets: str | Iterable[str],
    losses: str | Iterable[str],
    seeds: int | Iterable[int],
    engine: Engine,
    out: str | PathLike[str] | None,
) -> Sweep:
    """Run what is missing of a sweep and return all of it; the order is that of the arguments."""
    names = {"net": _values("net", nets), "loss": _values("loss", losses), "seeds": _values("seeds", seeds)}
    runs: list[dict[str, Any]] = [
        {"net": net, "loss": loss, "seed": int(seed)} for net, loss, seed in itertools.product(*names.values())
    ]
    folder = None if out is None else Path(out)
    figures = run_once(engine, one_run, runs, shared=shared, folder=folder, of=shared.digest())
    return Sweep(runs, figures)


def one_run(shared: SweepCases, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Fit and test one team; the seed draws the parts and trains."""
    from defero.study.study import Study  # imported here: a Study offers sweeps

    study = Study(shared.cases, random_state=settings["seed"], **shared.split_options)
    study.fit(settings["net"], loss=settings["loss"], **shared.fit_options)
    record = study.evaluate().record_dict()
    return {
        "items": record["items"],
        "team": record["team"]["accuracy"],
        "model": record["model"]["accuracy"],
        **{name: record[name] for name in ("questions", "promised", "kept")},
    }


def _values(argument: str, values_or_one: Any) -> Sequence[Any]:
    values = [values_or_one] if isinstance(values_or_one, str | int) else list(values_or_one)
    if not values:
        raise InputError("is empty; name at least one.", argument=argument)
    if len(set(values)) < len(values):
        raise InputError("has a value twice; name each once.", argument=argument)
    return values
