"""Cold start: a member is left out and joins with 0, 20, 50 or 200 scores."""

from typing import Any

import numpy as np

from benchmarks.pools.sets import PoolSet
from defero import ExpertPool

N_SCORES = (0, 20, 50, 200)


def run_cold_start(data: PoolSet, seed: int) -> list[dict[str, Any]]:
    """Return the quality of the pool, and the newcomer's calibration, for each member and number of scores."""
    train, test = data.split(seed)
    table, scores, rng = data.table, data.scores, np.random.default_rng(seed)
    names = list(data.expert_names)
    full = ExpertPool(text="question").fit(table.iloc[train], scores[train], expert_names=names)
    everybody = full.predict_expert_proba(table.iloc[test]), full.decide(table.iloc[test]).p_right
    lines = []
    for j, name in enumerate(names):
        others = [k for k in range(len(names)) if k != j]
        pool = ExpertPool(text="question").fit(
            table.iloc[train], scores[train][:, others], expert_names=[names[k] for k in others]
        )
        some = rng.permutation(train)
        for n in (*N_SCORES, len(train)):
            if n == len(train):
                expected, promised = everybody
            else:
                team, rows = pool.team_.copy(), some[:n]
                team.add_expert(name, table.iloc[rows] if n else None, scores[rows, j] if n else None)
                last = team.scores(table.iloc[test]).expert_proba
                expected = np.insert(last[:, :-1], j, last[:, -1], axis=1)
                promised = team.decide(table.iloc[test]).p_right
            assert promised is not None
            real = scores[test]
            chosen = expected.argmax(axis=1)
            lines.append(
                {
                    "study": "cold start",
                    "set": data.name,
                    "split": seed,
                    "member": name,
                    "n_scores": "all" if n == len(train) else n,
                    "quality": round(float(real[np.arange(len(real)), chosen].mean()), 5),
                    "squared_error": round(float(((expected[:, j] - real[:, j]) ** 2).mean()), 5),
                    "bias": round(float(expected[:, j].mean() - real[:, j].mean()), 5),
                    "promised": round(float(np.mean(promised)), 5),
                }
            )
    return lines
