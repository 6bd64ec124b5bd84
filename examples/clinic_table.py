"""Write the table of the tutorial: skin lesions, three doctors, and the truth. Everything is simulated.

    python examples/clinic_table.py src/defero/datasets

It writes clinic.csv, 600 past cases, and clinic_new.csv, 40 new ones without the truth. Dr. Adams reads faces well,
Dr. Baker large lesions, and Dr. Chen is good at everything but was asked about one case in three.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

SITES = ("arm", "back", "face", "leg")
CLASSES = np.array(["benign", "malign"])


def clinic(n: int, *, first: int, seed: int) -> pd.DataFrame:
    """Return n cases whose numbers begin at `first`; about every fourth patient comes twice."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 91, n)
    size = rng.gamma(3.0, 2.0, n).round(1)
    site = rng.choice(SITES, n, p=[0.3, 0.3, 0.2, 0.2])
    growing = rng.random(n) < 0.35
    score = 0.05 * (age - 58) + 0.30 * (size - 7) + 1.2 * growing + rng.logistic(0, 1.0, n)
    malign = (score > 0).astype(int)
    skill = {
        "dr_adams": (np.where(site == "face", 0.97, 0.72), 0.8),
        "dr_baker": (np.where(size > 7, 0.95, 0.68), 0.8),
        "dr_chen": (np.full(n, 0.93), 1 / 3),
    }
    comes_first = rng.random(n) < 0.8
    table = {
        "case": np.arange(first, first + n),
        "patient": [f"p{number:04d}" for number in first + np.cumsum(comes_first) - comes_first[0]],
        "age": age,
        "size_mm": size,
        "site": site,
        "growing": np.where(growing, "yes", "no"),
    }
    for name, (right, asked) in skill.items():
        answer = np.where(rng.random(n) < right, malign, 1 - malign)
        table[name] = np.where(rng.random(n) < asked, CLASSES[answer], "")
    return pd.DataFrame({**table, "truth": CLASSES[malign]})


def main(folder: Path) -> None:
    """Write both files."""
    clinic(600, first=1, seed=1).to_csv(folder / "clinic.csv", index=False)
    new = clinic(40, first=601, seed=2)
    new[["case", "patient", "age", "size_mm", "site", "growing"]].to_csv(folder / "clinic_new.csv", index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
