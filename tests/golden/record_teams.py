"""Write decisions.csv and figures.json anew, with the `defero` command on the path: `python record_teams.py OUT`."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
from golden_teams import TEAMS, write_files


def main(out):
    """Fit every team, route new cases, judge."""
    pieces, figures = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        for team, options in TEAMS.items():
            fitted = _defero(folder, "fit", *options, "--out", team, "--json")
            _defero(folder, "route", team, "new.csv", "--key", "visit", "--out", f"decided_{team}.csv")
            decisions = pd.read_csv(folder / f"decided_{team}.csv", keep_default_na=False)
            pieces.append(decisions.rename(columns={"case": "visit"}).drop(columns="reason").assign(team=team))
            told = json.loads(fitted)
            judged = {who: {"accuracy": told["test"][who]["accuracy"]} for who in ("team", "model")}
            figures[team] = {"rows": told["rows"], "test": judged}
    pd.concat(pieces, ignore_index=True).to_csv(out / "decisions.csv", index=False)
    (out / "figures.json").write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")


def _defero(folder, *words):
    done = subprocess.run(["defero", *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
