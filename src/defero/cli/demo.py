"""`defero demo`: a model and ten experts become a team."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from defero.cli.options import MOST_SEED
from defero.cli.output import emit

if TYPE_CHECKING:
    from defero.core import ExpertTable
    from defero.router import Router


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the table of cases, a trained model and its report.")] = Path(
        "defero-demo"
    ),
    seeds: Annotated[int, typer.Option(help="Number of repetitions.", min=2)] = 5,
    seed: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train on scikit-learn's digits with ten simulated specialists, and compare the team with each of them.

    Each specialist is right with probability 0.95 on two digits and 0.3 on the others. A third of the 1,797 images are
    used for training, the others for the test. Each repetition has new specialists and a new split.

    Example:

    defero demo --seeds 5
    """
    from defero.core.errors import InputError

    if seed + seeds - 1 > MOST_SEED:
        raise InputError(f"--seed must be at most {MOST_SEED - seeds + 1} with --seeds {seeds}, got {seed}.")
    runs = []
    for repetition in range(seeds):
        runs.append(_repetition(seed + repetition))
        if sys.stderr.isatty() and not as_json:
            typer.echo(f"\rrepetition {repetition + 1} of {seeds} ", nl=repetition + 1 == seeds, err=True)
    fresh = _leave(runs[-1].router, runs[-1].test, out=out, seed=seed)
    page = _report(out, seed=seed)
    result = {**_means(runs), "left_cases": fresh, "report": str(page)}
    if as_json:
        emit(result)
    else:
        _show(result, out=out)


class _Run(NamedTuple):
    """A repetition: the team and its test cases, how often team, model and experts are right, and the model's share."""

    router: "Router"
    test: "ExpertTable"
    team: float
    model: float
    experts: list[float]
    coverage: float


def _repetition(seed: int) -> _Run:
    from defero import DeferralClassifier
    from defero.datasets.digits import digits_team

    train, test = digits_team(random_state=seed).split(1 / 3, 2 / 3, random_state=seed)
    team = DeferralClassifier(random_state=seed)
    team.fit(train.features, train.labels, experts=train.answers)
    return _Run(
        team.router_,
        test,
        team=team.score(test.features, test.labels, experts=test.answers),
        model=float((team.predict(test.features) == test.labels).mean()),
        experts=test.correct.mean(axis=0).tolist(),
        coverage=team.decide(test.features).coverage,
    )


def _means(runs: list[_Run]) -> dict[str, Any]:
    """Return the means over the repetitions, and the gain of the team with its interval."""
    gain, half_width = mean_and_half_width([run.team - run.model for run in runs])
    each = [sum(column) / len(runs) for column in zip(*(run.experts for run in runs), strict=True)]
    return {
        "seeds": len(runs),
        "cases": len(runs[-1].test),
        "team": sum(run.team for run in runs) / len(runs),
        "model": sum(run.model for run in runs) / len(runs),
        "gain": gain,
        "gain_low": gain - half_width,
        "gain_high": gain + half_width,
        "experts": dict(zip(runs[-1].test.expert_names, each, strict=True)),
        "team_above_every_expert": min(run.team for run in runs) > max(max(run.experts) for run in runs),
        "coverage": sum(run.coverage for run in runs) / len(runs),
    }


def _show(result: dict[str, Any], *, out: Path) -> None:
    """Print the result, and what can be done with the folder."""
    from defero.core.wording import percent
    from defero.study.judging.summary import table

    rows = [["the team", percent(result["team"])], ["the model alone", percent(result["model"])]]
    rows += [[name, percent(share)] for name, share in result["experts"].items()]
    typer.echo(f"Right answers on {result['cases']} held-out digits, mean of {result['seeds']} repetitions:\n")
    typer.echo(table(["", "right"], rows))
    typer.echo(
        f"\nTeam minus model: {100 * result['gain']:+.2f} points (95 % interval {100 * result['gain_low']:+.2f} to "
        f"{100 * result['gain_high']:+.2f}, paired over the repetitions)."
    )
    typer.echo(f"The model decides {percent(result['coverage'])} of the cases itself and asks for the rest.")
    typer.echo(f"\nThe last team as a page to read in a browser: {result['report']}")
    typer.echo(f"Left in {out}/: that team as model/, calibrated and with panels on half of its held-out digits, and")
    typer.echo(f"the other {result['left_cases']} as cases.csv. Who should decide each of them?")
    typer.echo(f"  defero route {out}/model {out}/cases.csv --out {out}/decisions.csv")


def _leave(router: "Router", test: "ExpertTable", *, out: Path, seed: int) -> int:
    """Finish a team on half of its held-out cases, save it, and write the other half; return how many those are."""
    from dataclasses import replace

    held, panels, fresh = test.split(0.25, 0.25, 0.5, random_state=seed)
    router = router.copy().calibrate(held.features, held.labels, held.answers, disjoint=True)
    router = router.conformalize(panels.features, panels.labels, panels.answers, disjoint=True)
    out.mkdir(parents=True, exist_ok=True)
    replace(router, facts=replace(router.facts, label="digit")).save(out / "model")
    fresh.features.assign(digit=fresh.labels).join(fresh.answers).to_csv(out / "cases.csv", index=False)
    return len(fresh)


def _report(out: Path, *, seed: int) -> Path:
    """Write the report of what was left in a folder."""
    from defero.study import Study
    from defero.study.judging.page import write_page

    page = out / "report.html"
    command = f"defero report {out}/model {out}/cases.csv --out {page}" + ("" if seed == 0 else f" --seed {seed}")
    judged = Study.load(out / "model").evaluate(out / "cases.csv", random_state=seed)
    write_page(judged, page, command=command)
    return page


def mean_and_half_width(values: list[float]) -> tuple[float, float]:
    """Return the mean and half the width of its 95 % Student interval.

    >>> mean, half = mean_and_half_width([1.0, 2.0, 3.0])
    >>> round(mean, 3), round(half, 3)
    (2.0, 2.484)
    """
    from scipy.stats import t

    n = len(values)
    mean = sum(values) / n
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1))
    return mean, float(t.ppf(0.975, n - 1)) * spread / math.sqrt(n)
