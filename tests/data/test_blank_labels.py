"""Blank labels of a wide table: such rows are left out with a count, and the others keep their row numbers."""

import numpy as np
import pandas as pd
import pytest

from defero import read_cases
from defero.core.errors import InputError


def table(n=12):
    rng = np.random.default_rng(0)
    label = pd.Series(rng.choice(["no", "yes"], n), dtype=object)
    return pd.DataFrame({"age": np.arange(n), "dr_a": label, "truth": label})


@pytest.mark.parametrize("as_file", [True, False])
def test_rows_without_a_label_are_left_out_and_counted(tmp_path, as_file):
    cases = table()
    cases.loc[[2, 5], "truth"] = None
    given = cases
    if as_file:
        given = tmp_path / "cases.csv"
        cases.to_csv(given, index=False)
    read = read_cases(given, label="truth", expert_names=["dr_a"])
    assert len(read) == 10
    assert any("2 of 12 cases have no label" in note for note in read.notes)
    assert read.table.features["age"].tolist() == [0, 1, 3, 4, *range(6, 12)]
    assert read.table.features.index.tolist() == [0, 1, 3, 4, *range(6, 12)]
    assert read.table.label_idx.tolist() == (cases.truth.dropna() == "yes").astype(int).tolist()


def test_a_wrong_cell_is_told_with_its_row_in_the_file(tmp_path):
    cases = table()
    cases.loc[0, "truth"] = None
    cases.loc[8, "dr_a"] = "perhaps"
    cases.to_csv(tmp_path / "cases.csv", index=False)
    with pytest.raises(InputError, match=r"row 10, column dr_a: answer 'perhaps'"):
        read_cases(tmp_path / "cases.csv", label="truth", expert_names=["dr_a"])


def test_a_table_without_any_label_is_refused():
    with pytest.raises(InputError, match=r"column truth: no row has a label"):
        read_cases(table().assign(truth=None), label="truth", expert_names=["dr_a"])
