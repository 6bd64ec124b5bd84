"""Prodigy exports: choices and binary decisions as answers of named people to items."""

import json

import pytest

from defero import read_cases
from defero.core.errors import TableError
from defero.data.exports.prodigy import PRODIGY


def read_prodigy(path, *, label=None, key=None):
    return PRODIGY.read(path, label=label, key=key, control=None)


def line(item, who, verdict="accept", **fields):
    return {
        "text": f"text {item}",
        "_input_hash": item,
        "_task_hash": -item,
        "_view_id": "choice",
        "answer": verdict,
        "_timestamp": 1707211049,
        "_annotator_id": who,
        "_session_id": f"session of {who}",
        **fields,
    }


def chosen(item, who, *options, **fields):
    return line(item, who, accept=list(options), options=[{"id": "a", "text": "A"}], **fields)


@pytest.fixture
def export(tmp_path):
    def write(lines, name="news.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(one) + "\n" for one in lines) if "jsonl" in name else json.dumps(lines))
        return path

    return write


CHOICES = [
    chosen(-5, "news-ann", "a", meta={"source": "web", "tags": [1]}, length=3),
    chosen(-5, "news-bo", "b", _timestamp=20),
    chosen(-5, "news-bo", "a", _timestamp=10),
    chosen(9, "news-ann", "b", length=5, tokens=[{"id": 0}]),
    chosen(9, "news-bo", "a", answer="ignore"),
    chosen(9, "news-cy", "a", answer="reject"),
    chosen(10, "news-cy"),
    chosen(9, "review", "b"),
]


@pytest.mark.parametrize("name", ["news.jsonl", "news.json"])
def test_choices_by_hand(export, name):
    found = read_prodigy(export(CHOICES[:-1], name))
    assert found.items.columns.tolist() == ["_input_hash", "text", "length", "meta.source"]
    assert found.items["_input_hash"].tolist() == ["-5", "9", "10"]
    assert found.answers.expert_names == ("news-ann", "news-bo")
    assert found.answers.to_frame().to_numpy().tolist() == [["a", "b"], ["b", None], [None, None]]
    assert found.labels == {}
    told = " ".join(found.notes)
    assert "lists or objects are left out: tokens, meta.tags" in told or "left out: meta.tags, tokens" in told
    assert "3 rows without an answer" in told
    assert "1 answer ignored" in told


def test_without_a_truth_the_majority_is_the_label(export):
    ask = {"format": "prodigy", "majority_label": True, "features": ["text"]}
    found = read_cases(export(CHOICES), **ask, classes=["a", "b"])
    assert found.table.labels.tolist() == ["b", "b"]  # the tie of item -5: b is more frequent over all
    assert found.table.answer_idx.tolist() == [[0, 1, -1], [1, -1, 1]]
    with pytest.raises(TableError, match=r"news\.jsonl: row 1, column answer: answer 'a' is not one of b"):
        read_cases(export(CHOICES), **ask)


def test_a_field_that_holds_the_truth(export):
    lines = [chosen(1, "ann", "a", meta={"gold": "a"}), chosen(2, "ann", "b", meta={"gold": "a"})]
    found = read_prodigy(export(lines), label="meta.gold")
    assert found.labels == {"field": ["a", "a"]}
    assert list(found.items.columns) == ["_input_hash", "text"]
    with pytest.raises(TableError, match="no column 'silver' for the label"):
        read_prodigy(export(lines), label="silver")


def test_binary_decisions_about_one_label(export):
    lines = [
        line(1, "ann", "accept", label="SPAM"),
        line(1, "bo", "reject", label="SPAM"),
        line(2, "ann", "ignore", label="SPAM"),
        line(2, "bo", "reject", label="SPAM"),
    ]
    found = read_prodigy(export(lines))
    assert found.answers.to_frame().to_numpy().tolist() == [["SPAM", "not SPAM"], [None, "not SPAM"]]


def test_a_rejection_among_several_labels_names_no_class(export):
    lines = [line(1, "ann", "accept", label="SPAM"), line(1, "bo", "reject", label="SPAM"), line(2, "bo", label="HAM")]
    found = read_prodigy(export(lines))
    assert found.answers.to_frame().to_numpy().tolist() == [["SPAM", None], [None, "HAM"]]
    assert found.answers.n_blank == 1


def test_sessions_name_people_too(export):
    one = chosen(1, None, "a")
    found = read_prodigy(export([one, chosen(1, None, "b", _session_id="2024-02-06_10-17-19")]))
    assert found.answers.expert_names == ("2024-02-06_10-17-19", "session of None")
    assert any("one person may be several experts" in note for note in found.notes)


def test_another_key(export):
    lines = [chosen(1, "ann", "a", doc="x"), chosen(2, "bo", "a", doc="x")]
    found = read_prodigy(export(lines), key="doc")
    assert found.items["doc"].tolist() == ["x"]
    assert len(found.answers) == 2


def test_several_options(export):
    path = export([chosen(1, "ann", "b", "a"), chosen(1, "bo", "a")])
    with pytest.raises(TableError, match="row 1: expected one answer to the choice, got 2: b, a; keep one"):
        read_prodigy(path)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        ({"answer": "maybe"}, "row 1: 'answer' must be accept, reject or ignore, got maybe"),
        ({"accept": "a"}, "row 1: 'accept' must be a list, got a text"),
        ({"accept": [{}]}, "row 1: 'accept' must be a list of option ids"),
        ({"_input_hash": None}, "row 1: '_input_hash' must name the item, got None; name a field with key"),
        ({"_annotator_id": None, "_session_id": " "}, "row 1: expected who answered, as '_annotator_id' or"),
    ],
)
def test_lines_that_cannot_be_used(export, one, message):
    with pytest.raises(TableError, match=message):
        read_prodigy(export([{**chosen(1, "ann", "a"), **one}]))


def test_lines_without_a_choice_or_a_label(export):
    with pytest.raises(TableError, match="row 1: expected the options chosen in 'accept' or a text in 'label'"):
        read_prodigy(export([line(1, "ann")]))


def test_a_meta_that_is_no_object_has_no_fields(export):
    lines = [chosen(1, "ann", "a", meta="from the web"), chosen(2, "ann", "b", meta={"gold": "b"})]
    assert read_prodigy(export(lines), label="meta.gold").labels == {"field": [None, "b"]}
    with pytest.raises(TableError, match=r"no column 'meta\.silver' for the label"):
        read_prodigy(export(lines), label="meta.silver")


def read_lines(path, *, key=None, known=None):
    return PRODIGY.read_open(path, key=key, control=None, known_key=known, known_control=None)


def test_open_tasks_need_no_answer(export):
    path = export([{"text": "one", "meta": {"year": 1}}, {"text": "two", "label": "SPAM", "_input_hash": 5}])
    found = read_lines(path)
    assert found.key is None
    assert found.items.to_dict("list") == {
        "text": ["one", "two"],
        "meta.year": [1.0, pytest.approx(float("nan"), nan_ok=True)],
    }
    assert found.items.index.tolist() == [0, 1]
    lines = [{"text": "one", "_input_hash": 7}, {"text": "one", "_input_hash": 7}, {"text": "two", "_input_hash": -2}]
    found = read_lines(export(lines))
    assert (found.key, found.items["_input_hash"].tolist(), found.items.index.tolist()) == (
        "_input_hash",
        ["7", "-2"],
        [0, 2],
    )
    named = export([{**line, "doc": name} for line, name in zip(lines, "xyz", strict=True)])
    assert read_lines(named, key="doc").items["doc"].tolist() == ["x", "y", "z"]
    assert read_lines(named, known="doc").key == "doc"
    assert read_lines(named, known="case").key == "_input_hash"
    with pytest.raises(TableError, match="row 1: 'case' must name the item, got None"):
        read_lines(named, key="case")
