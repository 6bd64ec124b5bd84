"""The data of the benchmark: questions with the scores of several language models, and splits of them."""

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from defero.core.checks.arrays import FloatArray, IntArray
from defero.datasets import llm_routing_7, llm_routing_9

_MULTIPLE_CHOICE = ("arc", "mmlu", "cmmlu", "ceval")
_TOKEN = re.compile(r"\w+|[^\w\s]")
TEST_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class PoolSet:
    """Questions with scores (n, J), the members' names, and prices (n, J) where there are any."""

    name: str
    table: pd.DataFrame
    scores: FloatArray
    expert_names: tuple[str, ...]
    prices: FloatArray | None = None

    def split(self, seed: int, among: IntArray | None = None) -> tuple[IntArray, IntArray]:
        """Return the rows to learn from and those to test on, of all or of some; equal questions are on one side."""
        rows = np.arange(len(self.table)) if among is None else among
        question = self.table["question"].iloc[rows].str.lower().str.split().str.join(" ")
        _, group = np.unique(question.to_numpy(dtype=str), return_inverse=True)
        n_groups = int(group.max()) + 1
        test = np.random.default_rng(seed).permutation(n_groups)[: round(TEST_SHARE * n_groups)]
        out = np.isin(group, test)
        return rows[~out], rows[out]


@cache
def load(name: str) -> PoolSet:
    """Load a set: nine models with a price per input token, or seven models with right or wrong multiple choice."""
    if name == "llm_routing_9":
        data = llm_routing_9()
        table = data.features[["task", "question"]].reset_index(drop=True).astype(str)
        tokens = np.array([len(_TOKEN.findall(question)) for question in table["question"]], dtype=np.float64)
        assert data.prices is not None
        # US dollars per million questions: output tokens are not recorded, so that input tokens alone are priced.
        prices = np.outer(tokens, [data.prices[who][0] for who in data.expert_names])
        return PoolSet(name, table, data.scores, data.expert_names, prices)
    data = llm_routing_7()
    table = data.features[["task", "question"]].reset_index(drop=True).astype(str)
    choice = table["task"].str.startswith(_MULTIPLE_CHOICE).to_numpy()
    scores = np.where(choice[:, None], (data.scores > 0).astype(np.float64), data.scores)
    return PoolSet(name, table, scores, data.expert_names)


SETS = ("llm_routing_9", "llm_routing_7")
