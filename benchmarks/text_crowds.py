"""Two crowds that read texts: what the model gets from TF-IDF alone, and what the team adds. Needs DEFERO_DATA.

The figures are accuracies in per cent on held-out rows, mean and standard deviation of five splits (seeds 0 to 4):
half of the rows to learn from, 15 % to calibrate, 15 % not used here, 20 % to judge.
"""

import time
from typing import Literal

import numpy as np
import pandas as pd

from defero import DeferralClassifier, ExpertTable, InputError
from defero.datasets import load_dataset
from defero.team import judge

SETS = ("sentiment-polarity-crowd", "keswani-toxicity")
NETS: tuple[Literal["mlp", "linear"], ...] = ("mlp", "linear")
SEEDS = range(5)


def run() -> dict[str, object]:
    figures: dict[str, object] = {}
    for name in SETS:
        try:
            table = load_dataset(name)
        except InputError as error:
            figures[name] = f"not measured: {error}"
            continue
        assert isinstance(table, ExpertTable)
        for net in NETS:
            figures[f"{name}, {net}"] = _measured(table, net)
    return figures


def _measured(table: ExpertTable, net: Literal["mlp", "linear"]) -> dict[str, object]:
    models, teams, started = [], [], time.process_time()
    for seed in SEEDS:
        train, held, _, test = table.split(0.5, 0.15, 0.15, 0.2, random_state=seed)
        team = DeferralClassifier(net, loss="auto", text=_texts(table.features), random_state=seed)
        team.fit(train.features, train.labels, experts=train.answers)
        team.calibrate(held.features, held.labels, experts=held.answers)
        record = judge(team.team_, test.features, test.labels, test.answers, disjoint=True)
        models.append(100 * record.model.value)
        teams.append(100 * record.team.value)
    gains = np.subtract(teams, models)
    return {
        **{what: _mean_sd(each) for what, each in (("model", models), ("team", teams), ("gain", gains.tolist()))},
        "gain of each split": [round(float(gain), 1) for gain in gains],
        "CPU seconds a split": round((time.process_time() - started) / len(SEEDS), 1),
    }


def _texts(features: pd.DataFrame) -> list[str]:
    return [name for name in features.columns if name == "text"]


def _mean_sd(values: list[float]) -> str:
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"
