"""Every script of the gallery runs and draws its picture."""

import runpy
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest
from website.gallery import ORDER, SCRIPTS, file_of, gallery_page

matplotlib.use("Agg")


# The report's code is nearly the README's, which every run of the tests executes.
@pytest.mark.parametrize("name", [pytest.param("report", marks=pytest.mark.slow), *ORDER[1:]])
def test_the_script_draws_its_picture(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(SCRIPTS / f"{name}.py"))
    plt.close("all")
    drawn = Path(file_of(name)).read_text(encoding="utf-8")
    assert drawn.startswith(("<?xml", "<!doctype html>"))
    assert len(drawn) > 5_000


def test_every_script_is_on_the_page():
    assert sorted(ORDER) == sorted(path.stem for path in SCRIPTS.glob("*.py"))
    page = gallery_page()
    for name in ORDER:
        assert f"(gallery/{file_of(name)})" in page
        assert (SCRIPTS / f"{name}.py").read_text(encoding="utf-8").split('"""', 2)[2].strip() in page
