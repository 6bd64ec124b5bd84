"""Files that anybody may have written or broken: each gives a table or one of our own errors, never a warning."""

import copy
import gzip
import io
import json
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from logs import read_long

from defero import read_cases
from defero.core.errors import InputError
from defero.core.table import ExpertTable
from defero.data.answers.log import majority_labels
from defero.data.exports.label_studio import LABEL_STUDIO
from defero.data.exports.prodigy import PRODIGY
from defero.data.tables.read import read_chunks, read_frame

FRAME = pd.DataFrame(
    {
        "item": [1, 2, 3, 4],
        "size": [0.5, np.nan, 1e300, -2.0],
        "site": ["arm", 'a "b", c', "Zürich", None],
        "label": ["yes", "no", "yes", "no"],
        "annotator": ["ann", "bo", "ann", None],
    }
)


def delimited(separator):
    return FRAME.to_csv(index=False, sep=separator).encode()


def lines():
    records = FRAME.astype(object).where(FRAME.notna(), None).to_dict("records")
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def parquet():
    file = io.BytesIO()
    FRAME.to_parquet(file)
    return file.getvalue()


TABLES = {
    "t.csv": delimited(","),
    "t.tsv": delimited("\t"),
    "t.csv.gz": gzip.compress(delimited(","), mtime=0),
    "t.jsonl": lines(),
    "t.ndjson.gz": gzip.compress(lines(), mtime=0),
    "t.parquet": parquet(),
}
TASKS = [
    {
        "id": 1,
        "data": {"text": "fine", "size": 3},
        "annotations": [
            {
                "completed_by": {"id": 3, "email": "ann@example.org"},
                "result": [{"from_name": "q", "to_name": "text", "type": "choices", "value": {"choices": ["a"]}}],
                "was_cancelled": False,
                "ground_truth": False,
                "lead_time": 1.5,
                "updated_at": "2024-05-01T09:30:00Z",
            }
        ],
        "predictions": [
            {
                "model_version": "v1",
                "score": 0.5,
                "result": [{"from_name": "q", "to_name": "text", "type": "choices", "value": {"choices": ["b"]}}],
            }
        ],
    },
    {
        "id": 2,
        "data": {"text": "dull", "size": 1},
        "annotations": [
            {
                "completed_by": 4,
                "ground_truth": True,
                "result": [{"from_name": "q", "to_name": "text", "type": "choices", "value": {"choices": ["b"]}}],
                "created_at": "2024-05-01T09:30:00Z",
            }
        ],
    },
]
DECISIONS = [
    {"text": "fine", "_input_hash": 1, "answer": "accept", "accept": ["a"], "_annotator_id": "ann", "_timestamp": 3},
    {"text": "fine", "_input_hash": 1, "answer": "reject", "label": "a", "_session_id": "bo", "meta": {"x": 1}},
    {"text": "dull", "_input_hash": 2, "answer": "accept", "label": "b", "_annotator_id": "ann"},
]


FEW, MANY = settings(max_examples=8), settings(max_examples=300)


def outcome(read, name, content):
    """Read a file of this content; a result, or None where we say in our own words that it cannot be."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            return read(path)
        except InputError as error:
            said = str(error)
    assert said.startswith(str(path)), said
    assert "\n" not in said, said
    return None


def every_reader(name, content):
    frame = outcome(read_frame, name, content)
    assert frame is None or (isinstance(frame, pd.DataFrame) and len(frame))
    outcome(lambda path: list(read_chunks(path, rows=2)), name, content)
    table = outcome(
        lambda path: read_cases(path, label="label", expert_names=["annotator"], key="item").table, name, content
    )
    assert table is None or isinstance(table, ExpertTable)
    outcome(
        lambda path: read_cases(path, label="label", expert_names=["site"], classes=["yes", "no", "arm"]), name, content
    )
    items = pd.DataFrame({"item": range(1, 5)})

    def joined(path):
        answers = read_long(path, items, unknown="ignore", annotator="annotator")
        assert answers.to_frame().shape == (4, answers.n_experts)
        return majority_labels(answers)

    outcome(joined, name, content)


edit = st.tuples(
    st.sampled_from(["flip", "cut", "insert", "drop", "double"]),
    st.integers(0, 10_000),
    st.one_of(
        st.binary(min_size=1, max_size=4),
        st.sampled_from(
            [
                b"\0",
                b"\r",
                b'"',
                b"\n\n",
                b"\xff",
                b"\xed\xa0\x80",
                b",",
                b"1e999",
                b"9" * 400,
                b"NaN",
                b"\\ud800",
                b"[" * 9,
            ]
        ),
    ),
)


def edited(content, edits):
    for kind, place, piece in edits:
        place %= max(len(content), 1)
        if kind == "flip" and content:
            content = content[:place] + bytes([content[place] ^ (piece[0] or 1)]) + content[place + 1 :]
        elif kind == "cut":
            content = content[:place]
        elif kind == "insert":
            content = content[:place] + piece + content[place:]
        elif kind == "drop":
            content = content[:place] + content[place + len(piece) :]
        else:
            content = content[:place] + content[max(place - 20, 0) :]
    return content


@pytest.mark.parametrize("name", list(TABLES))
@FEW
@given(st.lists(edit, min_size=1, max_size=3))
def test_broken_tables(name, edits):
    every_reader(name, edited(TABLES[name], edits))


@pytest.mark.parametrize("name", ["t.csv.gz", "t.ndjson.gz"])
@FEW
@given(st.lists(edit, min_size=1, max_size=3))
def test_broken_tables_in_whole_archives(name, edits):
    every_reader(name, gzip.compress(edited(gzip.decompress(TABLES[name]), edits), mtime=0))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(TABLES))
@MANY
@given(st.lists(edit, min_size=1, max_size=3))
def test_many_broken_tables(name, edits):
    every_reader(name, edited(TABLES[name], edits))


@pytest.mark.parametrize("name", list(TABLES))
def test_whole_tables_are_read(name):
    frame = outcome(read_frame, name, TABLES[name])
    assert frame["label"].tolist() == ["yes", "no", "yes", "no"]


cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**18, 10**19, 10**40, 10**400, -(10**310)]),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["yes", "no", "1", "1.0", "", " ", "nan", "\0", "1e400", "0x1", "١", "2024-01-01", "9" * 50]),
)
values = st.recursive(
    cells,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@FEW
@given(st.lists(st.dictionaries(st.sampled_from([*FRAME.columns, "", " item"]), values, max_size=6), max_size=4))
@example([{"item": 1, "label": 10**400, "annotator": 10**400}])
def test_objects_of_odd_values(records):
    every_reader("t.jsonl", "".join(json.dumps(record) + "\n" for record in records).encode())


@FEW
@given(st.lists(st.lists(cells.map(str), min_size=1, max_size=5), max_size=5))
def test_rows_of_odd_values(rows):
    text = "item,size,site,label,annotator\n" + "".join(",".join(row) + "\n" for row in rows)
    every_reader("t.csv", text.encode("utf-8", "replace"))


@FEW
@given(st.lists(st.sampled_from(["item", "label", "annotator", "", '"', "\0", "\ufeff", "a\nb"]), max_size=6))
def test_odd_headers(names):
    every_reader("t.csv", (",".join(names) + "\n1,yes,ann\n2,no,bo\n").encode())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1", "utf-8-sig", "cp037"])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl"])
def test_odd_encodings(name, encoding):
    every_reader(name, TABLES[name].decode().replace("ü", "\u00fc").encode(encoding))


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
@FEW
@given(st.binary(max_size=200))
def test_noise(name, content):
    every_reader(name, content)


def places(value, path=()):
    """Every place in a nested value."""
    yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))


@st.composite
def mutated(draw, value):
    """Put odd values into places of a nested value, or take places out."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 2))):
        *path, key = draw(st.sampled_from([path for path in places(value) if path]))
        inner = value
        for step in path:
            inner = inner[step]
        if draw(st.booleans()):
            inner[key] = draw(values)
        else:
            del inner[key]
        if not [path for path in places(value) if path]:
            break
    return value


def exports(name, content):
    def studio(path):
        found = LABEL_STUDIO.read(path, label="size", key=None, control=None)
        assert len(found.items) == found.answers.n_items

    outcome(studio, name, content)
    for options in ({}, {"majority_label": True}, {"label": "meta.x", "majority_label": True}):
        for kind in ("label-studio", "prodigy"):
            outcome(partial(read_cases, format=kind, **options), name, content)
    nothing = {"key": None, "control": None, "known_key": None, "known_control": None}
    outcome(lambda path: PRODIGY.read_open(path, **nothing), name, content)


@FEW
@given(mutated(TASKS))
def test_odd_tasks(tasks):
    exports("t.json", json.dumps(tasks).encode())


@FEW
@given(mutated(DECISIONS))
@example([{**DECISIONS[0], "meta": "no object"}])
def test_odd_decisions(records):
    exports("t.jsonl", "".join(json.dumps(record) + "\n" for record in records).encode())


@pytest.mark.parametrize(("name", "records"), [("t.json", TASKS), ("t.json.gz", TASKS), ("t.json", DECISIONS)])
@FEW
@given(st.lists(edit, min_size=1, max_size=3))
def test_broken_exports(name, records, edits):
    content = json.dumps(records).encode()
    exports(name, edited(gzip.compress(content, mtime=0) if name.endswith(".gz") else content, edits))


@pytest.mark.slow
@MANY
@given(mutated(TASKS), mutated(DECISIONS))
def test_many_odd_exports(tasks, records):
    exports("t.json", json.dumps(tasks).encode())
    exports("t.jsonl", "".join(json.dumps(record) + "\n" for record in records).encode())


def test_deep_nesting():
    for deep in (b"[" * 50_000, b'{"id":' * 50_000, b'[{"id": 1, "data": {"x": ' + b"[" * 900 + b"]" * 900 + b"}}]"):
        exports("t.json", deep)
        every_reader("t.jsonl", deep)


frames = st.sampled_from(
    [
        pd.DataFrame({"item": pd.Series([1, None, 3], dtype="Int64"), "label": pd.Categorical(["yes", "no", None])}),
        pd.DataFrame({"item": [b"1", b"\xff"], "label": ["yes", "no"], "annotator": [b"a", b"b"]}),
        pd.DataFrame({"item": [[1], [2]], "label": [{"a": 1}, {"a": 2}], "annotator": ["a", "b"]}),
        pd.DataFrame({"item": pd.to_datetime(["2024-01-01", None]), "label": ["yes", "no"], "annotator": ["a", "b"]}),
        pd.DataFrame({"item": pd.to_timedelta([1, None]), "label": [1.5, np.inf], "annotator": [np.nan, 1e300]}),
        pd.DataFrame({"item": np.array([2**63], dtype=np.uint64), "label": [True], "annotator": [None]}),
    ]
)


@FEW
@given(frames)
def test_parquet_of_odd_types(frame):
    file = io.BytesIO()
    frame.to_parquet(file)
    every_reader("t.parquet", file.getvalue())


def test_parquet_with_damaged_notes_of_pandas_is_read():
    file = io.BytesIO()
    pq.write_table(pa.table({"item": [1, 2]}).replace_schema_metadata({b"pandas": b"{no json"}), file)
    assert outcome(read_frame, "t.parquet", file.getvalue())["item"].tolist() == [1, 2]


def test_parquet_whose_text_is_no_utf_8_is_refused():
    whole = FRAME.to_parquet(compression=None)
    broken = whole.replace(b"yes", b"y\xffs")
    assert broken != whole
    for read in (read_frame, lambda path: list(read_chunks(path, rows=2))):
        assert outcome(read, "t.parquet", broken) is None


@pytest.mark.parametrize("name", ["t.csv.gz", "t.jsonl.gz"])
def test_an_archive_that_is_damaged_and_no_utf_8(name):
    whole = gzip.compress(b"\xff" * 200_000, mtime=0)
    for length in range(len(whole) - 1, len(whole) - 60, -7):
        assert outcome(read_frame, name, whole[:length] + bytes(len(whole) - length)) is None
