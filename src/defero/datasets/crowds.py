"""Crowds who labelled the same items: tweets, sentences, posts and scenes; with the truth, or with a majority alone."""

import gzip
import io
import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from defero.core.checks.arrays import one_of
from defero.core.errors import Argument, InputError
from defero.core.table import ExpertTable
from defero.data.answers.read_log import join_answers
from defero.datasets.files import located, member_path
from defero.datasets.folder import Folder
from defero.datasets.values import AgreementSet, VoteSet

TWEET_CLASSES = ("hate_speech", "offensive_language", "neither")
_HEADER = ["", "count", *TWEET_CLASSES, "class", "tweet"]
_SPLITS = ("train", "dev", "test")
Features = Literal["text", "minilm"]
Ties = Literal["source", "drop"]


def hatespeech(*, folder: Folder = None, rows: Literal["all", "as_published"] = "all") -> VoteSet:
    """Load the tweets, how many people chose each class, and the label, which is the class with most votes.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    rows : "all" or "as_published"
        All 24,783 tweets, or the 20,499 that are left when the file is cut at its line breaks and commas without regard
        to quotes, as in the experiments of Verma, Barrejón and Nalisnick (2023): a tweet with a comma in its first line
        falls away, of a tweet of several lines the first remains (802 of them), and quotes are kept as in the file.
    """
    one_of("rows", rows, ("all", "as_published"))
    home, compact = located("hatespeech", folder)
    name = "labeled_data.csv.gz" if compact else "labeled_data.csv"
    raw = gzip.decompress((home / name).read_bytes()) if compact else (home / name).read_bytes()
    text = raw.decode("utf-8").replace("\r\n", "\n")
    if text.partition("\n")[0].split(",") != _HEADER:
        raise InputError(f"labeled_data.csv must begin with the columns {','.join(_HEADER)}.")
    if rows == "all":
        table = pd.read_csv(io.StringIO(text), keep_default_na=False)
    else:
        cut = [line.split(",", 7) for line in text.split("\n")[1:]]
        table = pd.DataFrame([cells for cells in cut if len(cells) == 7], columns=pd.Index(_HEADER))
    return VoteSet(
        labels=table["class"].to_numpy(dtype=np.int64),
        votes=table[list(TWEET_CLASSES)].to_numpy(dtype=np.int64),
        classes=TWEET_CLASSES,
        features=pd.DataFrame({"text": table["tweet"].astype(str)}),
    )


def labelme_crowd(*, folder: Folder = None, part: Literal["train", "valid", "test"] = "train") -> ExpertTable:
    """Load scenes of 8 classes with the answers of 59 people.

    Only the 1,000 pictures of the training part were answered, by 2.5 people each. Features are 512 numbers of a
    VGG network in our form, and whatever the source prepared, flattened, in its own.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    part : "train", "valid" or "test"
        Of 1,000, 500 and 1,188 pictures.
    """
    one_of("part", part, ("train", "valid", "test"))
    home, compact = located("labelme-crowd", folder)
    if compact:
        with np.load(home / "labelme.npz") as arrays:
            features, labels, answers = arrays[f"x_{part}"], arrays[f"y_{part}"], arrays["answers"]
    else:
        features, labels = _prepared(home, f"data_{part}_vgg16"), _prepared(home, f"labels_{part}")
        answers = _prepared(home, "answers")
        answers = answers[:, (answers >= 0).any(axis=0)]  # 18 of the 77 columns answered nothing
        features = features.reshape(len(features), -1)
    n_experts = answers.shape[1]
    return ExpertTable(
        labels.astype(np.int64),
        answers.astype(np.int64) if part == "train" else np.full((len(labels), n_experts), -1),
        features=features,
        classes=np.arange(8),
        expert_names=[f"annotator_{j}" for j in range(n_experts)],
    )


def _prepared(home: Path, name: str) -> NDArray[Any]:
    return np.load(str(member_path(home, f"LabelMe/prepared/{name}.npy")), allow_pickle=False)


def lewidi_hs_brexit(*, folder: Folder = None, ties: Ties = "source") -> AgreementSet:
    """Load 1,120 tweets about Brexit, 0 or 1 for hate speech, each answered by the same six people.

    There is no truth: the label is what most of the six said. On 84 tweets the votes are even; the source then chose
    without a rule that could be seen (44 times hate speech), and `ties` says what happens to these.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    ties : "source" or "drop"
        Take the source's label where the votes are even, or leave such tweets out.
    """
    return _load_lewidi(folder, "HS-Brexit", ties=ties)


def lewidi_md_agreement(*, folder: Folder = None, ties: Ties = "source") -> AgreementSet:
    """Load 10,753 tweets, 0 or 1 for offensive, each answered by five of 819 people.

    There is no truth: the label is what most of the five said; votes are never even. One person is listed twice on one
    tweet, with the same answer, and counts once.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    ties : "source" or "drop"
        As in `lewidi_hs_brexit`.
    """
    return _load_lewidi(folder, "MD-Agreement", ties=ties)


def _load_lewidi(folder: Folder, label: str, *, ties: Ties) -> AgreementSet:
    one_of("ties", ties, ("source", "drop"))
    home, compact = located(f"lewidi-{label.lower()}", folder)
    items, answers = _items_and_answers(home, f"{label}_") if compact else _lewidi_json(home, label)
    share = answers.groupby("item")["label"].mean().reindex(items["item"]).to_numpy()
    tied = share == 0.5
    majority = items["majority"].to_numpy(dtype=np.int64)
    if ((share > 0.5) != (majority == 1))[~tied].any():
        raise InputError(f"{label}: a label is not the majority of its annotators; the files do not belong together.")
    log = join_answers(items, answers, key="item", item="item", annotator="annotator", answer="label")
    table = ExpertTable(majority, log, features=items[["text", "lang", "domain"]])
    split = items["split"].to_numpy(str)
    if ties == "source":
        return AgreementSet(table, tied, split)
    return AgreementSet(table.take(~tied), tied[~tied], split[~tied])


def _lewidi_json(home: Path, label: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the source's form: one json file per part, its items by number, answers and names joined by commas."""
    items: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    for split in _SPLITS:
        path = Path(str(member_path(home, f"{label}_dataset/{label}_{split}.json")))
        for key, raw in json.loads(path.read_text(encoding="utf-8")).items():
            item = f"{split}-{key}"
            people, labels = raw["annotators"].split(","), raw["annotations"].split(",")
            if len(people) != len(labels):
                raise InputError(f"{path}: item {key} has {len(people)} annotators and {len(labels)} annotations.")
            answers += [
                {"item": item, "annotator": person, "label": int(one)}
                for person, one in zip(people, labels, strict=True)
            ]
            extra = raw.get("other_info") or {}
            items.append(
                {
                    "item": item,
                    "split": split,
                    "text": raw["text"],
                    "majority": _hard_label(raw["hard_label"], labels),
                    "lang": raw.get("lang", ""),
                    "domain": extra.get("domain", "") if isinstance(extra, dict) else "",
                }
            )
    return pd.DataFrame(items), pd.DataFrame(answers)


def _hard_label(hard_label: object, labels: list[str]) -> int:
    """Return the source's label; where it has none (hidden test labels), the majority."""
    return int(str(hard_label)) if str(hard_label) in {"0", "1"} else int(2 * sum(map(int, labels)) > len(labels))


def sentiment_polarity_crowd(
    *,
    folder: Folder = None,
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
    one_of("part", part, ("train", "test", "all"))
    home, compact = located("sentiment-polarity-crowd", folder)
    if not compact and part != "train":
        raise InputError(
            ": the source's form of sentiment-polarity-crowd has the training part alone.", argument="part"
        )
    items, answers = _items_and_answers(home) if compact else _mturk(home)
    table = _table(home, items, answers, features=features)
    return table if part == "all" else table.take(np.flatnonzero(items["split"] == part))


def keswani_toxicity(*, folder: Folder = None, features: Features = "text") -> ExpertTable:
    """Load 1,471 posts, 0 fine or 1 toxic, with the answers of 170 people, 8.4 on each post.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    features : "text" or "minilm"
        A DataFrame with the text and the dialect (0 or 1, as the source has it), or MiniLM embeddings, (n, 384) float32
        (in our form alone).
    """
    home, compact = located("keswani-toxicity", folder)
    items, answers = _items_and_answers(home) if compact else _all_results(home / "all_results.csv")
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
            f"{path} is missing: only our form of the data has embeddings; pass {Argument('features', 'text')}."
        )
    vectors = np.load(path, allow_pickle=False).astype(np.float32)
    if len(vectors) != n_items:
        raise InputError(f"{path} must have one row per item, {n_items}, got {len(vectors)}.")
    return vectors


def _items_and_answers(home: Path, prefix: str = "") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read our form: items.csv.gz and annotations.csv.gz. Only blank cells could be missing, and there are none."""
    read = [pd.read_csv(home / f"{prefix}{name}.csv.gz", keep_default_na=False) for name in ("items", "annotations")]
    return read[0], read[1]


def _mturk(home: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the source's list of answers, one row each with the sentence and the truth in it."""
    names = ["WorkerId", "Input.id", "Input.original_sentence", "Input.true_sent", "Answer.sent"]
    raw = _columns(member_path(home, "sentiment_polarity/mturk_answers.csv"), names, of="sentiment-polarity-crowd")
    raw.columns = pd.Index(["annotator", "item", "text", "gold", "label"])
    codes = {"neg": 0, "pos": 1}
    # Any other answer stays as it is and raises later; as a blank it would be dropped.
    raw = raw.assign(gold=raw["gold"].map(codes), label=raw["label"].map(lambda answer: codes.get(answer, answer)))
    items = raw.drop_duplicates("item")[["item", "text", "gold"]].assign(split="train").reset_index(drop=True)
    return items, raw


def _all_results(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the source's wide table: one column per person, `-` where they were not asked."""
    raw = _columns(path, ["Tweet", "True Label", "Dialect"], of="keswani-toxicity", others="Expert ")
    items = raw.iloc[:, :3].set_axis(["text", "gold", "dialect"], axis=1).assign(item=np.arange(len(raw)))
    long = raw.iloc[:, 3:].assign(item=items["item"]).melt("item", var_name="annotator", value_name="label")
    answered = long[long["label"].astype(str) != "-"]
    return items.astype({"gold": int, "dialect": int}), answered.assign(label=answered["label"].astype(int))


def _columns(path: Path | None, names: list[str], *, of: str, others: str | None = None) -> pd.DataFrame:
    raw = pd.read_csv(str(path), keep_default_na=False, dtype=str)
    missing = [name for name in names if name not in raw]
    if missing:
        raise InputError(f"{path} must have the columns {', '.join(names)} of {of}; {missing[0]} is missing.")
    return raw[[*names, *(name for name in raw if others and str(name).startswith(others))]]
