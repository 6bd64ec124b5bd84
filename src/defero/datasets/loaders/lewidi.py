"""Learning with Disagreements: tweets without a truth, each with the answers of five or six people."""

import json
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from defero.core.checks.options import one_of
from defero.core.errors import InputError
from defero.core.table import ExpertTable
from defero.data.answers.read_log import join_answers
from defero.datasets.catalog import described, find_dataset
from defero.datasets.files import member_path, require
from defero.datasets.storage.cache import data_folder
from defero.datasets.values import AgreementSet

Ties = Literal["source", "drop"]
_SPLITS = ("train", "dev", "test")


def lewidi_hs_brexit(*, folder: str | PathLike[str] | None = None, ties: Ties = "source") -> AgreementSet:
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
    return _load(folder, "HS-Brexit", ties=ties)


def lewidi_md_agreement(*, folder: str | PathLike[str] | None = None, ties: Ties = "source") -> AgreementSet:
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
    return _load(folder, "MD-Agreement", ties=ties)


def _load(folder: str | PathLike[str] | None, label: str, *, ties: Ties) -> AgreementSet:
    root = data_folder(folder)
    one_of("ties", ties, ("source", "drop"))
    if require(root, find_dataset(f"lewidi-{label.lower()}")) == "compact":
        items, answers = (
            pd.read_csv(root / "lewidi" / f"{label}_{kind}.csv.gz", keep_default_na=False)
            for kind in ("items", "annotations")
        )
    else:
        items, answers = _from_json(root / "lewidi", label)
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


def _from_json(home: Path, label: str) -> tuple[pd.DataFrame, pd.DataFrame]:
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


HS_BREXIT = described("lewidi-hs-brexit", lewidi_hs_brexit)
MD_AGREEMENT = described("lewidi-md-agreement", lewidi_md_agreement)
