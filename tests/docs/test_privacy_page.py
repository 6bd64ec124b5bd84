"""docs/howto/privacy.md: what it says of the model folder is so."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from defero import Team, TwoStageDeferral
from defero.data.fingerprint import VARIABLE, rows_key

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "privacy.md"


@pytest.fixture(scope="module")
def team():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    frame = pd.DataFrame({"age": x, "city": np.tile(["Basel", "Bern"], 60)})
    y = np.where(x + 0.3 * rng.normal(size=120) > 0, "ill", "well")
    answers = pd.DataFrame({"ann@example.org": y, "bob": np.where(rng.random(120) < 0.7, y, "well")})
    return TwoStageDeferral().fit(frame, y, experts=answers).team_


def written(router, folder):
    router.save(folder)
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def test_names_and_categories_are_kept_as_given(team, tmp_path):
    written(team, tmp_path / "model")
    manifest = json.loads((tmp_path / "model" / "model.json").read_text())
    assert manifest["expert_names"] == ["ann@example.org", "bob"]
    assert "Basel" in json.dumps(manifest["recipe"])


def test_a_renamed_expert_leaves_no_name(team, tmp_path):
    content = written(team.rename_expert("ann@example.org", "e1"), tmp_path / "model")
    assert b"ann@example.org" not in content


def test_fingerprints_are_kept_and_can_be_left_out(team, tmp_path):
    assert b"seen.fit" in written(team, tmp_path / "model")
    content = written(team.forget_rows(), tmp_path / "forgotten")
    assert b"seen." not in content
    assert dict(Team.load(tmp_path / "forgotten").seen) == {}


def test_the_key_is_not_in_the_folder(team, tmp_path):
    content = written(team, tmp_path / "model")
    assert rows_key() not in content
    assert rows_key().hex().encode() not in content


def test_the_page_names_what_exists():
    page = PAGE.read_text()
    assert VARIABLE in page
    for name in re.findall(r"router\.(\w+)\(", page):
        assert hasattr(Team, name)
    assert all(len(line) <= 100 or line.startswith("|") for line in page.splitlines())
