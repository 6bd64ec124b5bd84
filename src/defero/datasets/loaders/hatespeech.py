"""Tweets with the votes of three to nine people on each: hate speech, offensive language, or neither."""

import gzip
import io
from os import PathLike
from typing import Literal

import numpy as np
import pandas as pd

from defero.core.checks.options import one_of
from defero.core.errors import InputError
from defero.datasets.catalog import described
from defero.datasets.files import require
from defero.datasets.storage.cache import data_folder
from defero.datasets.values import VoteSet

CLASSES = ("hate_speech", "offensive_language", "neither")
_HEADER = ["", "count", *CLASSES, "class", "tweet"]


def hatespeech(*, folder: str | PathLike[str] | None = None, rows: Literal["all", "as_published"] = "all") -> VoteSet:
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
    root = data_folder(folder)
    one_of("rows", rows, ("all", "as_published"))
    if require(root, HATESPEECH) == "compact":
        raw = gzip.decompress((root / "hatespeech" / "labeled_data.csv.gz").read_bytes())
    else:
        raw = (root / "hatespeech" / "labeled_data.csv").read_bytes()
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
        votes=table[list(CLASSES)].to_numpy(dtype=np.int64),
        classes=CLASSES,
        features=pd.DataFrame({"text": table["tweet"].astype(str)}),
    )


HATESPEECH = described("hatespeech", hatespeech)
