"""Pictures in files that look like one array, and the recipe that finds them in a table."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from defero.core.codec import Packed, pack, unpack
from defero.core.errors import InputError, ModelFolderError, TableError
from defero.data.recipes.pictures import PictureFiles, PictureRecipe, usual_size


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(4):
        Image.fromarray(rng.integers(0, 256, size=(6, 9, 3)).astype(np.uint8)).save(tmp_path / f"{number}.png")
    Image.fromarray(np.full((6, 9), 200, np.uint8)).save(tmp_path / "grey.png")
    Image.fromarray(np.full((300, 500, 4), 7, np.uint8)).save(tmp_path / "large.png")
    return tmp_path


def paths(folder, *names):
    return [folder / f"{name}.png" for name in names]


def test_slices_are_what_pillow_reads(folder):
    files = PictureFiles(paths(folder, 0, 1, 2, 3), (6, 9))
    expected = np.stack([np.asarray(Image.open(path)) for path in files.paths])
    np.testing.assert_array_equal(files[:], expected)
    np.testing.assert_array_equal(np.asarray(files), expected)
    np.testing.assert_array_equal(files[np.array([2, 0])], expected[[2, 0]])
    np.testing.assert_array_equal(files.take(np.array([False, True, False, True]))[1:], expected[3:])
    assert (len(files), files.shape, files.ndim, files.dtype) == (4, (4, 6, 9, 3), 4, np.uint8)
    assert files[:0].shape == (0, 6, 9, 3)


def test_all_become_three_colours_of_one_size(folder):
    mixed = PictureFiles(paths(folder, "grey", "large", 0), (5, 4))[:]
    assert mixed.shape == (3, 5, 4, 3)
    assert (mixed[0] == 200).all()
    assert (mixed[1] == 7).all()


def test_grey_values_of_16_bits_keep_their_shades(folder):
    shades = np.arange(54, dtype=np.uint16).reshape(6, 9) * 1_200
    Image.fromarray(shades).save(folder / "scan.png")
    Image.fromarray(shades).save(folder / "scan.tif")
    read = PictureFiles([folder / "scan.png", folder / "scan.tif"], (6, 9))[:]
    np.testing.assert_array_equal(read, np.broadcast_to((shades // 256)[None, :, :, None], (2, 6, 9, 3)))
    Image.fromarray(shades.astype(np.float32)).save(folder / "float.tif")
    with pytest.raises(TableError, match="grey values of mode F have no known largest one; save it with 8 or 16 bits"):
        PictureFiles([folder / "float.tif"], (6, 9)).check()


def test_identities_are_of_the_files_content(folder):
    (folder / "copy.png").write_bytes((folder / "0.png").read_bytes())
    found = PictureFiles(paths(folder, 0, "copy", 1), (8, 8)).identities()
    assert found.shape == (3, 2)
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).all()


def test_usual_size_is_capped(folder):
    assert usual_size(folder / "0.png") == (6, 9)
    assert usual_size(folder / "large.png") == (224, 224)


def test_what_cannot_be_read_is_told_with_its_row(folder):
    (folder / "text.png").write_text("no picture")
    files = PictureFiles(paths(folder, 0, "text", "none"), (8, 8), "a.csv", [2, 3, 4])
    with pytest.raises(TableError, match=r"a.csv: row 3: expected a picture in .*text.png, .*Pillow cannot read it"):
        files.take([0, 1]).check()
    with pytest.raises(TableError, match=r"a.csv: row 4: .*no such file .*none.png\.$"):
        files.check()
    lost = PictureFiles(paths(folder, 0, "none", "nor", 1), (8, 8), "a.csv", [2, 3, 4, 5])
    with pytest.raises(TableError, match=r"row 3: .*none.png\. 2 of the 4 pictures"):
        lost.check()
    with pytest.raises(TableError, match=r"a.csv: row 4: expected a picture in .*none.png, .*no such file"):
        files.take([0, 2])[:]
    with pytest.raises(TableError, match=r"a.csv: row 4: .*no such file"):
        files.identities()
    with pytest.raises(TableError, match=r"text.png: expected a picture"):
        usual_size(folder / "text.png")
    with pytest.raises(InputError, match=r"size must be .* of at least 1 x 1, got 0 x 8"):
        PictureFiles([], (0, 8))


def test_a_recipe_finds_them_by_the_column(folder):
    table = pd.DataFrame({"other": [1, 2], "file": ["0.png", "1.png"]}, index=[5, 9])
    recipe = PictureRecipe("file", (6, 9)).inside(folder)
    files = recipe.apply(table, source="a.csv", first_row=2)
    assert files.paths == (str(folder / "0.png"), str(folder / "1.png"))
    assert files.rows == (7, 11)
    assert recipe.extra(table) == ("other",)
    assert unpack(PictureRecipe, pack(recipe)) == recipe
    assert unpack(PictureRecipe, pack(recipe)).folder == Path()
    with pytest.raises(TableError, match=r"a.csv: row 7, column file: expected the path of a picture, got a blank"):
        recipe.apply(table.assign(file=[None, "1.png"]), source="a.csv", first_row=2)
    with pytest.raises(TableError, match="'file'"):
        recipe.apply(table.rename(columns={"file": "path"}), source="a.csv")
    with pytest.raises(ModelFolderError, match="size must be a list of 2 entries"):
        unpack(PictureRecipe, Packed({"kind": "pictures", "column": "file", "size": [3]}))
