"""Sets of people, networks and paid programs, read from the folder DEFERO_DATA."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import logit
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.law.answered import MISSING, Answered
from defero.core.checks.arrays import FloatArray, IntArray

FINDINGS = ("Cardiomegaly", "Edema", "Consolidation", "Atelectasis", "Pleural Effusion")
FILM_READERS = ("bc4", "bc6", "bc8")
NETWORKS = ("Chambon_et_Al", "DeepSleepNet", "MixedNeuralNetwork", "SeqSleepNet", "SimpleNet", "Tsinalis_et_Al")
ECG_READERS = ("cardiology_residents", "emergency_residents", "medical_students")
"""Two cardiologists took part in the truth: they are not judged."""


def folder(name: str) -> Path:
    """Return where a set lies."""
    return Path(os.environ["DEFERO_DATA"]) / name


def items_and_answers(name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the items that somebody answered, and the answers one by one."""
    items, answers = (pd.read_csv(folder(name) / f"{part}.csv.gz") for part in ("items", "annotations"))
    return items[items["item"].isin(answers["item"])].reset_index(drop=True), answers


def table_of(items: pd.DataFrame, answers: pd.DataFrame) -> IntArray:
    """Return what each member said of each item, (n, J), -1 where nothing."""
    wide = answers.pivot_table(index="item", columns="annotator", values="label", aggfunc="first")
    table: IntArray = wide.reindex(items["item"]).fillna(MISSING).to_numpy(dtype=np.int64)
    return table


def embedded(name: str) -> Answered:
    """Read texts of which there are embeddings; features are their 40 main directions."""
    items, answers = items_and_answers(name)
    every = pd.read_csv(folder(name) / "items.csv.gz")["item"]
    vectors = np.load(folder(name) / "minilm.npy").astype(np.float64)[every.isin(items["item"]).to_numpy()]
    features = PCA(40, random_state=0).fit_transform(vectors)
    return Answered(features, items["gold"].to_numpy(np.int64), table_of(items, answers))


def sentiment() -> Answered:
    """Film review sentences."""
    return embedded("sentiment_polarity_crowd")


def toxicity() -> Answered:
    """Toxic posts and others."""
    return embedded("keswani_toxicity")


def entailment() -> Answered:
    """Pairs of a text and a hypothesis."""
    items, answers = items_and_answers("rte_text")
    words = TfidfVectorizer(min_df=2).fit_transform(items["text"] + " " + items["hypothesis"])
    features = TruncatedSVD(10, random_state=0).fit_transform(words)
    return Answered(features, items["gold"].to_numpy(np.int64), table_of(items, answers))


def electrocardiograms() -> Answered:
    """Electrocardiograms with any of six findings or none."""
    items, answers = items_and_answers("ecg_readers")
    network = items.filter(like="dnn_").to_numpy(np.float64).clip(1e-7, 1 - 1e-7)
    age = items["age"].fillna(items["age"].median())
    features = np.column_stack([logit(network), age, items["sex"] == "M"]).astype(np.float64)
    answers = answers[answers["annotator"].isin(ECG_READERS)]
    return Answered(features, items["gold"].to_numpy(np.int64), table_of(items, answers))


def sleep() -> Answered:
    """Half minutes of sleep: two scorers and six networks; features are the networks' stages before and after."""
    items, answers = items_and_answers("sleep_dodh")
    around = items[[f"{name}_{when}" for name in NETWORKS for when in ("before", "after")]]
    features = pd.get_dummies(around.astype(str)).to_numpy(np.float64)
    members = np.column_stack([table_of(items, answers), items[list(NETWORKS)].to_numpy(np.int64)])
    return Answered(features, items["gold"].to_numpy(np.int64), members, items["night"].to_numpy(np.int64))


def chest_films() -> Answered:
    """Five findings of 500 chest films: three radiologists and eight networks; the truth is of five others."""
    home = folder("chexpert_test_readers")
    truth = pd.read_csv(home / "groundtruth.csv").set_index("Study")
    names = sorted(path.name for path in home.glob("*decisions.csv"))
    names = [f"radiologists__benchmark_radiologists__{reader}.csv" for reader in FILM_READERS] + names
    readers = [pd.read_csv(home / name).set_index("Study").reindex(truth.index) for name in names]
    scores = [
        pd.read_csv(path).set_index("Study").reindex(truth.index) for path in sorted(home.glob("*predictions.csv"))
    ]
    blocks = []
    for place, finding in enumerate(FINDINGS):
        which = np.tile(np.arange(len(FINDINGS)) == place, (len(truth), 1))
        features = np.column_stack([*(score[finding] for score in scores), which]).astype(np.float64)
        answers = np.column_stack([reader[finding] for reader in readers]).astype(np.int64)
        blocks.append((features, truth[finding].to_numpy(np.int64), answers, np.arange(len(truth))))
    features, labels, answers, films = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return Answered(features, labels, answers, films)


def scenes() -> Answered:
    """Pictures of eight kinds of scenes; features are the 30 main directions of a network's."""
    data = np.load(folder("labelme_crowd") / "labelme.npz")
    features: FloatArray = PCA(30, random_state=0).fit_transform(np.log1p(data["x_train"].astype(np.float64)))
    return Answered(features, data["y_train"].astype(np.int64), data["answers"].astype(np.int64))


def priced(name: str) -> Answered:
    """Texts answered by paid programs; features are the label and the confidence of a free one."""
    items, answers = items_and_answers(name)
    features = np.column_stack([pd.get_dummies(items["base_label"].astype(str)), items["base_confidence"]])
    return Answered(features.astype(np.float64), items["gold"].to_numpy(np.int64), table_of(items, answers))


def meals() -> Answered:
    """Reviews of meals, in Chinese."""
    return priced("frugal_waimai")


def restaurants() -> Answered:
    """Reviews of restaurants."""
    return priced("frugal_yelp")
