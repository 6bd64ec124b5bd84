"""Tables for the pages: fifty readers of scans, some with long or odd names."""

import numpy as np
import pandas as pd

CLASSES = np.array(["a class with a rather long name", "benign", "malign"])
ODD = '<b>&"Bob" $x^2$'
LONG = "Dr. Maximiliane von und zu Hohenstein-Wittelsbach-Lichtenfels"


def fifty_readers(n=400):
    """Return a table of cases that half of fifty readers have answered, each; reader j knows class j mod 3."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(n, 3))
    truth = (features + rng.gumbel(size=(n, 3))).argmax(axis=1)
    columns = {f"f{i}": features[:, i].round(3) for i in range(3)}
    names = [ODD, LONG, *(f"reader {j:02d}" for j in range(2, 50))]
    for j, name in enumerate(names):
        right = rng.random(n) < np.where(truth == j % 3, 0.95, 0.6)
        said = np.where(right, truth, (truth + rng.integers(1, 3, n)) % 3)
        columns[name] = pd.Series(CLASSES[said], dtype=object).mask(rng.random(n) < 0.5)
    return pd.DataFrame({**columns, "truth": CLASSES[truth]}), names
