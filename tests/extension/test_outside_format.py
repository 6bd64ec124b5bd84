"""A table format of another package, from `defero fit` to `defero route`. The example is from docs/howto/extend.md."""

import numpy as np
import pandas as pd
import pytest
from outside_package import example, install, run

from defero.core.errors import TableError
from defero.data.tables.read import table_format


@pytest.fixture
def outside(tmp_path, monkeypatch):
    install(
        tmp_path / "package",
        "pipes",
        example("A table format"),
        group="defero.table_formats",
        name="psv",
        attribute="PSV",
    )
    monkeypatch.syspath_prepend(str(tmp_path / "package"))


def cases(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n)
    answers = {name: np.where(rng.random(n) < p, truth, 1 - truth) for name, p in (("ann", 0.9), ("ben", 0.7))}
    return pd.DataFrame({"size": truth + rng.normal(size=n), "truth": truth, **answers})


@pytest.mark.usefixtures("outside")
def test_fit_and_route_read_and_write_it(tmp_path):
    table = cases(200)
    table.to_csv(tmp_path / "cases.psv", sep="|", index=False)
    table[["size"]].to_csv(tmp_path / "new.psv", sep="|", index=False)
    options = ["--label", "truth", "--experts", "ann,ben", "--out", tmp_path / "model"]
    run("fit", tmp_path / "cases.psv", *options)
    run("route", tmp_path / "model", tmp_path / "new.psv", "--out", tmp_path / "decisions.psv")
    decisions = pd.read_csv(tmp_path / "decisions.psv", sep="|")
    assert len(decisions) == 200
    assert set(decisions["route"]) <= {"model", "ann", "ben"}


@pytest.mark.usefixtures("outside")
def test_a_message_names_the_row_as_the_format_counts_it(tmp_path):
    (tmp_path / "cases.psv").write_text("size|truth|ann\n1|0|0\n2|1|nine\n")
    told = run("fit", tmp_path / "cases.psv", "--label", "truth", "--experts", "ann", "--out", "m", code=2)
    assert "row 3" in told
    assert "ann" in told
    assert "nine" in told


@pytest.mark.parametrize("name", ["cases.psv", "cases", "cases.xlsx", "csv"])
def test_an_unknown_ending_is_an_error_that_lists_the_known_ones(name):
    with pytest.raises(TableError, match=r"\.csv, \.csv\.gz, .*\.parquet"):
        table_format(name)
