"""Questions with the scores of several language models: whom to ask, where answers are judged but not recorded."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from defero.core.errors import InputError
from defero.datasets.catalog import find_dataset
from defero.datasets.files import located
from defero.datasets.folder import Folder
from defero.datasets.values import CorrectnessTable

_DESCRIBING = ("split", "task", "question")


def llm_routing_9(*, folder: Folder = None) -> CorrectnessTable:
    """Load 6,108 questions of 14 tasks with the scores of nine language models, and what their tokens cost.

    A score is 1 or 0, right or wrong, except on `commongen`, where it is the share of what was asked for. Features:
    split (5,608 train, 500 test), task, question. 119 questions come twice within their task.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    home, _ = located("llm-routing-9", folder)
    table = _from_frame(pd.read_parquet(home / "llmrouter9.parquet"))
    raw = json.loads((home / "prices_usd_per_million_tokens.json").read_text(encoding="utf-8"))
    prices = {
        name: (float(raw[name]["input_price"]), float(raw[name]["output_price"]))
        for name in table.expert_names
        if name in raw
    }
    return CorrectnessTable(table.scores, table.expert_names, table.features, prices)


def llm_routing_7(*, folder: Folder = None) -> CorrectnessTable:
    """Load 20,600 questions of 16 tasks with the scores of seven language models.

    What a score means depends on the task; the source does not say, and this is what the numbers show.
    `MATH_prealgebra`: 1 or 0. `gsm8k`, `humaneval`, `mbpp`, `javascript`: tenths, as of ten attempts. The multiple
    choice tasks (`arc`, `mmlu`, `cmmlu`, `ceval`): 0, or a number from about 0.25 to 1 like the probability of a right
    choice, so that above 0 means right. Features: task, question.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    home, compact = located("llm-routing-7", folder)
    if compact:
        return _from_frame(pd.read_parquet(home / "routerdc7.parquet"))
    paths = sorted(home.parent / file.path for file in find_dataset("llm-routing-7").of_form("source"))
    return _from_frame(pd.concat([_from_json(path) for path in paths], ignore_index=True))


def _from_json(path: Path) -> pd.DataFrame:
    """Read one task in the source's form: a list of {question, scores}."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and {"question", "scores"} <= set(row) for row in rows
    ):
        raise InputError(f"{path} must be a list of questions with their scores.")
    described = pd.DataFrame({"task": path.stem, "question": [row["question"] for row in rows]})
    return described.join(pd.DataFrame([row["scores"] for row in rows]))


def _from_frame(table: pd.DataFrame) -> CorrectnessTable:
    experts = tuple(str(name) for name in table if name not in _DESCRIBING)
    features = table[[name for name in _DESCRIBING if name in table]]
    return CorrectnessTable(table[list(experts)].to_numpy(dtype=np.float64), experts, features)
