"""What feeds give: every item once, the same again, and together the whole."""

import numpy as np
import pytest
import torch
from deep_cases import feed, pictures
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from defero.core.errors import InputError
from defero.data.recipes.pictures import PictureFiles
from defero.training.answer_source import FixedAnswers
from defero.training.feeds import DeviceFeed, DiskFeed, Rank, run_of, share_of
from defero.training.pictures import Augmentation
from defero.training.verdicts import Verdicts

CPU = torch.device("cpu")


def numbered(n_items, *, seed=0):
    """Items whose only number is their place, so that batches can be read."""
    answers = FixedAnswers(Verdicts(torch.arange(n_items)[:, None] % 2 == 0))
    made = DeviceFeed(torch.arange(n_items).float()[:, None], torch.arange(n_items) % 3, answers, seed=seed)
    made.place(CPU)
    return made


@given(st.integers(1, 40), st.integers(1, 12), st.booleans(), st.integers(0, 5))
def test_an_epoch_has_every_item_once(n_items, batch_size, drop_last, epoch):
    made = numbered(n_items)
    batches = list(made.batches(epoch, batch_size=batch_size, drop_last=drop_last))
    seen = torch.cat([batch.inputs[:, 0] for batch in batches]).long()
    assert len(batches) == made.steps(batch_size, drop_last=drop_last)
    assert len(seen.unique()) == len(seen)
    whole = n_items if not drop_last or n_items < batch_size else n_items - n_items % batch_size
    assert len(seen) == whole
    for batch in batches:
        items = batch.inputs[:, 0].long()
        assert torch.equal(batch.labels, items % 3)
        assert torch.equal(batch.verdicts.correct[:, 0], items % 2 == 0)
        assert batch.n_together == len(items)


@given(st.integers(2, 30), st.integers(0, 4), st.integers(1, 4))
def test_processes_share_a_batch_without_rest(n_items, start, world):
    whole = slice(start, start + n_items)
    shares = [share_of(whole, Rank(rank, world)) for rank in range(world)]
    assert [place for s in shares for place in range(s.start, s.stop)] == list(range(start, start + n_items))
    assert max(s.stop - s.start for s in shares) - min(s.stop - s.start for s in shares) <= 1
    runs = torch.cat([run_of(n_items, piece=Rank(rank, world)) for rank in range(world)])
    assert runs[:n_items].tolist() == list(range(n_items))


def test_shares_are_those_of_one_process_crops_included():
    one = feed()
    one.place(CPU)
    whole = list(one.batches(1, batch_size=16, drop_last=True))
    parts = [list(one.batches(1, batch_size=16, drop_last=True, piece=Rank(rank, 2))) for rank in (0, 1)]
    for batch, first, second in zip(whole, *parts, strict=True):
        assert torch.equal(batch.inputs, torch.cat([first.inputs, second.inputs]))
        assert torch.equal(batch.labels, torch.cat([first.labels, second.labels]))
        assert first.n_together == 16


def test_an_epoch_can_be_entered_in_the_middle():
    made = feed()
    made.place(CPU)
    whole = list(made.batches(2, batch_size=16, drop_last=True))
    late = list(made.batches(2, batch_size=16, drop_last=True, start=1))
    assert torch.equal(whole[1].inputs, late[0].inputs)
    assert len(late) == len(whole) - 1


def test_epochs_differ():
    made = numbered(30)
    first, second = (next(iter(made.batches(epoch, batch_size=30, drop_last=True))).inputs for epoch in (0, 1))
    assert not torch.equal(first, second)


def test_in_order_nothing_is_changed():
    made = feed(10)
    made.place(CPU)
    assert torch.equal(torch.cat(list(made.in_order(4))), pictures(10)[0])


@pytest.fixture
def folder(tmp_path):
    for item, picture in enumerate(pictures(12)[0].numpy()):
        Image.fromarray(picture).save(tmp_path / f"{item}.png")
    return tmp_path


def on_disk(folder, *, workers=0, **options):
    labels = pictures(12)[1]
    answers = FixedAnswers(Verdicts(labels[:, None] == 0))
    made = DiskFeed(
        PictureFiles([folder / f"{item}.png" for item in range(12)], (8, 8)),
        labels,
        answers,
        seed=0,
        workers=workers,
        **options,
    )
    made.place(CPU)
    return made


def test_the_disk_gives_what_memory_gives(folder):
    made = on_disk(folder)
    images, labels = pictures(12)
    assert torch.equal(torch.cat(list(made.in_order(5))), images)
    for batch in made.batches(3, batch_size=4, drop_last=True):
        for picture, label in zip(batch.inputs, batch.labels, strict=True):
            (item,) = torch.nonzero((images == picture).flatten(1).all(1))[0].tolist()
            assert labels[item] == label


def test_workers_change_nothing_and_neither_do_processes(folder):
    change = Augmentation(pad=2, cutout=2)
    alone = list(on_disk(folder, augmentation=change).batches(1, batch_size=6, drop_last=True))
    helped = list(on_disk(folder, augmentation=change, workers=1).batches(1, batch_size=6, drop_last=True))
    shares = [
        list(on_disk(folder, augmentation=change).batches(1, batch_size=6, drop_last=True, piece=Rank(rank, 2)))
        for rank in (0, 1)
    ]
    for batch, other, first, second in zip(alone, helped, *shares, strict=True):
        assert torch.equal(batch.inputs, other.inputs)
        assert torch.equal(batch.inputs, torch.cat([first.inputs, second.inputs]))


def test_pictures_are_resized(folder):
    labels = pictures(12)[1]
    made = DiskFeed(
        PictureFiles([folder / "0.png"] * 12, (4, 6)),
        labels,
        FixedAnswers(Verdicts(labels[:, None] == 0)),
        seed=0,
        workers=0,
    )
    made.place(CPU)
    assert next(iter(made.in_order(3))).shape == (3, 4, 6, 3)


def test_what_does_not_fit_is_told(folder):
    labels = torch.zeros(12, dtype=torch.long)
    answers = FixedAnswers(Verdicts(labels[:, None] == 0))
    with pytest.raises(InputError, match="inputs must have one row per label, at least one, got 3 for 12 labels"):
        DeviceFeed(torch.zeros(3, 2), labels, answers, seed=0)
    with pytest.raises(InputError, match=r"pictures must be bytes \(n, height, width, colours\)"):
        DeviceFeed(torch.zeros(12, 2, dtype=torch.uint8), labels, answers, seed=0)
    with pytest.raises(InputError, match="augmentation is for pictures of dtype uint8"):
        DeviceFeed(torch.zeros(12, 2), labels, answers, seed=0, augmentation=Augmentation())
    with pytest.raises(InputError, match="files must be one per label, at least one, got 1 for 12 labels"):
        DiskFeed(PictureFiles(["a"], (8, 8)), labels, answers, seed=0)
    with pytest.raises(InputError, match="batch_size must be at least 2, an item for each process, got 1"):
        next(iter(numbered(9).batches(0, batch_size=1, drop_last=True, piece=Rank(0, 2))))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_broken_picture_is_named(folder, workers):
    (folder / "7.png").write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"row 7: expected a picture in .*7\.png, .*Pillow cannot read it"):
        list(on_disk(folder, workers=workers).in_order(12))


def test_numbers_go_through_unchanged():
    made = numbered(4)
    assert made.prepare(torch.ones(2, 1)).eq(1).all()
    assert np.isclose(made.verdicts().correct.float().mean(), 0.5)
