"""A folder is judged by any number of workers with the same figures, bad rows and samples included."""

import pandas as pd
import pytest

from defero import Study, read_cases
from defero.core.errors import InputError
from defero.datasets import wedge

NAMES = ["ann", "bob", "cem", "dot"]
PARTS = ("year=2023/a.parquet", "year=2023/b.parquet", "year=2024/a.parquet")


def drawn(n, seed):
    past = wedge(n, random_state=seed)
    frame = pd.DataFrame(past.features).add_prefix("x").assign(truth=past.labels)
    frame[NAMES] = past.answers
    return frame


@pytest.fixture(scope="module")
def study():
    past = drawn(300, 0).assign(year=[2023, 2024] * 150)
    team = Study(read_cases(past, label="truth", expert_names=NAMES, features=["x0", "x1", "year"]))
    team.fit("linear", loss="ova")
    return team


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder in which year is a column that the subfolders name, and a file has bad cells."""
    where = tmp_path_factory.mktemp("cases")
    for seed, part in enumerate(PARTS, start=1):
        (where / part).parent.mkdir(parents=True, exist_ok=True)
        frame = drawn(60, seed).astype({"x0": str, "ann": str})
        if seed == 2:
            frame.loc[3, "x0"], frame.loc[5, "ann"] = "large", "nobody knows"
        frame.to_parquet(where / part)
    return where


@pytest.mark.parametrize("most", [200_000, 50])
def test_the_figures_are_the_same_whatever_the_workers(study, folder, most):
    options = {"bad_rows": "skip", "most_cases": most}
    listed = folder.with_name(f"{folder.name}.bad-rows.csv")
    plain = study.evaluate(folder, **options)
    plain_list = listed.read_bytes()
    assert plain.rows == min(178, most)
    for workers in (1, 2):
        listed.unlink()
        shared = study.evaluate(folder, **options, workers=workers)
        assert shared.to_dict() == plain.to_dict()
        assert shared.columns.index.tolist() == plain.columns.index.tolist()
        assert listed.read_bytes() == plain_list


def test_all_bad_rows_of_all_files_are_named(study, folder):
    errors = []
    for options in ({}, {"workers": 1}, {"workers": 2}):
        with pytest.raises(ValueError, match=r"row 64, column x0.*|'large'") as raised:
            study.evaluate(folder, **options)
        errors.append(str(raised.value))
    assert errors[0] == errors[1] == errors[2]
    assert "nobody knows" in errors[0]


def test_a_sample_has_the_same_rows_where_most_of_a_table_is_bad(study, folder, tmp_path):
    """The limit on marks that workers begin with assumes that most rows are good."""
    where = tmp_path / "mostly bad"
    where.mkdir()
    frame = drawn(400, 9).astype({"x0": str}).assign(year=2024)
    frame.loc[20:, "x0"] = "?"
    frame.to_parquet(where / "a.parquet")
    options = {"bad_rows": "skip", "most_cases": 15}
    plain, shared = study.evaluate(where, **options), study.evaluate(where, **options, workers=1)
    assert plain.rows == shared.rows == 15
    assert plain.columns.index.tolist() == shared.columns.index.tolist()


def test_columns_that_subfolders_name_are_read_when_files_are_routed_by_workers(study, folder, tmp_path):
    study.route(folder, tmp_path / "whole.parquet", bad_rows="skip")
    study.route_folder(folder, tmp_path / "parts", bad_rows="skip", workers=2)
    whole = pd.read_parquet(tmp_path / "whole.parquet").drop(columns="case")
    parts = pd.concat([pd.read_parquet(tmp_path / "parts" / part) for part in PARTS]).drop(columns="case")
    pd.testing.assert_frame_equal(whole, parts.reset_index(drop=True))


def test_a_single_file_cannot_be_shared(study, folder):
    with pytest.raises(InputError, match="share the files of a folder") as raised:
        study.evaluate(folder / PARTS[0], workers=2)
    assert "engine" in str(raised.value)
