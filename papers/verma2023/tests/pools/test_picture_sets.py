"""HAM10000 and Galaxy-Zoo: in the sources' own forms, written small by the test, and as they lie in DEFERO_DATA."""

import os
import zipfile

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from defero import InputError
from defero.datasets import DATASETS, load_dataset
from defero_verma2023.pools.picture_sets import HAM10000_CLASSES, galaxyzoo, ham10000, ham10000_metadata

needs_data = pytest.mark.skipif(not os.environ.get("DEFERO_DATA"), reason="DEFERO_DATA names no folder with the data")


def write_jpeg(path, color, size=(600, 450)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, color).save(path, quality=95)


def test_ham10000_from_the_folders_of_its_source(tmp_path):
    home = tmp_path / "ham10000"
    home.mkdir()
    rows = ["lesion_id,image_id,dx,dx_type,age,sex,localization", "L2,ISIC_2,mel,histo,,female,back"]
    (home / "HAM10000_metadata").write_text("\n".join([*rows, "L1,ISIC_1,bkl,histo,50,male,face"]))
    write_jpeg(home / "HAM10000_images_part_1" / "ISIC_1.jpg", (200, 0, 0))
    write_jpeg(home / "HAM10000_images_part_2" / "ISIC_2.jpg", (0, 0, 200))
    table = ham10000_metadata(folder=tmp_path)
    assert table[["image_id", "label"]].to_numpy().tolist() == [["ISIC_1", 0], ["ISIC_2", 2]]
    images = ham10000(folder=tmp_path, size=(20, 15))
    assert images.images.shape == (2, 15, 20, 3)
    assert images.classes is HAM10000_CLASSES
    assert abs(int(images.images[0, 0, 0, 0]) - 200) < 3
    assert (images.groups.tolist(), images.ids.tolist()) == (["L1", "L2"], ["ISIC_1", "ISIC_2"])
    assert ham10000(folder=tmp_path, image_ids=["ISIC_2"], size=(20, 15)).labels.tolist() == [2]
    with pytest.raises(InputError, match="image_ids must be names of HAM10000, got 'ISIC_9'"):
        ham10000(folder=tmp_path, image_ids=["ISIC_9"])
    (home / "HAM10000_images_part_2" / "ISIC_2.jpg").unlink()
    with pytest.raises(InputError, match=r"1 pictures are missing, ISIC_2\.jpg first"):
        ham10000(folder=tmp_path, size=(20, 15))
    (home / "HAM10000_images_part_1" / "ISIC_1.jpg").write_bytes(b"no picture")
    with pytest.raises(InputError, match="cannot be decoded"):
        ham10000(folder=tmp_path, image_ids=["ISIC_1"])


def test_ham10000_without_a_column_is_told(tmp_path):
    (tmp_path / "ham10000").mkdir()
    (tmp_path / "ham10000" / "HAM10000_metadata.csv").write_text("image_id,dx\nISIC_1,nv\n")
    with pytest.raises(InputError, match="lesion_id is missing"):
        ham10000_metadata(folder=tmp_path)


def write_part(folder):
    (folder / "galaxyzoo_2000").mkdir()
    picture = np.zeros((1, 64, 64, 3), np.uint8)
    path = folder / "galaxyzoo_2000" / "galaxyzoo_2000_64.npz"
    np.savez(path, x=picture, y=np.array([1]), split=np.array(["train"]), galaxy_id=np.array([7]))


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_galaxies_from_kaggles_files(tmp_path, form):
    home = tmp_path / "galaxyzoo"
    home.mkdir()
    (home / "training_solutions_rev1.csv").write_text(
        "GalaxyID,Class1.1,Class1.2,Class1.3\n200,0.2,0.8,0\n100,0.6,0.3,0.1\n300,0.5,0.5,0\n"
    )
    for name, color in [("100", (9, 0, 0)), ("200", (0, 99, 0)), ("300", (0, 0, 200))]:
        write_jpeg(home / "images_training_rev1" / f"{name}.jpg", color, size=(424, 424))
    if form == "zip":
        with zipfile.ZipFile(home / "images_training_rev1.zip", "w") as archive:
            for path in sorted((home / "images_training_rev1").iterdir()):
                archive.write(path, f"images_training_rev1/{path.name}")
                path.unlink()
        (home / "images_training_rev1").rmdir()
    galaxies = galaxyzoo(folder=tmp_path, source="kaggle", size=(32, 32))
    assert galaxies.ids.tolist() == ["100", "200", "300"]
    assert galaxies.labels.tolist() == [0, 1, 0]
    assert galaxies.votes.tolist() == [[0.6, 0.3], [0.2, 0.8], [0.5, 0.5]]
    assert galaxies.images.shape == (3, 32, 32, 3)
    assert len(galaxyzoo(folder=tmp_path, source="kaggle", size=(32, 32), n_images=2)) == 2
    with pytest.raises(InputError, match="pass source='kaggle'"):
        galaxyzoo(folder=tmp_path, source="part")
    loaded = load_dataset("galaxyzoo", folder=tmp_path)
    assert (loaded.ids.tolist(), loaded.images.shape) == (["100", "200", "300"], (3, 64, 64, 3))
    write_part(tmp_path)
    assert load_dataset("galaxyzoo", folder=tmp_path).ids.tolist() == ["7"]
    with pytest.raises(InputError, match="source must be 'part' or 'kaggle', got 'all'"):
        galaxyzoo(folder=tmp_path, source="all")


def test_a_galaxy_without_its_picture_is_told(tmp_path):
    home = tmp_path / "galaxyzoo"
    (home / "images_training_rev1").mkdir(parents=True)
    (home / "training_solutions_rev1.csv").write_text("GalaxyID,Class1.1,Class1.2\n100,0.6,0.3\n")
    with pytest.raises(InputError, match=r"100\.jpg is missing, although training_solutions_rev1.csv names it"):
        galaxyzoo(folder=tmp_path, source="kaggle")


@needs_data
def test_skin_lesions():
    table = ham10000_metadata()
    assert len(table) == 10_015
    assert table["lesion_id"].nunique() == 7470
    assert np.bincount(table["label"]).tolist() == [1099, 115, 1113, 6705, 142, 327, 514]
    assert int(table["age"].isna().sum()) == 57
    chosen = table["image_id"].iloc[[0, 40, 7]].tolist()
    images = ham10000(image_ids=chosen)
    assert images.images.shape == (3, 150, 200, 3)
    assert images.ids.tolist() == sorted(chosen)
    assert images.images.std() > 10


@needs_data
@pytest.mark.slow
def test_all_skin_lesions():
    images = ham10000(size=(50, 38))
    assert images.images.shape == (10_015, 38, 50, 3)
    assert (images.images.reshape(len(images), -1).std(axis=1) > 0).all()


@needs_data
def test_two_thousand_galaxies():
    galaxies = galaxyzoo()
    assert galaxies.images.shape == (2000, 64, 64, 3)
    counts = pd.crosstab(galaxies.split, galaxies.labels)
    assert counts.loc[["train", "validation"]].to_numpy().tolist() == [[700, 700], [300, 300]]
    assert len(set(galaxies.ids)) == 2000


def test_both_are_data_sets_of_defero():
    for name, load in [("ham10000", ham10000), ("galaxyzoo", galaxyzoo)]:
        assert DATASETS.find(name).loader is load
        assert DATASETS.find(name).loader_name == f"defero_verma2023.pools.picture_sets.{name}"
