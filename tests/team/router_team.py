"""A small team: 120 cases, two features, three experts with gaps."""

import numpy as np
import pandas as pd

from defero.core.table import ExpertTable


def small_table(classes=("benign", "malign"), *, seed=0):
    """Return 120 cases whose label follows the first feature; expert j is good where the second one is near j."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(120, 2))
    label_idx = (features[:, 0] + 0.7 * rng.normal(size=120) > 0).astype(int)
    right = rng.random((120, 3)) < np.stack([0.9 - 0.4 * (features[:, 1] > 0), np.full(120, 0.7), np.full(120, 0.8)], 1)
    answers = np.array(classes, dtype=object)[np.where(right, label_idx[:, None], 1 - label_idx[:, None])]
    answers[rng.random((120, 3)) < 0.2] = None
    frame = pd.DataFrame(answers, columns=["dr_a", "dr_b", "dr_c"])
    return ExpertTable(np.array(classes)[label_idx], frame, features=features)
