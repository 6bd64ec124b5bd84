"""`defero demo`: a model and ten experts become a team."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from defero.cli.options import MOST_SEED, AsJson
from defero.cli.output import echo, emit


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the table of cases, a trained model and its report.")] = Path(
        "defero-demo"
    ),
    seeds: Annotated[int, typer.Option(help="Number of repetitions.", min=2)] = 5,
    seed: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Train on scikit-learn's digits with ten simulated specialists, and compare the team with each of them.

    Each specialist is right with probability 0.95 on two digits and 0.3 on the others. A third of the 1,797 images are
    used for training, the others for the test. Each repetition has new specialists and a new split.

    Example:

    defero demo --seeds 5
    """
    from defero.core.errors import Argument, InputError
    from defero.study.demo import run_demo

    if seed + seeds - 1 > MOST_SEED:
        most = MOST_SEED - seeds + 1
        raise InputError(f"must be at most {most} with {Argument('seeds', seeds)}, got {seed}.", argument="seed")

    def show_progress(done: int) -> None:
        typer.echo(f"\rrepetition {done} of {seeds} ", nl=done == seeds, err=True)

    watched = sys.stderr.isatty() and not as_json
    result = run_demo(out, seeds=seeds, first_seed=seed, progress=show_progress if watched else None)
    if as_json:
        emit(result)
    else:
        _show(result, out=out)


def _show(result: dict[str, Any], *, out: Path) -> None:
    """Print the result, and what can be done with the folder."""
    from defero.core.wording import percent
    from defero.judge.record.figures import FigureTable

    rows = [["the team", percent(result["team"])], ["the model alone", percent(result["model"])]]
    rows += [[name, percent(share)] for name, share in result["experts"].items()]
    echo(f"Right answers on {result['cases']} held-out digits, mean of {result['seeds']} repetitions:\n")
    echo(FigureTable(["", "right"], rows).text())
    echo(
        f"\nTeam minus model: {100 * result['gain']:+.2f} points (95 % interval {100 * result['gain_low']:+.2f} to "
        f"{100 * result['gain_high']:+.2f}, paired over the repetitions)."
    )
    echo(f"The model decides {percent(result['coverage'])} of the cases itself and asks for the rest.")
    echo(f"\nThe report on the last team, to be opened in a browser: {result['report']}")
    echo(f"The folder {out}/ has this team (model/), calibrated and with panels on half of the held-out digits,")
    echo(f"and the other {result['left_cases']} digits (cases.csv). To decide who should answer each of them:")
    echo(f"  defero route {out}/model {out}/cases.csv --out {out}/decisions.csv")
    echo(f"The table of the tutorial, cases of three doctors: {out}/clinic.csv")
