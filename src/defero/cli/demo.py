"""`defero demo`: a model and ten experts become a team."""

import math
import sys
from pathlib import Path
from typing import Annotated

import typer

from defero.cli.output import emit, percent, table


def demo(
    out: Annotated[Path, typer.Option(help="Where to leave the table of cases and a trained model.")] = Path(
        "defero-demo"
    ),
    seeds: Annotated[int, typer.Option(help="How many independent repetitions.", min=2)] = 10,
    seed: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train on scikit-learn's digits with ten simulated specialists, and compare the team with each of them.

    Each specialist is right with probability 0.95 on two digits and 0.3 on the others. A third of the 1,797 images are
    learned from, the others judged; everything is repeated with new specialists and another split.

    Example:

    defero demo --seeds 10
    """
    from dataclasses import replace

    from defero import DeferralClassifier
    from defero.datasets.digits import digits_team

    teams, models, experts, coverages = [], [], [], []
    for repetition in range(seeds):
        train, test = digits_team(random_state=seed + repetition).split(1 / 3, 2 / 3, random_state=seed + repetition)
        # No hidden layer for the experts: their skill goes by class here, and they read the class posterior anyway.
        team = DeferralClassifier("mlp", loss="auto", expert_hidden=(), random_state=seed + repetition)
        team.fit(train.features, train.labels, experts=train.answers)
        teams.append(team.score(test.features, test.labels, experts=test.answers))
        models.append(float((team.predict(test.features) == test.labels).mean()))
        experts.append(test.correct.mean(axis=0).tolist())
        coverages.append(team.decide(test.features).coverage())
        if sys.stderr.isatty() and not as_json:
            typer.echo(f"\rrepetition {repetition + 1} of {seeds} ", nl=repetition + 1 == seeds, err=True)
    gain, half_width = mean_and_half_width([t - m for t, m in zip(teams, models, strict=True)])
    each = [sum(column) / seeds for column in zip(*experts, strict=True)]
    out.mkdir(parents=True, exist_ok=True)
    replace(team.router_, notes={**team.router_.notes, "label": "digit"}).save(out / "model")
    test.features.assign(digit=test.labels).join(test.answers).to_csv(out / "cases.csv", index=False)
    result = {
        "seeds": seeds,
        "cases": len(test),
        "team": sum(teams) / seeds,
        "model": sum(models) / seeds,
        "gain": gain,
        "gain_low": gain - half_width,
        "gain_high": gain + half_width,
        "experts": dict(zip(test.experts, each, strict=True)),
        "team_above_every_expert": min(teams) > max(max(row) for row in experts),
        "coverage": sum(coverages) / seeds,
    }
    if as_json:
        emit(result)
        return
    rows = [["the team", percent(result["team"])], ["the model alone", percent(result["model"])]]
    rows += [[name, percent(share)] for name, share in result["experts"].items()]
    typer.echo(f"Right answers on {len(test)} held-out digits, mean of {seeds} repetitions:\n")
    typer.echo(table(["", "right"], rows))
    typer.echo(
        f"\nTeam minus model: {100 * gain:+.2f} points (95 % interval {100 * (gain - half_width):+.2f} to "
        f"{100 * (gain + half_width):+.2f}, paired over the repetitions)."
    )
    typer.echo(f"The model decides {percent(result['coverage'])} of the cases itself and asks for the rest.")
    typer.echo(f"\nLeft in {out}/: cases.csv and model/. Who should decide each case?")
    typer.echo(f"  defero route {out}/model {out}/cases.csv --out {out}/decisions.csv")


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
