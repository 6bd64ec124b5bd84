"""Ten million cases of 32 numbers, answered by 20 experts, from Parquet: routed and judged.

    python -m benchmarks.large_files [--rows 10000000]

A linear team is fitted on 20,000 cases. Every command runs in a process of its own: wall seconds, CPU seconds and the
largest resident memory are those of that process, its start included. Memory must not grow from a tenth of the rows to
all of them. What `Team.decide` and `route` cost is set beside a plain read, product and write of the same columns, in
CPU seconds of one process, the best of five turns of each. The write is that of pyarrow by default, and, faster, with
dictionaries for texts alone. About 5 GB of disk are needed.
"""

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.million_rows import measured
from benchmarks.ratios.timing import seconds
from defero import Study, Team
from defero.data.model_folder import library_versions
from defero.data.tables.read import ROWS_AT_ONCE, read_chunks

N_CASES, N_FEATURES, N_CLASSES, N_EXPERTS, N_LEARNED = 10_000_000, 32, 3, 20, 20_000
AT_ONCE, ANSWERED, TURNS = 250_000, 0.7, 5
FEATURES = [f"x{i}" for i in range(N_FEATURES)]
EXPERTS = [f"expert_{j}" for j in range(N_EXPERTS)]


def piece_of(n_cases: int, seed: int) -> pa.Table:
    """Draw cases: labels from a linear model, each expert best at one class, and not asked in some cases."""
    rng, names = np.random.default_rng(seed), pa.array(["a", "b", "c"])
    weights = np.random.default_rng(0).normal(size=(N_FEATURES, N_CLASSES)).astype(np.float32) * 0.6
    features = rng.normal(size=(n_cases, N_FEATURES)).astype(np.float32)
    label = (features @ weights + rng.gumbel(size=(n_cases, N_CLASSES)).astype(np.float32)).argmax(axis=1)
    columns: dict[str, Any] = {name: features[:, i] for i, name in enumerate(FEATURES)}
    for j, name in enumerate(EXPERTS):
        right = rng.random(n_cases) < np.where(label == j % N_CLASSES, 0.9, 0.6)
        code = np.where(right, label, (label + rng.integers(1, N_CLASSES, n_cases)) % N_CLASSES).astype(np.int32)
        answers = pa.array(code, mask=rng.random(n_cases) >= ANSWERED)
        columns[name] = pa.DictionaryArray.from_arrays(answers, names).cast(pa.string())
    labels = pa.DictionaryArray.from_arrays(pa.array(label.astype(np.int32)), names)
    return pa.table({**columns, "truth": labels.cast(pa.string())})


def write_cases(path: Path, n_cases: int) -> None:
    """Write cases in row groups."""
    schema = piece_of(1, 1).schema
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, n_cases, AT_ONCE):
            file.write_table(piece_of(min(AT_ONCE, n_cases - start), start + 1))


def run(n_cases: int = N_CASES, folder: Path | None = None) -> dict[str, Any]:
    """Return the figures; files go to a temporary folder, which is deleted."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        here = Path(name)
        sizes = {"tenth": n_cases // 10, "all": n_cases}
        write_cases(here / "learned.parquet", N_LEARNED)
        experts = ",".join(EXPERTS)
        fit = ["fit", "learned.parquet", "--label", "truth", "--experts", experts, "--net", "linear", "--out", "model"]
        figures: dict[str, Any] = {f"fit, {N_LEARNED:,} rows": measured(fit, here)}
        for size, rows in sizes.items():
            write_cases(here / f"{size}.parquet", rows)
            for command in ("route", "evaluate"):
                out = ["--out", f"decisions_{size}.parquet"] if command == "route" else []
                figures[f"{command}, {rows:,} rows"] = measured([command, "model", f"{size}.parquet", *out], here)
                print(command, rows, figures[f"{command}, {rows:,} rows"], flush=True)
        figures["beside a plain program"] = plain_ratios(here)
        print(figures["beside a plain program"], flush=True)
    return figures


def plain_ratios(here: Path) -> dict[str, float]:
    """Return the CPU seconds of a plain read, product and write of a tenth of the rows, and what we need for them."""
    source, team, study = here / "tenth.parquet", Team.load(here / "model"), Study.load(here / "model")
    weights = np.random.default_rng(0).normal(size=(N_FEATURES, N_CLASSES + N_EXPERTS))
    decisions = pq.ParquetFile(here / "decisions_tenth.parquet")
    groups = [decisions.read_row_group(group) for group in range(decisions.num_row_groups)]
    texts = [one.name for one in decisions.schema_arrow if not pa.types.is_floating(one.type)]
    turns = []
    for _ in range(TURNS):
        turn = _one_turn(source, team, weights)
        turn["write_s"] = seconds(lambda: _write_plainly(here / "plain.parquet", groups, use_dictionary=True))
        turn["write_of_texts_as_dictionaries_s"] = seconds(
            lambda: _write_plainly(here / "plain.parquet", groups, use_dictionary=texts)
        )
        turn["route_s"] = seconds(lambda: study.route(source, here / "again.parquet"))
        turns.append(turn)
    best = {name: min(turn[name] for turn in turns) for name in turns[0]}
    read_product = best["read_s"] + best["product_s"]
    return {
        **{name: round(value, 3) for name, value in best.items()},
        "decide_share_of_plain": round(read_product / best["decide_s"], 3),
        "route_over_plain": round(best["route_s"] / (read_product + best["write_s"]), 2),
        "route_over_fastest_plain": round(
            best["route_s"] / (read_product + best["write_of_texts_as_dictionaries_s"]), 2
        ),
    }


def _write_plainly(path: Path, groups: list[pa.Table], *, use_dictionary: Any) -> None:
    with pq.ParquetWriter(path, groups[0].schema, use_dictionary=use_dictionary) as file:
        for group in groups:
            file.write_table(group)


def _one_turn(source: Path, team: Team, weights: Any) -> dict[str, float]:
    """Return the CPU seconds of a read, of products, and of a read with decisions; the best of some turns counts."""
    turn = {"read_s": 0.0, "product_s": 0.0}
    for batch in _timed(turn, "read_s", _matrices(source)):
        began = time.process_time()
        batch @ weights
        turn["product_s"] += time.process_time() - began
    began = time.process_time()
    for frame in read_chunks(source, columns=FEATURES):
        team.decide(frame)
    return {**turn, "decide_s": time.process_time() - began}


def _matrices(source: Path) -> Any:
    for batch in pq.ParquetFile(source).iter_batches(ROWS_AT_ONCE, columns=FEATURES):
        yield np.column_stack([batch.column(name).to_numpy() for name in FEATURES]).astype(np.float64)


def _timed(figures: dict[str, float], name: str, values: Any) -> Any:
    """Yield values and count the CPU seconds that it takes to make them."""
    while True:
        began = time.process_time()
        value = next(values, None)
        figures[name] += time.process_time() - began
        if value is None:
            return
        yield value


def main() -> None:
    """Measure, print the figures, and keep them in benchmarks/results/."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=N_CASES)
    parser.add_argument("--folder", type=Path, default=None)
    given = parser.parse_args()
    figures = run(given.rows, given.folder)
    facts = {
        "command": f"OMP_NUM_THREADS=1 python -m benchmarks.large_files --rows {given.rows}",
        "unit": "wall_s, cpu_s: seconds of the process; peak_mb: its largest resident memory, in 1e6 bytes; one run",
        "cases": f"{given.rows:,} rows and a tenth of them, {N_FEATURES} numbers, {N_EXPERTS} experts, {N_CLASSES} "
        "classes, linear team with panels, Parquet to Parquet",
        "wanted": "route of 10,000,000 rows in 180 s on two cores; at most 1,500 MB, as much for a tenth of the rows; "
        "decide at 0.6 of a plain read and product; route in twice a plain read, product and write",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load average {os.getloadavg()[2]:.0f} at the end",
        "versions": library_versions(),
        "figures": figures,
    }
    (Path(__file__).parent / "results" / "large_files.json").write_text(json.dumps(facts, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
