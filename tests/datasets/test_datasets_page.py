"""The page on data sets: it names every one of them, its example runs, and its percentages are the data's."""

import os
import re
from pathlib import Path

import pytest

from defero.datasets import (
    DATASETS,
    cifar10h,
    cifar10n,
    hatespeech,
    keswani_toxicity,
    labelme_crowd,
    recidivism_people,
)

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "datasets.md").read_text(encoding="utf-8")
needs_data = pytest.mark.skipif(not os.environ.get("DEFERO_DATA"), reason="DEFERO_DATA names no folder with the data")


def test_every_data_set_is_in_the_table():
    rows = re.findall(
        r"^\| `([\w-]+)` \|.*\|.*\|.*\|$", PAGE.partition("## What is said about the labels")[0], re.MULTILINE
    )
    assert sorted(rows) == sorted({*DATASETS, "ham10000", "galaxyzoo", "verma2023-outputs"})


@needs_data
def test_the_example_runs():
    space = {}
    exec(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL).group(1), space)
    table = space["table"]
    assert f"{len(table):,} sentences, {table.n_experts} people, {table.observed.sum():,} answers" in PAGE
    assert f"({100 * table.correct.sum() / table.observed.sum():.1f} % right)" in PAGE


def test_the_example_of_simulated_experts_runs():
    space = {}
    exec(re.search(r"```python\n(import numpy.*?)```", PAGE, re.DOTALL).group(1), space)
    assert space["team"].right_by_class.shape == (500, 4, 3)


@needs_data
def test_the_percentages_are_the_datas():
    three = ", ".join(f"{100 * share:.1f}" for share in cifar10n().correct.mean(axis=0))
    assert f"3 annotators ({three} % right)" in PAGE
    assert f"({100 * cifar10h().vote_accuracy():.1f} % of votes are right)" in PAGE
    assert f"({100 * hatespeech().vote_accuracy():.1f} % of votes are with the label)" in PAGE
    for name, table in [
        ("keswani-toxicity", keswani_toxicity()),
        ("labelme-crowd", labelme_crowd()),
        ("recidivism-people", recidivism_people()),
    ]:
        share = 100 * table.correct.sum() / table.observed.sum()
        assert re.search(rf"`{name}`.*\({share:.1f} % right\)", PAGE)
