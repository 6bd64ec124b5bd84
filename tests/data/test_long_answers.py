"""Long annotations joined to items: who answered what, what is left out, and what is said when it cannot be."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs import read_long

from defero import read_cases
from defero.core.answers import Answers
from defero.core.errors import InputError, TableError
from defero.core.table import ExpertTable
from defero.data.answers.log import AnswerLog, latest_answers, natural
from defero.data.answers.read_log import join_answers
from defero.data.tables.read import read_frame
from defero.data.tables.wide import ItemKeys, name_text

DATA = Path(os.environ.get("DEFERO_DATA", ""))
ITEMS = pd.DataFrame({"item": ["a", "b", "c"], "size": [1.0, 2.0, 3.0]})


def long(rows, columns=("item", "annotator", "label")):
    return pd.DataFrame(rows, columns=list(columns), dtype=object)


def test_a_case_by_hand():
    found = join_answers(ITEMS, long([("c", "r10", "y"), ("a", "r2", "x"), ("a", "r10", "y")]))
    assert found.expert_names == ("r2", "r10")
    assert found.item_idx.tolist() == [0, 0, 2]
    assert found.expert_idx.tolist() == [0, 1, 1]
    assert found.answers.tolist() == ["x", "y", "y"]
    assert found.rows.tolist() == [1, 2, 0]
    answers = found.among(["x", "y"])
    assert answers.codes.shape == (3,)
    assert answers.dense().tolist() == [[0, 1], [-1, -1], [-1, 1]]
    assert answers.expert_names == ("r2", "r10")
    assert found.to_frame().to_dict("list") == {"r2": ["x", None, None], "r10": ["y", None, "y"]}
    assert found.notes() == ()


@pytest.mark.parametrize(
    "columns",
    [
        ("task", "worker", "label"),
        ("Task_ID", "User", "Response"),
        ("id", "expert id", "choice"),
        ("case", "rater", "vote"),
    ],
)
def test_columns_are_found_by_name(columns):
    items = ITEMS.rename(columns={"item": columns[0]})
    assert join_answers(items, long([("a", "w", "x")], columns)).expert_names == ("w",)


def test_the_log_may_number_its_own_rows():
    frame = long([(900, "b", "w", "x")], ("id", "item", "worker", "label"))
    assert join_answers(ITEMS, frame).item_idx.tolist() == [1]


def test_columns_that_are_named():
    frame = long([("b", "w", "x", "?")], ("which", "who", "what", "label"))
    found = join_answers(ITEMS, frame, key="item", item="which", annotator="who", answer="what")
    assert (found.answers.tolist(), found.column) == (["x"], "what")


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (
            ("item", "worker", "thing"),
            {},
            "long.csv: no column .*the answer .label, answer, .*name it with answer",
        ),
        (
            ("item", "worker", "label", "answer"),
            {},
            "'label', 'answer' may each be the answer; name the column with answer",
        ),
        (("item", "worker", "label"), {"answer": "lable"}, "no column 'lable' for the answer; did you mean 'label'"),
        (("item", "worker", "label"), {"answer": "item"}, "'item' is named as the item and as the answer; choose one"),
        (("item", "worker", "label"), {"key": "no"}, "items: no column 'no' for the key"),
        (("item", "item", "label"), {}, "two columns are called 'item'"),
    ],
)
def test_columns_that_cannot_be_found(columns, options, message):
    frame = long([tuple("abcd"[: len(columns)])], columns)
    with pytest.raises(TableError, match=message):
        join_answers(ITEMS, frame, source="long.csv", **options)


def test_a_number_is_one_key_however_it_was_read():
    items = pd.DataFrame({"item": pd.Series([7, 8, "07"], dtype=object)})
    for cell in (7, 7.0, "7", " 7 ", "7.0", np.int32(7), np.float32(7)):
        assert join_answers(items, long([(cell, "w", "x")])).item_idx.tolist() == [0]
    for cell in ("007", "07.0", "7.5", "seven"):
        with pytest.raises(TableError, match="has no item"):
            join_answers(items, long([(cell, "w", "x")]))


def test_keys_compare_as_written_first():
    items = pd.DataFrame({"item": ["7", "7.0", "007"]})
    found = join_answers(items, long([("7.0", "w", 1), ("007", "w", 2), (7.0, "w", 3)]))
    assert dict(zip(found.item_idx.tolist(), found.answers.tolist(), strict=True)) == {1: 1, 2: 2, 0: 3}


def test_people_are_named_as_text():
    found = join_answers(ITEMS, long([("a", 10.0, "x"), ("a", 9, "x"), ("b", "10", "y")]))
    assert found.expert_names == ("9", "10")
    assert name_text(2.5) == "2.5"


def test_the_last_answer_counts_and_the_count_is_said():
    frame = long([("a", "w", "x"), ("a", "v", "x"), ("a", "w", "y"), ("a", "w", None), ("b", "w", "  ")])
    found = join_answers(ITEMS, frame, source="log.csv")
    assert found.to_frame().loc[0].to_dict() == {"v": "x", "w": "y"}
    assert (found.n_repeated, found.n_blank) == (1, 2)
    assert found.notes() == (
        "log.csv: 2 rows without an answer: ignored.",
        "log.csv: 1 answer ignored: the same person answered the same item again.",
    )


def test_the_last_answer_in_the_file_counts():
    frame = long([("a", "w", "new"), ("a", "w", "old"), ("a", "w", "middle")])
    assert join_answers(ITEMS, frame).answers.tolist() == ["middle"]


def test_answers_to_items_that_are_not_there():
    frame = long([("a", "w", "x"), ("zz", "w", "x"), ("b2", "w", "y"), ("b", "v", "y")])
    with pytest.raises(TableError, match=r"log: row 3, column item: cases has no item 'zz'; 2 of 4 answers are to"):
        join_answers(ITEMS, frame, source="log", items_source="cases", first_row=2)
    found = join_answers(ITEMS, frame, unknown="ignore", source="log")
    assert (len(found), found.n_unknown) == (2, 2)
    assert found.notes() == ("log: 2 answers to items that are not in the table: ignored.",)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", None, "x")], "row 2, column annotator: the annotator is blank"),
        ([(None, "w", "x")], "row 2, column item: the item's key is blank"),
    ],
)
def test_blank_cells_that_may_not_be(rows, message):
    with pytest.raises(TableError, match=message):
        join_answers(ITEMS, long(rows), first_row=2)


@pytest.mark.parametrize("cells", [["a", "a"], ["a", " a"], [7, "7"]])
def test_an_item_stands_once(cells):
    items = pd.DataFrame({"item": pd.Series(cells, dtype=object)})
    with pytest.raises(TableError, match="rows 2 and 3"):
        join_answers(items, long([("a", "w", "x")]), items_first_row=2)


def test_unknown_is_one_of_two_words():
    with pytest.raises(InputError, match="unknown must be one of error, ignore, got 'skip'"):
        join_answers(ITEMS, long([("a", "w", "x")]), unknown="skip")


def test_an_answer_that_is_no_class_names_its_row(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("item,annotator,label\na,w,yes\n\nb,w,maybe\n")
    found = read_long(path, ITEMS)
    with pytest.raises(TableError, match=r"log.csv: row 4, column label: answer 'maybe' is not one of no, yes"):
        found.among(["yes", "no"])


@pytest.mark.parametrize("name", ["log.csv", "log.tsv.gz", "log.jsonl", "log.parquet"])
def test_every_format_joins_alike(tmp_path, name):
    items = pd.DataFrame({"item": [1, 2, 30]})
    frame = pd.DataFrame({"item": [30, 1, 2], "worker": [2, 10, 2], "label": [1, 0, 1]})
    path = tmp_path / name
    if name.endswith("parquet"):
        frame.to_parquet(path)
    elif name.endswith("jsonl"):
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in name else ",")
    found = read_long(path, items)
    assert found.expert_names == ("2", "10")
    assert found.among([0, 1]).dense().tolist() == [[-1, 0], [1, -1], [1, -1]]


def test_codes_with_leading_noughts_stay_codes(tmp_path):
    (tmp_path / "log.csv").write_text("item,worker,label\n007,03,1\n")
    (tmp_path / "items.csv").write_text("item,x\n007,1\n7,2\n")
    items = read_frame(tmp_path / "items.csv", as_text=["item"])
    found = read_long(tmp_path / "log.csv", items)
    assert (found.item_idx.tolist(), found.expert_names) == ([0], ("03",))


def test_items_and_experts_can_be_chosen():
    rows = [("a", "u", 1), ("b", "v", 0), ("c", "u", 0), ("c", "v", 1)]
    found = join_answers(ITEMS, long(rows))
    part = found.take([2, 0])
    assert part.to_frame().to_numpy().tolist() == [[0, 1], [1, None]]
    assert found.take(np.array([True, False, False])).to_frame().to_numpy().tolist() == [[1, None]]
    assert found.of_experts(["w", "v"]).to_frame().to_numpy().tolist() == [[None, None], [None, 0], [None, 1]]


def test_no_answer_at_all():
    found = join_answers(ITEMS, long([("a", "w", None)]))
    assert (len(found), found.n_experts, found.among(["x"]).shape) == (0, 0, (3, 0))


def test_a_table_of_labelled_items():
    answered = long([("a", "w", "x"), ("c", "w", "x"), ("b", "v", "y")])
    table = read_cases(ITEMS.assign(truth=["x", None, "y"]), label="truth", answers=answered).table
    assert isinstance(table, ExpertTable)
    assert isinstance(table.answers, Answers)
    assert table.labels.tolist() == ["x", "y"]
    assert (table.expert_names, table.answer_idx.tolist()) == (("v", "w"), [[-1, 0], [-1, 0]])
    assert table.features.to_dict("list") == {"size": [1.0, 3.0]}


def test_answers_and_labels_may_be_of_two_types():
    answered = long([("a", "w", "1"), ("c", "w", 0.0), ("b", "v", 1)])
    table = read_cases(ITEMS.assign(truth=[1, 0, 0]), label="truth", answers=answered).table
    assert table.classes.tolist() == [0, 1]
    assert table.answer_idx.tolist() == [[-1, 1], [1, -1], [-1, 0]]


def test_experts_stand_in_natural_order():
    assert sorted(["Expert 10", "Expert 9", "expert 1", "9", "10", ""], key=natural) == [
        "", "9", "10", "Expert 9", "Expert 10", "expert 1"
    ]  # fmt: skip
    assert sorted(["r12", "r011"], key=natural) == ["r011", "r12"]
    assert len({natural(name) for name in ("01", "1", "001")}) == 3
    assert sorted(["1" * 5000 + "2", "2" * 5000], key=natural)[0] == "2" * 5000


cell = st.sampled_from(["x", "y", None])
row = st.tuples(st.integers(0, 4), st.sampled_from(["w1", "w2", "w10"]), cell)


@given(st.lists(row, max_size=25))
def test_the_slow_twin_agrees(rows):
    items = pd.DataFrame({"item": range(5)})
    found = join_answers(items, long(rows, ("item", "annotator", "label")))
    expected = {(item, who): said for item, who, said in rows if said is not None}
    got = {
        (item, found.expert_names[expert]): said
        for item, expert, said in zip(found.item_idx.tolist(), found.expert_idx.tolist(), found.answers, strict=True)
    }
    assert got == expected
    assert len(found) + found.n_repeated + found.n_blank == len(rows)
    dense = found.to_frame()
    codes = found.among(["x", "y"]).dense()
    for item in range(5):
        for j in range(found.n_experts):
            assert codes[item, j] == {"x": 0, "y": 1, None: -1}[dense.iloc[item, j]]


@given(st.permutations(range(6)))
def test_the_order_of_items_is_the_order_of_rows(order):
    rows = [(item, f"w{item % 3}", str(item)) for item in range(6)]
    plain = join_answers(pd.DataFrame({"item": range(6)}), long(rows))
    moved = join_answers(pd.DataFrame({"item": list(order)}), long(rows))
    assert moved.to_frame().equals(plain.to_frame().iloc[list(order)].reset_index(drop=True))
    assert moved.to_frame().equals(plain.take(list(order)).to_frame())


def test_nothing_dense_is_made():
    n = 50_000
    given = pd.DataFrame({"item": np.arange(n), "who": [f"w{i}" for i in range(n)], "answer": "x", "row": np.arange(n)})
    found = latest_answers(given, n_items=n)
    assert isinstance(found, AnswerLog)
    assert len(found.among(["x"]).codes) == n  # (n, J) would be 2.5e9 cells


@pytest.mark.parametrize(
    ("name", "n_items", "n_answers", "n_experts", "accuracy"),
    [("sentiment_polarity_crowd", 8998, 27_746, 203, 0.789), ("keswani_toxicity", 1471, 12_408, 170, 0.773)],
)
def test_real_crowds_join(name, n_items, n_answers, n_experts, accuracy):
    folder = DATA / name
    if not os.environ.get("DEFERO_DATA") or not folder.is_dir():
        pytest.skip("DEFERO_DATA does not point at the public data sets")
    items = read_frame(folder / "items.csv.gz", as_text=["item"])
    found = read_long(folder / "annotations.csv.gz", items)
    assert (found.n_items, len(found), found.n_experts, found.n_repeated) == (n_items, n_answers, n_experts, 0)
    gold = items["gold"].to_numpy()
    right = found.class_idx([0, 1]) == gold[found.item_idx]
    assert right.mean() == pytest.approx(accuracy, abs=0.0005)
    table = ExpertTable(gold, found, features=items[["text"]])
    assert table.observed.sum() == len(found)
    assert table.correct.sum() / table.observed.sum() == pytest.approx(right.mean())


@pytest.mark.parametrize(
    ("keys", "named", "found"),
    [
        (["0.0", "1.0"], ["0", 1], [0, 1]),
        (["0.0", "1.0"], ["0.00", "1.0"], [0, 1]),
        (["7", "7.0"], ["7", "7.0", "7.00"], [0, 1, 0]),
        (["7.0", "7.00"], ["7", "7.0", "7.00"], [-1, 0, 1]),
        (["007.0", "v1.0"], ["7", "007", "v1", "v1.0"], [-1, -1, -1, 1]),
    ],
)
def test_keys_meet_in_both_directions(keys, named, found):
    items = ItemKeys.of(pd.DataFrame({"item": keys}), "item", source="items", first_row=0)
    column = pd.Series(named, name="item", dtype=object)
    place = items.find(column, rows=np.arange(len(named)), source="log", unknown="ignore")
    assert place.tolist() == found


def test_a_name_with_a_line_break_leaves_the_sentence_on_one_line(tmp_path):
    path = tmp_path / "long.tsv"
    path.write_text('item\tlabel\t"anno\ntator"\n1\tyes\tx\n2\tno\ty\n')
    with pytest.raises(TableError, match="The columns are item, label, anno tator") as found:
        read_long(path, pd.DataFrame({"item": [1, 2]}))
    assert "\n" not in str(found.value)
