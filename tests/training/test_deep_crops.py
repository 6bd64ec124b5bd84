"""Crops of a whole batch against one picture at a time."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from defero.core.errors import InputError
from defero.training.pictures import Augmentation, Normalised, colours, cropped, draw_crops


def slow_crop(picture, *, down, right, mirrored, pad, square, paint):
    """Pad, cut, flip and paint one picture the obvious way."""
    height, width = picture.shape[:2]
    padded = np.pad(picture, ((pad, pad), (pad, pad), (0, 0)), mode="reflect")
    out = padded[down : down + height, right : right + width].copy()
    if mirrored:
        out = out[:, ::-1].copy()
    for y in range(height):
        for x in range(width):
            if square is not None and all(
                first <= place < first + square[2] for place, first in zip((y, x), square[:2], strict=True)
            ):
                out[y, x] = paint
    return out


@pytest.mark.parametrize(
    ("pad", "flip", "cutout"), [(0, False, 0), (2, True, 0), (4, True, 3), (3, False, 4), (1, True, 20)]
)
@pytest.mark.parametrize("size", [(9, 9), (7, 12)])
def test_crops_are_those_of_a_slow_twin(pad, flip, cutout, size):
    height, width = size
    pictures = torch.from_numpy(np.random.default_rng(0).integers(0, 255, (6, height, width, 3)).astype(np.uint8))
    items = torch.tensor([5, 0, 0, 3, 2, 1, 4, 4])
    paint = torch.tensor([1, 2, 3], dtype=torch.uint8)
    augmentation = Augmentation(pad=pad, flip=flip, cutout=cutout)
    crops = draw_crops(
        8, height=height, width=width, augmentation=augmentation, generator=torch.Generator().manual_seed(3)
    )
    ours = cropped(pictures, items, crops, paint=paint)
    again = torch.Generator().manual_seed(3)

    def drawn(below):
        return torch.randint(below, (8, 1), generator=again)[:, 0].tolist()

    down, right, mirrored = drawn(2 * pad + 1), drawn(2 * pad + 1), drawn(2)
    first_row, first_column = (drawn(height), drawn(width)) if cutout else (None, None)
    for place, item in enumerate(items.tolist()):
        twin = slow_crop(
            pictures[item].numpy(),
            down=down[place],
            right=right[place],
            mirrored=flip and bool(mirrored[place]),
            pad=pad,
            square=(first_row[place] - cutout // 2, first_column[place] - cutout // 2, cutout) if cutout else None,
            paint=paint.numpy(),
        )
        np.testing.assert_array_equal(ours[place].numpy(), twin)


def test_nothing_asked_for_changes_nothing():
    pictures = torch.arange(2 * 4 * 5 * 3, dtype=torch.uint8).reshape(2, 4, 5, 3)
    crops = draw_crops(2, height=4, width=5, augmentation=Augmentation(pad=0, flip=False), generator=torch.Generator())
    assert torch.equal(cropped(pictures, torch.tensor([1, 0]), crops, paint=torch.zeros(3)), pictures[[1, 0]])


@given(st.integers(0, 3), st.integers(8, 12), st.integers(8, 12), st.booleans(), st.integers(0, 2**31))
def test_every_shift_and_both_sides_occur_and_stay_inside(pad, height, width, flip, seed):
    generator = torch.Generator().manual_seed(seed)
    crops = draw_crops(
        300, height=height, width=width, augmentation=Augmentation(pad=pad, flip=flip), generator=generator
    )
    for places, size in ((crops.rows, height), (crops.columns, width)):
        assert int(places.min()) >= 0
        assert int(places.max()) < size
    assert len(set(map(tuple, crops.rows.tolist()))) == 2 * pad + 1
    assert len(set(map(tuple, crops.columns.tolist()))) == (2 * pad + 1) * (2 if flip else 1)


def test_too_wide_a_pad_is_refused():
    with pytest.raises(InputError, match="pad must be smaller than the pictures, 4 x 9, got 4"):
        draw_crops(1, height=4, width=9, augmentation=Augmentation(), generator=torch.Generator())
    with pytest.raises(InputError, match="cutout must be at least 0"):
        Augmentation(cutout=-1)


def test_colours_and_normalised_are_plain_statistics():
    pictures = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (5, 6, 7, 3)).astype(np.uint8))
    mean, std = colours(pictures)
    flat = pictures.reshape(-1, 3).double()
    torch.testing.assert_close(mean.double(), flat.mean(0), rtol=1e-6, atol=0)
    torch.testing.assert_close(std.double(), flat.std(0, correction=0), rtol=1e-6, atol=0)
    out = Normalised(mean, std)(pictures)
    assert out.shape == (5, 3, 6, 7)
    assert out.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(out.mean(dim=(0, 2, 3)), torch.zeros(3), rtol=0, atol=1e-5)


def test_one_colour_throughout_stays_finite():
    pictures = torch.full((2, 3, 3, 3), 7, dtype=torch.uint8)
    assert Normalised(*colours(pictures))(pictures).eq(0).all()
