"""Questions with the scores of several language models: whom to ask, where answers are judged but not recorded."""

import json
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from defero.core.errors import InputError
from defero.datasets.catalog import DataFile, Dataset, register_dataset
from defero.datasets.files import require
from defero.datasets.storage.cache import data_folder
from defero.datasets.values import CorrectnessTable

_DESCRIBING = ("split", "task", "question")


def llm_routing_9(*, folder: str | PathLike[str] | None = None) -> CorrectnessTable:
    """Load 6,108 questions of 14 tasks with the scores of nine language models, and what their tokens cost.

    A score is 1 or 0, right or wrong, except on `commongen`, where it is the share of what was asked for. Features:
    split (5,608 train, 500 test), task, question. 119 questions come twice within their task.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    root = data_folder(folder)
    require(root, LLM_ROUTING_9)
    home = root / "llm_routing_9"
    table = _from_frame(pd.read_parquet(home / "llmrouter9.parquet"))
    raw = json.loads((home / "prices_usd_per_million_tokens.json").read_text(encoding="utf-8"))
    prices = {
        name: (float(raw[name]["input_price"]), float(raw[name]["output_price"]))
        for name in table.expert_names
        if name in raw
    }
    return CorrectnessTable(table.scores, table.expert_names, table.features, prices)


def llm_routing_7(*, folder: str | PathLike[str] | None = None) -> CorrectnessTable:
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
    root = data_folder(folder)
    home = root / "llm_routing_7"
    if require(root, LLM_ROUTING_7) == "compact":
        return _from_frame(pd.read_parquet(home / "routerdc7.parquet"))
    names = sorted(path.split("/")[1] for path in ROUTERDC_FILES)
    return _from_frame(pd.concat([_from_json(home / name) for name in names], ignore_index=True))


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


LLM_ROUTING_9 = Dataset(
    name="llm-routing-9",
    title="LLMRouter's routing data",
    what="6,108 questions of 14 tasks with the scores of 9 language models, and prices per token",
    licence="MIT",
    citation="LLMRouter, University of Illinois Urbana-Champaign, github.com/ulab-uiuc/LLMRouter.",
    homepage="https://github.com/ulab-uiuc/LLMRouter",
    files=(
        DataFile(
            "llm_routing_9/llmrouter9.parquet",
            "compact",
            "35bb23fb7a0f31ef0dfeb1ee4d92374f4379bbf6f3df660e627d15befc501f2e",
        ),
        DataFile(
            "llm_routing_9/prices_usd_per_million_tokens.json",
            "compact",
            "282bfa748b0b3a3bf83dfea4a5c513d61bed0723e137535d29b46bf455066a61",
        ),
    ),
    load=llm_routing_9,
    by_hand="llmrouter9.parquet (split, task, question, one column of scores per model) and "
    "prices_usd_per_million_tokens.json into llm_routing_9/",
    labels="scores",
)
register_dataset(LLM_ROUTING_9)

_ROUTERDC = "https://raw.githubusercontent.com/shuhao02/RouterDC/dadb87299f65fb8f1c1dddc30967a3907d0132dd/datasets"
ROUTERDC_FILES = (
    *(
        f"split2_model7/{task}.json"
        for task in (
            "MATH_prealgebra",
            "arc_challenge_test",
            "arc_challenge_train",
            "arc_easy_test",
            "arc_easy_train",
            "ceval",
            "cmmlu_test",
            "gsm8k-test",
            "gsm8k-train",
            "humaneval_test",
            "humaneval_train",
            "javascript",
            "mbpp",
            "mmlu_test",
        )
    ),
    "split2_model7_cluster/cmmlu_train.json",
    "split2_model7_cluster/mmlu_train.json",
)

LLM_ROUTING_7 = Dataset(
    name="llm-routing-7",
    title="RouterDC's routing data",
    what="20,600 questions of 16 tasks with the scores of 7 language models",
    licence="none stated by the repository",
    citation="Chen, S., Jiang, W., Lin, B., Kwok, J., Zhang, Y. (2024). RouterDC. NeurIPS.",
    homepage="https://github.com/shuhao02/RouterDC",
    files=(
        DataFile(
            "llm_routing_7/routerdc7.parquet",
            "compact",
            "3a819f04b009e6afcce97a5448479d52e2775983334366e26d90f783f67c05ea",
        ),
        *(DataFile(f"llm_routing_7/{path.split('/')[1]}", url=f"{_ROUTERDC}/{path}") for path in ROUTERDC_FILES),
    ),
    load=llm_routing_7,
    by_hand="the json files of datasets/split2_model7, and cmmlu_train.json and mmlu_train.json of "
    "datasets/split2_model7_cluster, into llm_routing_7/",
    labels="scores",
)
register_dataset(LLM_ROUTING_7)
