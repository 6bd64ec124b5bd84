"""Crowds and language models in the sources' own forms, written small by the test."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from defero.core.errors import InputError
from defero.core.table import ExpertTable
from defero.data.answers.read_log import join_answers
from defero.datasets import (
    DATASETS,
    AgreementSet,
    chexpert_tables,
    credit_default,
    hatespeech,
    keswani_toxicity,
    labelme_crowd,
    lewidi_hs_brexit,
    llm_routing_7,
    recidivism_people,
    sentiment_polarity_crowd,
)
from defero.datasets.tables import FINDINGS, READ_BY_NETWORKS

TWEETS = """,count,hate_speech,offensive_language,neither,class,tweet
0,3,0,0,3,2,plain
1,3,0,3,0,1,"with ""quotes"" only"
2,3,2,1,0,0,"a comma, here"
3,6,1,4,1,1,"two
lines"
4,3,0,0,3,2,NA
"""


def test_tweets_by_a_real_parser_and_as_published(tmp_path):
    (tmp_path / "hatespeech").mkdir()
    (tmp_path / "hatespeech" / "labeled_data.csv").write_text(TWEETS)
    every, published = (hatespeech(folder=tmp_path, rows=rows) for rows in ("all", "as_published"))
    assert every.features["text"].tolist() == [
        "plain",
        'with "quotes" only',
        "a comma, here",
        "two\nlines",
        "NA",
    ]
    assert every.votes.tolist() == [[0, 0, 3], [0, 3, 0], [2, 1, 0], [1, 4, 1], [0, 0, 3]]
    assert every.vote_accuracy() == 15 / 18
    # The first line of a tweet of two lines has six commas too.
    assert published.labels.tolist() == [2, 1, 1, 2]
    assert published.features["text"].tolist() == ["plain", '"with ""quotes"" only"', '"two', "NA"]


def test_wrong_tweets_are_told(tmp_path):
    (tmp_path / "hatespeech").mkdir()
    (tmp_path / "hatespeech" / "labeled_data.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="must begin with the columns ,count,hate_speech"):
        hatespeech(folder=tmp_path)
    with pytest.raises(InputError, match="rows must be one of all, as_published"):
        hatespeech(folder=tmp_path, rows="some")


def test_sentences_from_the_list_of_answers_of_their_source(tmp_path):
    home = tmp_path / "sentiment_polarity_crowd" / "sentiment_polarity"
    home.mkdir(parents=True)
    (home / "mturk_answers.csv").write_text(
        "WorkerId,Input.id,Input.original_sentence,Input.stemmed_sent,Input.true_sent,Answer.sent\n"
        'W2,7,"good , very",good,pos,pos\nW1,7,"good , very",good,pos,neg\nW1,3,bad,bad,neg,neg\n'
    )
    table = sentiment_polarity_crowd(folder=tmp_path)
    assert table.expert_names == ("W1", "W2")
    assert table.labels.tolist() == [1, 0]
    assert table.answer_idx.tolist() == [[0, 1], [0, -1]]
    assert table.features["text"].tolist() == ["good , very", "bad"]
    with pytest.raises(InputError, match="has the training part alone"):
        sentiment_polarity_crowd(folder=tmp_path, part="test")
    with pytest.raises(InputError, match="only our form of the data has embeddings; pass features='text'"):
        sentiment_polarity_crowd(folder=tmp_path, features="minilm")
    with pytest.raises(InputError, match="part must be"):
        sentiment_polarity_crowd(folder=tmp_path, part="dev")


def test_posts_from_the_wide_table_of_their_source(tmp_path):
    (tmp_path / "keswani_toxicity").mkdir()
    path = tmp_path / "keswani_toxicity" / "all_results.csv"
    path.write_text(',Tweet,True Label,Dialect,Expert 1,Expert 2,Expert 10\n0,"a, b",1,0,1,-,-\n1,c,0,1,1,-,0\n')
    table = keswani_toxicity(folder=tmp_path)
    assert table.expert_names == ("Expert 1", "Expert 10")  # who answered nothing is left out
    assert table.answer_idx.tolist() == [[1, -1], [1, 0]]
    assert table.features.to_numpy().tolist() == [["a, b", 0], ["c", 1]]
    with pytest.raises(InputError, match="features must be one of text, minilm, got 'bert'"):
        keswani_toxicity(folder=tmp_path, features="bert")
    path.write_text(",Tweet,Dialect\n0,a,1\n")
    with pytest.raises(InputError, match="True Label is missing"):
        keswani_toxicity(folder=tmp_path)


def test_labelme_from_the_prepared_arrays_of_its_source(tmp_path):
    rng = np.random.default_rng(5)
    home = tmp_path / "labelme_crowd" / "LabelMe" / "prepared"
    home.mkdir(parents=True)
    for part, n in [("train", 3), ("valid", 2), ("test", 4)]:
        np.save(home / f"data_{part}_vgg16.npy", rng.random((n, 2, 2, 5)))
        np.save(home / f"labels_{part}.npy", np.arange(n, dtype=np.float64))
    np.save(home / "answers.npy", np.array([[0, -1, -1], [1, -1, 2], [-1, -1, 2]], dtype=np.float64))
    table = labelme_crowd(folder=tmp_path)
    assert table.answers.tolist() == [[0, -1], [1, 2], [-1, 2]]
    assert (table.features.shape, table.n_classes) == ((3, 20), 8)
    test = labelme_crowd(folder=tmp_path, part="test")
    assert (len(test), test.n_experts, int(test.observed.sum())) == (4, 2, 0)
    with pytest.raises(InputError, match="part must be one of train, valid, test, got 'all'"):
        labelme_crowd(folder=tmp_path, part="all")


def test_clients_from_the_sheet_of_their_source(tmp_path):
    (tmp_path / "credit_default").mkdir()
    path = tmp_path / "credit_default" / "default_of_credit_card_clients.csv"
    names = "ID,LIMIT_BAL,SEX,EDUCATION,MARRIAGE,AGE,PAY_0,default payment next month"
    path.write_text(f",X1,X2,X3,X4,X5,X6,Y\n{names}\n1,20000,2,2,1,24,2,1\n2,9,1,6,0,30,-1,0\n")
    clients = credit_default(folder=tmp_path)
    assert clients.to_dict("list") == {
        "limit_bal": [20_000, 9],
        "sex": ["female", "male"],
        "education": ["university", "other"],
        "marriage": ["married", "other"],
        "age": [24, 30],
        "pay_0": [2, -1],
        "default_next_month": [1, 0],
    }
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="line of column names that begins with ID"):
        credit_default(folder=tmp_path)


def test_defendants_with_and_without_answers(tmp_path):
    home = tmp_path / "recidivism_people"
    home.mkdir()
    columns = "id,race,sex,age,juv_fel_count,juv_misd_count,priors_count,charge_degree,compas_decile_score"
    rows = ["3,black,male,34,0,0,0,felony,3,1,Battery", "5,white,female,20,0,1,2,misdemeanor,9,0,NA"]
    header = f"{columns},two_year_recid,charge"
    pd.DataFrame([row.split(",") for row in rows], columns=header.split(",")).to_csv(
        home / "defendants.csv.gz", index=False
    )
    for name in ("not_shown", "shown"):
        pd.DataFrame({"id": [5, 5], "person": [22, 11], "answer": [0, 1]}).to_csv(
            home / f"answers_race_{name}.csv.gz", index=False
        )
    table = recidivism_people(folder=tmp_path)
    assert table.expert_names == ("person_11", "person_22")
    assert table.features["charge"].tolist() == ["NA"]
    every = recidivism_people(folder=tmp_path, part="all")
    assert every.answer_idx.tolist() == [[-1, -1], [1, 0]]
    with pytest.raises(InputError, match="part must be one of judged, all"):
        recidivism_people(folder=tmp_path, part="train")


def write_films(folder, *, studies):
    """Write each table of the registry for two films: film a has every finding, film b none."""
    for file in DATASETS.find("chexpert-readers").files:
        path = folder / file.path
        path.parent.mkdir(exist_ok=True)
        order = ["a", "b"] if path.name == "groundtruth.csv" else studies
        columns = FINDINGS if "radiologists" in path.name or path.name == "groundtruth.csv" else READ_BY_NETWORKS
        rows = [",".join([study, *("1" if study == "a" else "0" for _ in columns)]) for study in order]
        path.write_text("\n".join([",".join(["Study", *columns]), *rows]))


def test_films_are_found_by_their_names(tmp_path):
    write_films(tmp_path, studies=["b", "a"])
    tables = chexpert_tables(folder=tmp_path)
    table = tables["Edema"]
    assert table.labels.tolist() == [1, 0]
    assert table.correct.all()
    assert table.features.to_numpy().tolist() == [[1] * 10, [0] * 10]
    assert tables["Fracture"].expert_names == ("bc4", "bc6", "bc8")
    write_films(tmp_path, studies=["a", "c"])
    with pytest.raises(InputError, match="must have one row for each of the 2 studies"):
        chexpert_tables(folder=tmp_path)


def lewidi_item(said, who, label):
    return {
        "text": "t",
        "annotations": ",".join(map(str, said)),
        "annotators": ",".join(who),
        "hard_label": str(label),
        "lang": "en",
        "other_info": {"domain": "d"},
    }


def write_lewidi(folder, *items):
    home = folder / "lewidi" / "data_post-competition" / "HS-Brexit_dataset"
    home.mkdir(parents=True, exist_ok=True)
    for part in ("train", "dev", "test"):
        content = {str(number): item for number, item in enumerate(items, start=1)} if part == "train" else {}
        (home / f"HS-Brexit_{part}.json").write_text(json.dumps(content))


def test_disagreements_from_the_json_of_their_source(tmp_path):
    people = ["Ann1", "Ann2", "Ann10", "Ann4"]
    write_lewidi(
        tmp_path,
        lewidi_item([0, 0, 1, 0], people, 0),
        lewidi_item([0, 1, 1, 0], people, 1),
        lewidi_item([1, 1, 1, 0], people, 1),
    )
    loaded = lewidi_hs_brexit(folder=tmp_path)
    assert loaded.table.expert_names == ("Ann1", "Ann2", "Ann4", "Ann10")
    assert loaded.table.labels.tolist() == [0, 1, 1]
    assert loaded.tied.tolist() == [False, True, False]
    assert loaded.split.tolist() == ["train"] * 3
    assert loaded.agreement().tolist() == [2 / 3, 1, 1 / 3, 2 / 3]
    dropped = lewidi_hs_brexit(folder=tmp_path, ties="drop")
    assert (len(dropped), dropped.tied.any()) == (2, np.False_)
    with pytest.raises(InputError, match="ties must be one of source, drop"):
        lewidi_hs_brexit(folder=tmp_path, ties="0")


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (lewidi_item([0, 0, 1], ["a", "b", "c"], 1), "a label is not the majority of its annotators"),
        (lewidi_item([0, 0, 1], ["a", "b"], 0), "item 1 has 2 annotators and 3 annotations"),
    ],
)
def test_wrong_disagreements_are_told(tmp_path, item, said):
    write_lewidi(tmp_path, item)
    with pytest.raises(InputError, match=said):
        lewidi_hs_brexit(folder=tmp_path)


def test_scores_from_the_json_of_their_source(tmp_path):
    home = tmp_path / "llm_routing_7"
    home.mkdir()
    names = [Path(file.path).name for file in DATASETS.find("llm-routing-7").of_form("source")]
    for name in names:
        rows = [{"question": f"q of {name}", "scores": {"a": 0, "b": 0.25}, "cluster_id": 3}]
        (home / name).write_text(json.dumps(rows))
    table = llm_routing_7(folder=tmp_path)
    assert (len(table), table.expert_names, table.n_experts) == (16, ("a", "b"), 2)
    assert table.correct(at_least=0.25).tolist() == [[False, True]] * 16
    assert sorted(table.features["task"]) == sorted(name.removesuffix(".json") for name in names)
    (home / "ceval.json").write_text('{"question": "q"}')
    with pytest.raises(InputError, match=r"ceval\.json must be a list of questions with their scores"):
        llm_routing_7(folder=tmp_path)


def write_answers(folder, answers):
    home = folder / "keswani_toxicity"
    home.mkdir(exist_ok=True)
    items = pd.DataFrame({"item": [1, 2], "text": ["a", "b"], "gold": [0, 1], "dialect": [0, 0]})
    items.to_csv(home / "items.csv.gz", index=False)
    answers.to_csv(home / "annotations.csv.gz", index=False)
    np.save(home / "minilm.npy", np.zeros((2, 384)))


def test_the_last_of_repeated_answers_counts_as_it_does_in_a_users_own_file(tmp_path):
    answers = pd.DataFrame({"item": [1, 2, 1, 2], "annotator": ["a", "a", "a", "b"], "label": [0, 1, 1, 0]})
    write_answers(tmp_path, answers)
    table = keswani_toxicity(folder=tmp_path)
    assert table.answer_idx.tolist() == [[1, -1], [1, 0]]
    own = join_answers(pd.DataFrame({"item": [1, 2]}), answers).to_frame()
    assert own.to_numpy().tolist() == [[1, None], [1, 0]]


def test_a_crowd_stays_sparse(tmp_path):
    write_answers(tmp_path, pd.DataFrame({"item": [1], "annotator": ["a"], "label": [0]}))
    assert not isinstance(keswani_toxicity(folder=tmp_path).answers, np.ndarray | pd.DataFrame)
    write_lewidi(tmp_path, lewidi_item([0, 0], ["a", "b"], 0), lewidi_item([1, 1], ["a", "c"], 1))
    assert not isinstance(lewidi_hs_brexit(folder=tmp_path).table.answers, np.ndarray | pd.DataFrame)


def test_an_answer_to_no_item_is_told(tmp_path):
    write_answers(tmp_path, pd.DataFrame({"item": [1, 9], "annotator": ["a", "a"], "label": [0, 1]}))
    with pytest.raises(InputError, match="items has no item '9'"):
        keswani_toxicity(folder=tmp_path)


def test_an_answer_that_is_no_class_is_told(tmp_path):
    home = tmp_path / "sentiment_polarity_crowd" / "sentiment_polarity"
    home.mkdir(parents=True)
    (home / "mturk_answers.csv").write_text(
        "WorkerId,Input.id,Input.original_sentence,Input.true_sent,Answer.sent\nW1,7,a,pos,pos\nW1,3,b,neg,maybe\n"
    )
    with pytest.raises(InputError, match=r"row 1, column label: answer 'maybe' is not one of 0, 1"):
        sentiment_polarity_crowd(folder=tmp_path)


def test_who_answered_nothing_has_no_agreement():
    table = ExpertTable([0, 1], [[0, -1], [0, -1]], expert_names=["a", "b"])
    found = AgreementSet(table, np.zeros(2, bool), np.full(2, "train")).agreement()
    np.testing.assert_array_equal(found, [0.5, np.nan])
