"""`four_parts`: disjoint whatever is asked, no group in two parts, earlier before later, and as a column says."""

from dataclasses import replace
from datetime import date
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.core.errors import InputError, TableError
from defero.core.table import ExpertTable
from defero.data.cases import CaseFile, Cases
from defero.data.table_spec import TableSpec
from defero.data.tables.read import TableSource
from defero.data.tables.wide import PARTS
from defero.study.parts import four_parts


def cases_of(n, *, seed=0, **apart):
    """Return n cases whose only feature is their number."""
    labels = np.random.default_rng(seed).integers(0, 2, n)
    labels[:2] = 0, 1
    table = ExpertTable(labels, labels[:, None], features=pd.DataFrame({"number": np.arange(n)}))
    file = CaseFile(source=TableSource(pd.DataFrame(), "a.csv"))
    frame = pd.DataFrame(apart, index=range(n))
    return Cases(table=table, apart=frame, frame=frame, file=file, key=None, first_row=2)


def numbers_of(parts):
    return [part.features["number"].tolist() for part in parts]


def cut(cases, *, test_share=0.2, **cuts):
    file = replace(cases.file, spec=TableSpec(**cuts))
    return four_parts(replace(cases, file=file), random_state=0, test_share=test_share)


@given(st.integers(40, 120), st.integers(0, 99), st.sampled_from(["row", "group", "time"]))
def test_every_case_is_in_one_part(n, seed, kind):
    rng = np.random.default_rng(seed)
    cases = cases_of(n, seed=seed, who=rng.integers(0, n // 2, n), when=rng.permutation(n))
    rule = {"row": {}, "group": {"groups": "who"}, "time": {"time": "when"}}[kind]
    parts = numbers_of(cut(cases, **rule))
    assert sorted(row for part in parts for row in part) == list(range(n))
    if kind == "group":
        groups = [set(cases.apart.who.iloc[part]) for part in parts]
        assert sum(map(len, groups)) == len(set.union(*groups))
    if kind == "time":
        when = [cases.apart.when.iloc[part] for part in parts]
        assert all(first.max() < second.min() for first, second in pairwise(when))


@pytest.mark.parametrize(
    ("n_answers", "n_panels"),
    [(5, 9), (20, 15), (50, 38), (150, 75)],  # of 400 cases that are not for the test, 75 are the usual part
)
@pytest.mark.parametrize("by_column", [False, True])
def test_where_few_cells_are_filled_fewer_cases_are_kept_apart_for_panels(n_answers, n_panels, by_column):
    n, column = 500, ["train"] * 400 + ["test"] * 100
    labels = np.arange(n) % 2
    answers = np.full((n, 3), -1)
    answers[:n_answers] = labels[:n_answers, None]
    table = ExpertTable(labels, answers, features=pd.DataFrame({"number": np.arange(n)}))
    cases = replace(cases_of(n, part=column), table=table)
    answers[n_answers : n_answers * 5 // 4] = 0  # those of the test do not count
    if not by_column:
        cases = replace(cases, table=ExpertTable(labels, answers, features=table.features))
    parts = numbers_of(cut(cases, **({"split": "part"} if by_column else {})))
    assert sorted(row for part in parts for row in part) == list(range(n))
    assert abs(len(parts[2]) - n_panels) <= 2
    assert abs(len(parts[1]) - 75) <= 2


@given(st.lists(st.sampled_from([word for words in PARTS.values() for word in words]), min_size=30, max_size=90))
def test_a_column_is_followed(words):
    words = ["train"] * 12 + ["test"] * 2 + words
    cases = cases_of(len(words), part=words)
    learn, calibrate, conformalize, test = numbers_of(cut(cases, split="part"))
    assert sorted([*learn, *calibrate, *conformalize, *test]) == list(range(len(words)))
    assert test == [row for row, word in enumerate(words) if word in PARTS["test"]]
    assert all(words[row] in PARTS["learn"] for row in learn)
    for part, name in ((calibrate, "calibrate"), (conformalize, "conformalize")):
        assert part
        assert {row for row, word in enumerate(words) if word in PARTS[name]} <= set(part)
        if set(words) & {*PARTS["held"], *PARTS[name]}:
            others = {"calibrate", "conformalize"} - {name}
            assert not any(words[row] in PARTS[other] for row in part for other in others)


def test_the_sizes_are_those_asked_for():
    assert [len(part) for part in cut(cases_of(160), test_share=0.2, time=None)] == pytest.approx(
        [80, 24, 24, 32], abs=2
    )
    assert len(cut(cases_of(100), test_share=0.5)[3]) == pytest.approx(50, abs=1)


def test_a_column_beside_groups_and_times():
    who = np.repeat(np.arange(30), 4)
    part = np.where(who < 22, "train", "test")
    learn, calibrate, conformalize, test = numbers_of(
        cut(cases_of(120, who=who, part=part), split="part", groups="who")
    )
    assert test == list(range(88, 120))
    assert all(not set(who[a]) & set(who[b]) for a, b in [(learn, calibrate), (calibrate, conformalize)])
    when = np.arange(120)[::-1]
    parts = numbers_of(cut(cases_of(120, when=when, part=part), split="part", time="when"))
    assert parts[3] == list(range(88, 120))
    assert max(when[parts[0]]) < min(when[parts[1]])
    torn = cases_of(120, who=who % 3, part=part)
    with pytest.raises(InputError, match=r"a\.csv: column who: "):
        cut(torn, split="part", groups="who")


@pytest.mark.parametrize("dates", [True, False])
def test_dates_and_their_texts_are_times(dates):
    days = [date(2024, 1 + day % 12, 1 + day // 12) for day in range(120)]
    column = pd.to_datetime(pd.Series(days)) if dates else [day.isoformat() for day in days]
    parts = numbers_of(cut(cases_of(120, when=column), time="when"))
    assert max(days[row] for row in parts[2]) < min(days[row] for row in parts[3])


def test_what_cannot_be_cut_is_told():
    with pytest.raises(InputError, match="groups and time cannot be combined"):
        cut(cases_of(9, a=1, b=2), groups="a", time="b")
    with pytest.raises(InputError, match=r"a\.csv: column a: 1 groups cannot fill 4 parts"):
        cut(cases_of(9, a=1), groups="a")
    instead = "a column of (smaller groups|finer times), or name the part of each row in a column for split, or leave "
    with pytest.raises(InputError, match=rf"2 groups cannot fill 4 parts; pass groups {instead}groups out\.$"):
        cut(cases_of(9, a=[1, 1, 1, 1, 1, 2, 2, 2, 2]), groups="a")
    with pytest.raises(InputError, match=rf"different times\); pass time {instead}time out\.$"):
        cut(cases_of(9, a=1), time="a")
    with pytest.raises(TableError, match=r"a\.csv: row 4, column a: 'soon' is no time; expected a number, or a"):
        cut(cases_of(3, a=["1", "2", "soon"]), time="a")
    with pytest.raises(TableError, match=r"a\.csv: row 3, column a: the time is blank"):
        cut(cases_of(3, a=[1, None, 2]), time="a")


@pytest.mark.parametrize("number", ["44927", "2023"])
def test_numbers_among_dates_are_told_with_a_row_of_each(number):
    cells = ["2024-05-01", "2024-05-02T09:30", number, "2024-05-03", number]
    message = (
        rf"a\.csv: column a mixes numbers and dates: row 4 has the number '{number}', row 2 has the date '2024-05-01'; "
        "write every time as a number, or every one as a date like 2024-05-01"
    )
    with pytest.raises(TableError, match=message):
        cut(cases_of(5, a=cells), time="a")
    with pytest.raises(TableError, match=r"row 5, column a: 'soon' is no time"):
        cut(cases_of(5, a=[*cells[:3], "soon", number]), time="a")


def test_dates_without_dashes_may_stand_beside_others():
    days = pd.date_range("2024-01-01", periods=40)
    cells = [day.strftime("%Y%m%d" if place % 2 else "%Y-%m-%d") for place, day in enumerate(days)]
    assert [row for part in numbers_of(cut(cases_of(40, a=cells), time="a")) for row in part] == list(range(40))


def test_rows_are_named_as_in_the_file():
    cases = cases_of(3, a=["train", "test", "x"])
    shifted = replace(cases, apart=cases.apart.set_axis([5, 7, 9]))
    with pytest.raises(TableError, match=r"a\.csv: row 11, column a: 'x' names no part; expected train, calibrate,"):
        cut(shifted, split="a")
