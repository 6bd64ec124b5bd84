"""A pool of 20 and prompts of 384 numbers: decisions beside the bare product, and `route` from Parquet to Parquet.

    python -m benchmarks pool_speed

Both sides run in the same process, in turns, on one thread; the figure is the best of a few. The plain way to Parquet
reads the same columns in pieces of the same length, multiplies, takes the largest, and writes the same columns.
`DEFERO_POOL_ROWS` is the number of prompts, a million by default.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from defero import ExpertPool, Study, Terms, read_cases
from defero.data.tables.read import ROWS_AT_ONCE

N_PROMPTS, N_FEATURES, N_MEMBERS, N_LEARNED = 1_000_000, 384, 20, 3_000
REPEATS = {"memory": 5, "files": 2}
WORTH = 10.0
LEAST_SPEED, MOST_TIME = 0.6, 2.0
NAMES = [f"member_{j}" for j in range(N_MEMBERS)]
COLUMNS = [f"x{i}" for i in range(N_FEATURES)]
Floats = NDArray[np.float32]


def prompts(n: int, *, seed: int) -> Floats:
    """Draw embeddings of length about 1."""
    return np.random.default_rng(seed).standard_normal((n, N_FEATURES), dtype=np.float32) / np.float32(N_FEATURES**0.5)


def scores(features: Floats) -> pd.DataFrame:
    """Draw right or wrong: each member has a direction in which it is better."""
    rng = np.random.default_rng(0)
    chance = 0.6 + features @ rng.normal(size=(N_FEATURES, N_MEMBERS)).astype(np.float32) * 0.2
    return pd.DataFrame((rng.random(chance.shape) < chance).astype(float), columns=NAMES)


def best(ways: dict[str, Callable[[], Any]], *, repeats: int) -> dict[str, float]:
    """Return the least CPU seconds of each way; they take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            began = time.process_time()
            way()
            seconds[name].append(time.process_time() - began)
    return {name: round(min(times), 3) for name, times in seconds.items()}


def plain_files(source: Path, target: Path, weights: Floats) -> None:
    """Read, multiply and write the columns that `route` writes."""
    start, writer = 1, None
    names = np.array(NAMES, dtype=object)
    for batch in pq.ParquetFile(source).iter_batches(ROWS_AT_ONCE, columns=COLUMNS, use_threads=False):
        features = np.column_stack([column.to_numpy() for column in batch.columns])
        product = features @ weights
        who = product.argmax(axis=1)
        cells: dict[str, Any] = {
            "row": np.arange(start, start + len(who)),
            "route": names[who],
            "score": product[np.arange(len(who)), who].astype(np.float64),
            "price": who.astype(np.float64),
            "reason": np.full(len(who), "the largest", dtype=object),
            **{f"score_{name}": product[:, j].astype(np.float64) for j, name in enumerate(NAMES)},
        }
        table = pa.table(cells)
        writer = writer or pq.ParquetWriter(target, table.schema)
        writer.write_table(table)
        start += len(who)
    assert writer is not None
    writer.close()


def in_memory(features: Floats, learned: Floats, prices: dict[str, float]) -> dict[str, float]:
    """Return CPU seconds of the decisions and of the bare product."""
    team = ExpertPool().fit(learned, scores(learned), prices=prices).team_
    weights = np.random.default_rng(1).normal(size=(N_FEATURES, N_MEMBERS)).astype(np.float32)
    terms = Terms(error_cost=WORTH)
    ways = {"product_cpu_s": lambda: features @ weights, "route_cpu_s": lambda: team.decide(features, terms=terms)}
    return best(ways, repeats=REPEATS["memory"])


def between_files(features: Floats, learned: Floats, prices: dict[str, float], folder: Path) -> dict[str, float]:
    """Return CPU seconds of `route` from Parquet to Parquet, and of the plain way."""
    table = pd.concat([pd.DataFrame(learned, columns=COLUMNS), scores(learned)], axis=1)
    study = Study(read_cases(table, expert_names=NAMES, scores=True))
    study.fit(terms=Terms(fees=prices, error_cost=WORTH))
    weights = np.random.default_rng(1).normal(size=(N_FEATURES, N_MEMBERS)).astype(np.float32)
    source = folder / "prompts.parquet"
    schema = pa.schema([(name, pa.float32()) for name in COLUMNS])
    with pq.ParquetWriter(source, schema) as writer:
        for start in range(0, len(features), ROWS_AT_ONCE):
            piece = features[start : start + ROWS_AT_ONCE]
            writer.write_table(pa.table({name: piece[:, i] for i, name in enumerate(COLUMNS)}))
    ways = {
        "plain_cpu_s": lambda: plain_files(source, folder / "plain.parquet", weights),
        "route_cpu_s": lambda: study.route(source, folder / "decisions.parquet"),
    }
    return best(ways, repeats=REPEATS["files"])


def run() -> dict[str, dict[str, float]]:
    """Return both figures beside their limits."""
    pa.set_cpu_count(1)
    n = int(os.environ.get("DEFERO_POOL_ROWS", N_PROMPTS))
    features, learned = prompts(n, seed=1), prompts(N_LEARNED, seed=0)
    prices = {name: 0.1 * (1 + j) for j, name in enumerate(NAMES)}
    memory = in_memory(features, learned, prices)
    with tempfile.TemporaryDirectory() as folder:
        files = between_files(features, learned, prices, Path(folder))
    speed = round(memory["product_cpu_s"] / memory["route_cpu_s"], 3)
    ratio = round(files["route_cpu_s"] / files["plain_cpu_s"], 3)
    size = {"prompts": n, "numbers": N_FEATURES, "members": N_MEMBERS}
    return {
        "in memory": {
            **size,
            **memory,
            "best_of": REPEATS["memory"],
            "speed": speed,
            "least": LEAST_SPEED,
            "within": float(speed >= LEAST_SPEED),
        },
        "Parquet to Parquet": {
            **size,
            **files,
            "best_of": REPEATS["files"],
            "ratio": ratio,
            "most": MOST_TIME,
            "within": float(ratio <= MOST_TIME),
        },
    }
