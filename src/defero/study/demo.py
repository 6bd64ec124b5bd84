"""What `defero demo` does: teams of a model and ten simulated specialists on digits, and the last one as a folder."""

from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from defero.core import ExpertTable
from defero.data.table_spec import TableSpec
from defero.judge.record.ways import mean_cost
from defero.study.page import write_page
from defero.study.study import Study
from defero.team import Team


def run_demo(
    out: Path, *, seeds: int, first_seed: int, progress: Callable[[int], None] | None = None
) -> dict[str, Any]:
    """Fit a team for each seed, and leave the last one in a folder with cases and a report; return the figures.

    Parameters
    ----------
    out : Path
        Folder for `model/`, `cases.csv` and `report.html`, and the tables of the tutorial.
    seeds : int
        Number of repetitions, at least 2.
    first_seed : int
    progress : callable, optional
        Called with the number of repetitions that are done.
    """
    runs = []
    for repetition in range(seeds):
        fitted, test, figures = one_repetition(first_seed + repetition)
        runs.append(figures)
        if progress is not None:
            progress(repetition + 1)
    gain = mean_cost(np.array([run["team"] - run["model"] for run in runs]))
    mean = {name: sum(run[name] for run in runs) / seeds for name in runs[-1]}
    experts = {name: mean.pop(name) for name in test.expert_names}
    best_of_each = [max(run[name] for name in experts) for run in runs]
    fresh = _leave(fitted, test, out=out, seed=first_seed)
    page = out / "report.html"
    command = f"defero report {out}/model {out}/cases.csv --out {page}{f' --seed {first_seed}' if first_seed else ''}"
    judged = Study.load(out / "model").evaluate(out / "cases.csv", random_state=first_seed)
    write_page(judged, page, command=command)
    return {
        "seeds": seeds,
        "cases": len(test),
        **mean,
        "gain": gain.per_case,
        "gain_low": gain.low,
        "gain_high": gain.high,
        "experts": experts,
        "team_above_every_expert": min(run["team"] for run in runs) > max(best_of_each),
        "left_cases": fresh,
        "report": str(page),
    }


def one_repetition(seed: int) -> tuple[Team, ExpertTable, dict[str, float]]:
    """Fit a team to a third of the digits and judge it on the others; return it with these cases and the figures."""
    from defero import DeferralClassifier
    from defero.datasets.tables import digits_team

    train, test = digits_team(random_state=seed).split(1 / 3, 2 / 3, random_state=seed)
    estimator = DeferralClassifier(random_state=seed)
    estimator.fit(train.features, train.labels, experts=train.answers)
    figures = {
        "team": estimator.score(test.features, test.labels, experts=test.answers),
        "model": float((estimator.predict(test.features) == test.labels).mean()),
        "coverage": estimator.decide(test.features).coverage,
    }
    figures |= dict(zip(test.expert_names, test.correct.mean(axis=0).tolist(), strict=True))
    return estimator.team_, test, figures


def _leave(team: Team, test: ExpertTable, *, out: Path, seed: int) -> int:
    """Finish a team on half of its held-out cases, save it, and write the other half; return how many those are."""
    held, panels, fresh = test.split(0.25, 0.25, 0.5, random_state=seed)
    team = team.copy().calibrate(held.features, held.labels, held.answers, disjoint=True)
    team = team.conformalize(panels.features, panels.labels, panels.answers, disjoint=True)
    out.mkdir(parents=True, exist_ok=True)
    replace(team, facts=replace(team.facts, spec=TableSpec(label="digit"))).save(out / "model")
    fresh.features.assign(digit=fresh.labels).join(fresh.answers).to_csv(out / "cases.csv", index=False)
    leave_tables(out)
    return len(fresh)


def leave_tables(out: Path) -> None:
    """Write the tables of the tutorial to a folder."""
    for name in ("clinic.csv", "clinic_new.csv"):
        (out / name).write_bytes((files("defero.datasets") / name).read_bytes())
