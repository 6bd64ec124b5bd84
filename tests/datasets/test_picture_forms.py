"""Pictures in the sources' own forms, written small by the test: they say the same as our compact forms."""

import sys

import numpy as np
import pytest
from cifar_batches import planes, python2_batch
from PIL import Image

from defero.core.errors import InputError
from defero.datasets import (
    DATASETS,
    cifar10,
    cifar10h,
    cifar10h_networks,
    cifar10n,
)
from defero.datasets.cifar import cifar10_labels
from defero.datasets.files import form_here

BATCHES = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def pieces(rng):
    """Six small batches: images (4, 32, 32, 3) and labels."""
    return {name: (rng.integers(0, 256, (4, 32, 32, 3), dtype=np.uint8), rng.integers(0, 10, 4)) for name in BATCHES}


def write_batches(folder, pieces):
    home = folder / "cifar10" / "cifar-10-batches-py"
    home.mkdir(parents=True)
    for name, (images, labels) in pieces.items():
        (home / name).write_bytes(python2_batch(planes(images), labels))


def write_mosaics(folder, pieces):
    home = folder / "cifar10"
    home.mkdir(parents=True)
    for number, name in enumerate(BATCHES, start=1):
        rows = pieces[name][0].reshape(2, 2, 32, 32, 3).transpose(0, 2, 1, 3, 4).reshape(64, 64, 3)
        Image.fromarray(rows).save(home / f"{'test' if number == 6 else f'train{number}'}.webp", lossless=True)
    labels = [pieces[name][1].astype(np.uint8) for name in BATCHES]
    np.savez(home / "cifar10_labels.npz", y_train=np.concatenate(labels[:5]), y_test=labels[5])


@pytest.mark.parametrize("form", ["python", "mosaics"])
def test_cifar10_is_the_same_in_every_form(tmp_path, pieces, form):
    if form == "mosaics":
        write_mosaics(tmp_path, pieces)
    else:
        write_batches(tmp_path, pieces)
    every = cifar10(folder=tmp_path)
    np.testing.assert_array_equal(every.images, np.concatenate([images for images, _ in pieces.values()]))
    np.testing.assert_array_equal(every.labels, np.concatenate([labels for _, labels in pieces.values()]))
    assert every.split.tolist() == ["train"] * 20 + ["test"] * 4
    assert (every.ids[0], every.ids[-1], every.n_classes, len(every)) == ("train-0", "test-3", 10, 24)
    assert not every.images.flags.writeable
    assert form_here(tmp_path, DATASETS.find("cifar10")) == ("compact" if form == "mosaics" else "source")
    test = cifar10(folder=tmp_path, part="test")
    np.testing.assert_array_equal(test.images, pieces["test_batch"][0])
    np.testing.assert_array_equal(cifar10_labels(folder=tmp_path, part="test"), test.labels)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x80\x02]q\x00.", "must be a batch of CIFAR-10"),
        (python2_batch(np.zeros((2, 12), np.uint8), [1, 2]), "data of n x 3072 bytes"),
        (python2_batch(np.zeros((2, 3072), np.uint8), [1]), "one label per picture, 2"),
    ],
)
def test_a_wrong_batch_is_told(tmp_path, pieces, content, said):
    write_batches(tmp_path, pieces)
    (tmp_path / "cifar10" / "cifar-10-batches-py" / "test_batch").write_bytes(content)
    with pytest.raises(InputError, match=said):
        cifar10(folder=tmp_path, part="test")


def test_a_wrong_part_is_told(tmp_path):
    with pytest.raises(InputError, match="part must be one of train, test, all, got 'dev'"):
        cifar10(folder=tmp_path, part="dev")


def test_cifar10n_from_the_npy_of_its_authors(tmp_path):
    (tmp_path / "cifar10n").mkdir()
    path = tmp_path / "cifar10n" / "CIFAR-10_human.npy"
    stored = {f"random_label{number}": np.array([0, 1, 2, number - 1]) for number in (1, 2, 3)}
    np.save(path, {"clean_label": np.array([0, 1, 2, 1]), **stored}, allow_pickle=True)
    table = cifar10n(folder=tmp_path)
    assert table.labels.tolist() == [0, 1, 2, 1]
    assert table.answers.tolist() == [[0, 0, 0], [1, 1, 1], [2, 2, 2], [0, 1, 2]]
    np.save(path, {"clean_label": np.array([0])}, allow_pickle=True)
    with pytest.raises(InputError, match="must hold clean_label, random_label1"):
        cifar10n(folder=tmp_path)


def test_cifar10h_from_the_counts_of_its_authors_takes_its_labels_from_cifar10(tmp_path, pieces):
    (tmp_path / "cifar10h").mkdir()
    counts = np.zeros((4, 10), dtype=np.int64)
    counts[np.arange(4), pieces["test_batch"][1]] = [50, 40, 30, 0]
    counts[3, (pieces["test_batch"][1][3] + 1) % 10] = 40
    np.save(tmp_path / "cifar10h" / "cifar10h-counts.npy", counts)
    with pytest.raises(InputError, match="cifar10 is not in"):
        cifar10h(folder=tmp_path)
    write_batches(tmp_path, pieces)
    votes = cifar10h(folder=tmp_path)
    assert votes.votes.tolist() == counts.tolist()
    assert votes.vote_accuracy() == 120 / 160
    with pytest.raises(InputError, match="in our form of CIFAR-10H alone"):
        cifar10h_networks(folder=tmp_path)


def test_pictures_ask_for_pillow(tmp_path, monkeypatch, pieces):
    write_mosaics(tmp_path, pieces)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(InputError, match=r"needs Pillow; pip install 'defero\[pictures\]'"):
        cifar10(folder=tmp_path, part="test")
