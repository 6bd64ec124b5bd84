"""Texts answered by a crowd, with the truth: film review sentences, and toxic posts."""

from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from defero.core.checks.options import one_of
from defero.core.errors import Argument, InputError
from defero.core.table import ExpertTable
from defero.data.answers.read_log import join_answers
from defero.datasets.catalog import Dataset, described
from defero.datasets.files import member_path, require
from defero.datasets.storage.cache import data_folder

Features = Literal["text", "minilm"]


def sentiment_polarity_crowd(
    *,
    folder: str | PathLike[str] | None = None,
    part: Literal["train", "test", "all"] = "train",
    features: Features = "text",
) -> ExpertTable:
    """Load film review sentences, 0 negative or 1 positive, with the answers of 203 people.

    Only the 4,999 sentences of the training part were answered, by 5.6 people each.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    part : "train", "test" or "all"
        The source's form has the training part alone.
    features : "text" or "minilm"
        A DataFrame with the sentences, or their MiniLM embeddings, (n, 384) float32 (in our form alone).
    """
    root = data_folder(folder)
    one_of("part", part, ("train", "test", "all"))
    home = root / "sentiment_polarity_crowd"
    if require(root, SENTIMENT) == "source":
        if part != "train":
            raise InputError(
                ": the source's form of sentiment-polarity-crowd has the training part alone.", argument="part"
            )
        items, answers = _mturk(home)
    else:
        items, answers = _items_and_answers(home)
    table = _table(home, items, answers, features=features)
    return table if part == "all" else table.take(np.flatnonzero(items["split"] == part))


def keswani_toxicity(*, folder: str | PathLike[str] | None = None, features: Features = "text") -> ExpertTable:
    """Load 1,471 posts, 0 fine or 1 toxic, with the answers of 170 people, 8.4 on each post.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    features : "text" or "minilm"
        A DataFrame with the text and the dialect (0 or 1, as the source has it), or MiniLM embeddings, (n, 384) float32
        (in our form alone).
    """
    root = data_folder(folder)
    home = root / "keswani_toxicity"
    if require(root, KESWANI) == "compact":
        items, answers = _items_and_answers(home)
    else:
        items, answers = _all_results(home / "all_results.csv")
    return _table(home, items, answers, features=features)


def _table(home: Path, items: pd.DataFrame, answers: pd.DataFrame, *, features: Features) -> ExpertTable:
    log = join_answers(items, answers, key="item", item="item", annotator="annotator", answer="label")
    described = items.drop(columns=["item", "gold", "split"], errors="ignore")
    return ExpertTable(
        items["gold"].to_numpy(dtype=np.int64),
        log,
        features=described if features == "text" else _embeddings(home, features, n_items=len(items)),
        expert_names=[f"annotator_{name}" if name.isdigit() else name for name in log.expert_names],
    )


def _embeddings(home: Path, features: str, *, n_items: int) -> object:
    path = home / "minilm.npy"
    one_of("features", features, ("text", "minilm"))
    if not path.is_file():
        raise InputError(
            f"{path} is missing: only our form of the data has embeddings; pass ", Argument("features", "text"), "."
        )
    vectors = np.load(path, allow_pickle=False).astype(np.float32)
    if len(vectors) != n_items:
        raise InputError(f"{path} must have one row per item, {n_items}, got {len(vectors)}.")
    return vectors


def _items_and_answers(home: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read our form: items.csv.gz and annotations.csv.gz. Only blank cells could be missing, and there are none."""
    items, answers = (pd.read_csv(home / f"{name}.csv.gz", keep_default_na=False) for name in ("items", "annotations"))
    return items, answers


def _mturk(home: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the source's list of answers, one row each with the sentence and the truth in it."""
    path = member_path(home, str(SENTIMENT.of_form("source")[0].members[0]))
    raw = _columns(
        path,
        ["WorkerId", "Input.id", "Input.original_sentence", "Input.true_sent", "Answer.sent"],
        SENTIMENT,
    )
    raw.columns = pd.Index(["annotator", "item", "text", "gold", "label"])
    codes = {"neg": 0, "pos": 1}
    # Any other answer stays as it is and raises later; as a blank it would be dropped.
    raw = raw.assign(gold=raw["gold"].map(codes), label=raw["label"].map(lambda answer: codes.get(answer, answer)))
    items = raw.drop_duplicates("item")[["item", "text", "gold"]].assign(split="train").reset_index(drop=True)
    return items, raw


def _all_results(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the source's wide table: one column per person, `-` where they were not asked."""
    raw = _columns(path, ["Tweet", "True Label", "Dialect"], KESWANI, others="Expert ")
    items = raw.iloc[:, :3].set_axis(["text", "gold", "dialect"], axis=1).assign(item=np.arange(len(raw)))
    long = raw.iloc[:, 3:].assign(item=items["item"]).melt("item", var_name="annotator", value_name="label")
    answered = long[long["label"].astype(str) != "-"]
    return items.astype({"gold": int, "dialect": int}), answered.assign(label=answered["label"].astype(int))


def _columns(path: Path | None, names: list[str], entry: Dataset, *, others: str | None = None) -> pd.DataFrame:
    raw = pd.read_csv(str(path), keep_default_na=False, dtype=str)
    missing = [name for name in names if name not in raw]
    if missing:
        raise InputError(f"{path} must have the columns {', '.join(names)} of {entry.name}; {missing[0]} is missing.")
    return raw[[*names, *(name for name in raw if others and str(name).startswith(others))]]


SENTIMENT = described("sentiment-polarity-crowd", sentiment_polarity_crowd)

KESWANI = described("keswani-toxicity", keswani_toxicity)
