"""Answers that are no class: all in one error, and how they are renamed or read as none."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero import read_cases
from defero.core.errors import InputError
from defero.data.answers.class_codes import BadAnswersError
from defero.data.answers.spellings import Spellings, read_rename, write_rename

ASK = {"label": "truth", "expert_names": ["al", "bo"]}


def cases():
    return pd.DataFrame(
        {
            "size": range(6),
            "truth": ["cat", "dog"] * 3,
            "al": ["Cat", "dog", "Cat", "?", "dgo", None],
            "bo": ["cat", "Cat", "skip", "dog", "cat", "dog"],
        }
    )


def test_all_spellings_are_in_one_error_with_counts_and_the_first_row():
    with pytest.raises(BadAnswersError) as caught:
        read_cases(cases(), **ASK)
    assert [(one.value, one.count, one.row, one.column, one.suggestion) for one in caught.value.answers] == [
        ("Cat", 3, 0, "al", "cat"),
        ("?", 1, 3, "al", None),
        ("dgo", 1, 4, "al", "dog"),
        ("skip", 1, 2, "bo", None),
    ]
    for fact in ("6 cells", "4 spellings", "'Cat': 3 answers, first in row 0, column al; did you mean 'cat'?", "skip"):
        assert fact in str(caught.value)
    assert caught.value.mapping() == {"Cat": "cat", "?": "", "dgo": "dog", "skip": ""}


def test_the_offered_mapping_and_blanks_mend_the_table(tmp_path):
    with pytest.raises(BadAnswersError) as caught:
        read_cases(cases(), rename={"Cat": "ca"}, blank=["?", "skip"], **ASK)
    mapping = caught.value.mapping()
    assert mapping == {"Cat": "cat", "ca": "cat", "?": "", "skip": "", "dgo": "dog"}
    path = write_rename(mapping, tmp_path / "pets.csv")
    assert read_rename(path) == mapping
    for rename in (mapping, path):
        table = read_cases(cases(), rename=rename, **ASK).table
        assert table.classes.tolist() == ["cat", "dog"]
        assert table.answer_idx[:, table.expert_names.index("al")].tolist() == [0, 1, 0, -1, 1, -1]
    assert write_rename({}, tmp_path / "other.csv") != path
    assert write_rename(mapping, tmp_path / "pets.csv").name == "pets.rename-2.csv"


def test_a_mapping_of_what_looks_like_formulas_is_read_as_it_was(tmp_path):
    mapping = {"=1+1": "-yes", "-": "@no", "-1": "", "'tis": "=x"}
    path = write_rename(mapping, tmp_path / "pets.csv")
    assert "'=1+1,'-yes" in path.read_text()
    assert read_rename(path) == mapping


def test_a_log_and_labels_are_respelled_too(tmp_path):
    items = pd.DataFrame({"item": [1, 2, 3], "size": [1, 2, 3], "truth": ["CAT", "dog", "none"]})
    log = pd.DataFrame({"item": [1, 2, 2], "worker": ["al", "al", "bo"], "label": ["cat", "-", 7]})
    read = read_cases(items, answers=log, label="truth", rename={"CAT": "cat", "7": "dog"}, blank=["none", "-"])
    assert read.table.labels.tolist() == ["cat", "dog"]
    assert read.table.coded.dense().tolist() == [[0, -1], [-1, 1]]
    assert any("1 of 3 cases have no label" in note for note in read.notes)
    assert any("1 row without an answer" in note for note in read.notes)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("from,to\na,x\na,y\n", "'a' is renamed in two ways"),
        ("from,to\n,x\n", "column from is blank"),
        ("a\n1\n", "needs the columns from and to, got a"),
    ],
)
def test_a_wrong_mapping_is_told(tmp_path, text, fact):
    (tmp_path / "map.csv").write_text(text)
    with pytest.raises(InputError, match=fact):
        Spellings.of(rename=tmp_path / "map.csv")


def test_a_value_is_not_both_renamed_and_blank():
    with pytest.raises(InputError, match=r"blank='a'.*renamed to 'b'"):
        Spellings.of(rename={"a": "b"}, blank=["a"])
    with pytest.raises(InputError, match="blank must be a list"):
        Spellings.of(blank="n/a")


cell = st.sampled_from(["a", "b", " a", "1", "1.0", 1, 2.5, None, ""])


@given(st.lists(cell, max_size=12), st.dictionaries(st.sampled_from(["a", "1", "2.5"]), st.sampled_from(["", "x"])))
def test_each_cell_is_respelled_alone(cells, rename):
    """Equal to looking up cell after cell; what is not named stays."""
    forms = {"a": "a", " a": "a", "1": "1", "1.0": "1", 1: "1", 2.5: "2.5"}
    wanted = [rename[forms[one]] or None if forms.get(one) in rename else one for one in cells]
    result = Spellings.of(rename=rename).apply(pd.Series(cells, dtype=object)).tolist()
    assert [None if pd.isna(one) else one for one in result] == wanted
