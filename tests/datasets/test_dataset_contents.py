"""Each data set as it lies in DEFERO_DATA: counts, labels, how often its annotators are right, checksums."""

import gzip
import hashlib
import os

import numpy as np
import pandas as pd
import pytest
from cifar_batches import planes, python2_batch

from defero.datasets import (
    DATASETS,
    chexpert_tables,
    cifar10,
    cifar10h,
    cifar10h_networks,
    cifar10n,
    credit_default,
    get_dataset,
    hatespeech,
    keswani_toxicity,
    labelme_crowd,
    lewidi_hs_brexit,
    lewidi_md_agreement,
    llm_routing_7,
    llm_routing_9,
    recidivism_people,
    sentiment_polarity_crowd,
)
from defero.datasets.cifar import cifar10_labels, read_piece, read_python_batch
from defero.datasets.folder import data_folder
from defero.datasets.tables import FINDINGS, READ_BY_NETWORKS

pytestmark = pytest.mark.skipif(
    not os.environ.get("DEFERO_DATA"), reason="DEFERO_DATA names no folder with the real data"
)
CIFAR10 = DATASETS.find("cifar10").arrays


def array_sha256(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def right(table):
    """Return the share of all given answers that are right."""
    return table.correct.sum() / table.observed.sum()


@pytest.mark.parametrize("name", DATASETS)
def test_checksums_hold(name):
    fetched = get_dataset(name)
    assert fetched.downloaded == ()
    assert {file.standing for file in fetched.files} == {"as registered"}


def test_cifar10_test_pictures_and_all_labels():
    images, labels = read_piece(data_folder(), "test")
    assert images.shape == (10_000, 32, 32, 3)
    assert array_sha256(images) == CIFAR10["test"]
    assert array_sha256(labels.astype(np.uint8)) == CIFAR10["test_labels"]
    train = cifar10_labels(part="train")
    assert array_sha256(train.astype(np.uint8)) == CIFAR10["train_labels"]
    assert np.bincount(labels).tolist() == [1000] * 10
    assert np.bincount(train).tolist() == [5000] * 10


def test_cifar10_from_the_mosaic_is_cifar10_from_a_batch(tmp_path):
    images, labels = read_piece(data_folder(), "test")
    (tmp_path / "python").write_bytes(python2_batch(planes(images), labels))
    again = read_python_batch(tmp_path / "python")
    np.testing.assert_array_equal(again[0], images)
    np.testing.assert_array_equal(again[1], labels)
    assert array_sha256(again[0]) == CIFAR10["test"]


@pytest.mark.slow
def test_all_of_cifar10():
    every = cifar10()
    assert len(every) == 60_000
    for number in range(5):
        assert array_sha256(every.images[10_000 * number : 10_000 * (number + 1)]) == CIFAR10[f"train{number + 1}"]
    assert array_sha256(every.images[50_000:]) == CIFAR10["test"]


def test_cifar10n_is_in_the_order_of_cifar10():
    table = cifar10n()
    assert table.answer_idx.shape == (50_000, 3)
    assert array_sha256(table.labels.astype(np.uint8)) == CIFAR10["train_labels"]
    np.testing.assert_allclose(table.correct.mean(axis=0), [0.82766, 0.81878, 0.8236])


def test_cifar10h_is_in_the_order_of_cifar10():
    votes = cifar10h()
    assert array_sha256(votes.labels.astype(np.uint8)) == CIFAR10["test_labels"]
    assert votes.votes.sum() == 511_000
    assert votes.vote_accuracy() == pytest.approx(0.952360, abs=1e-6)
    networks = cifar10h_networks()
    assert networks.n_experts == 11
    accuracy = dict(zip(networks.expert_names, networks.correct.mean(axis=0), strict=True))
    assert accuracy["shake_shake_26_2x64d_SSI_cutout16"] == pytest.approx(0.973)
    assert accuracy["vgg_15_BN_64"] == pytest.approx(0.9318)


def test_our_form_of_the_tweets_holds_the_bytes_of_the_source():
    ours, source = DATASETS.find("hatespeech").files
    content = gzip.decompress((data_folder() / ours.path).read_bytes())
    assert hashlib.sha256(content).hexdigest() == source.sha256


def test_tweets_are_labelled_by_most_votes():
    every, published = hatespeech(), hatespeech(rows="as_published")
    assert np.bincount(every.labels).tolist() == [1430, 19_190, 4163]
    assert np.bincount(published.labels).tolist() == [1194, 16_025, 3280]
    assert (len(every), len(published)) == (24_783, 20_499)
    assert (every.votes[np.arange(len(every)), every.labels] == every.votes.max(axis=1)).all()
    assert every.vote_accuracy() == pytest.approx(0.904557, abs=1e-6)
    assert not published.features["text"].str.contains(",").any()
    # Whole tweets without a comma or a line break, and first lines of the others.
    whole = int((~every.features["text"].str.contains("[,\n]")).sum())
    assert (whole, len(published) - whole) == (19_697, 802)


def test_film_review_sentences():
    table, test, every = (sentiment_polarity_crowd(part=part) for part in ("train", "test", "all"))
    assert (len(table), len(test), len(every), table.n_experts) == (4999, 3999, 8998, 203)
    assert int(table.observed.sum()) == 27_746
    assert right(table) == pytest.approx(0.789483, abs=1e-6)
    assert not test.observed.any()
    assert np.bincount(every.labels).tolist() == [4408, 4590]
    vectors = sentiment_polarity_crowd(features="minilm").features
    assert (vectors.shape, vectors.dtype) == ((4999, 384), np.float32)


def test_toxic_posts():
    table = keswani_toxicity()
    assert (len(table), table.n_experts, int(table.observed.sum())) == (1471, 170, 12_408)
    assert np.bincount(table.labels).tolist() == [488, 983]
    assert right(table) == pytest.approx(0.772969, abs=1e-6)
    assert sorted(table.features.columns) == ["dialect", "text"]
    assert keswani_toxicity(features="minilm").features.shape == (1471, 384)


def test_labelme_scenes():
    table, valid, test = (labelme_crowd(part=part) for part in ("train", "valid", "test"))
    assert (len(table), len(valid), len(test), table.n_experts) == (1000, 500, 1188, 59)
    assert int(table.observed.sum()) == 2547
    assert right(table) == pytest.approx(0.740479, abs=1e-6)
    assert np.bincount(test.labels).tolist() == [122, 131, 164, 132, 124, 150, 177, 188]
    assert table.features.shape == (1000, 512)


def test_chest_films():
    tables = chexpert_tables()
    assert tuple(tables) == FINDINGS
    for finding, table in tables.items():
        networks = finding in READ_BY_NETWORKS
        assert (len(table), table.n_experts) == (500, 11 if networks else 3)
        assert table.observed.all()
        assert (table.features is not None) == networks
    positive = [int(table.labels.sum()) for table in tables.values()]
    assert positive == [62, 253, 151, 264, 8, 78, 29, 11, 153, 9, 104, 4, 5, 261]
    np.testing.assert_allclose(tables["Edema"].correct.mean(axis=0)[:3], [0.87, 0.81, 0.872])
    assert tables["Atelectasis"].features.shape == (500, 10)


def test_the_truth_of_a_film_is_the_majority_of_the_five_other_readers():
    home = data_folder() / "chexpert_test_readers"
    read = [
        pd.read_csv(home / f"radiologists__groundtruth__bc{who}_gt.csv").set_index("Study") for who in (1, 2, 3, 5, 7)
    ]
    for finding, table in chexpert_tables().items():
        majority = (sum(one[finding] for one in read) >= 3).astype(int)
        np.testing.assert_array_equal(table.labels, majority)


def test_defendants_judged_by_laypeople():
    hidden, shown = recidivism_people(), recidivism_people(race_shown=True)
    for table, accuracy in ((hidden, 0.62135), (shown, 0.62285)):
        assert (len(table), table.n_experts, int(table.answer_counts.sum())) == (1000, 400, 20_000)
        assert set(table.answer_counts.tolist()) == {50}
        assert right(table) == pytest.approx(accuracy, abs=1e-6)
    # The published accuracy of the majority of twenty: 67.0 and 66.5 %.
    for table, accuracy in ((hidden, 0.670), (shown, 0.665)):
        votes = (table.answer_idx == 1).sum(axis=1)
        assert np.mean((votes > 10) == table.label_idx) == pytest.approx(accuracy, abs=5e-4)
    assert "race" not in hidden.features
    assert "race" in shown.features
    every = recidivism_people(part="all", features="all")
    assert (len(every), int(every.label_idx.sum()), int(every.answer_counts.sum())) == (7214, 3251, 20_000)
    assert {"race", "compas_decile_score"} <= set(every.features)
    assert not {"two_year_recid", "id"} & set(every.features)


def test_credit_card_clients():
    clients = credit_default()
    assert clients.shape == (30_000, 24)
    assert clients["sex"].value_counts().to_dict() == {"female": 18_112, "male": 11_888}
    assert set(clients["education"]) == {"graduate school", "university", "high school", "other"}
    assert clients["default_next_month"].sum() == 6636


def test_six_people_on_brexit():
    loaded, dropped = lewidi_hs_brexit(), lewidi_hs_brexit(ties="drop")
    assert (len(loaded), loaded.table.n_experts, int(loaded.tied.sum()), len(dropped)) == (1120, 6, 84, 1036)
    assert loaded.table.observed.all()
    assert np.bincount(loaded.table.labels).tolist() == [1011, 109]
    assert int(loaded.table.labels[loaded.tied].sum()) == 44
    assert right(loaded.table) == pytest.approx(0.903423, abs=1e-6)
    assert dict(zip(*np.unique(loaded.split, return_counts=True), strict=True)) == {
        "train": 784,
        "dev": 168,
        "test": 168,
    }
    assert loaded.agreement().shape == (6,)


def test_many_people_on_offence():
    loaded = lewidi_md_agreement()
    assert (len(loaded), loaded.table.n_experts, bool(loaded.tied.any())) == (10_753, 819, False)
    assert int(loaded.table.observed.sum()) == 53_764  # one of 53,765 answers repeats its annotator
    assert np.bincount(loaded.table.labels).tolist() == [7385, 3368]
    assert right(loaded.table) == pytest.approx(0.8274, abs=1e-4)


def test_nine_language_models():
    table = llm_routing_9()
    assert (len(table), table.n_experts, table.features["task"].nunique()) == (6108, 9, 14)
    means = dict(zip(table.expert_names, table.scores.mean(axis=0), strict=True))
    assert means["llama-3.1-nemotron-51b-instruct"] == pytest.approx(0.616514, abs=1e-6)
    assert set(table.prices) == set(table.expert_names)
    assert table.prices["gemma-2-9b-it"] == (0.1, 0.1)
    assert table.features["split"].value_counts().to_dict() == {"train": 5608, "test": 500}
    plain = table.features["task"] != "commongen"
    assert np.isin(table.scores[plain], [0, 1]).all()


def test_seven_language_models():
    table = llm_routing_7()
    assert (len(table), table.n_experts, table.features["task"].nunique()) == (20_600, 7, 16)
    assert table.prices == {}
    np.testing.assert_allclose(table.scores.mean(axis=0)[[0, 6]], [0.393638, 0.494563], atol=1e-6)
    choice = table.features["task"].str.contains("arc|mmlu|ceval")
    chosen = table.scores[choice]
    assert chosen[chosen > 0].min() >= 0.25
    tenths = table.features["task"].str.contains("gsm8k|humaneval|mbpp|javascript")
    np.testing.assert_allclose(table.scores[tenths] * 10, np.rint(table.scores[tenths] * 10), atol=1e-9)
