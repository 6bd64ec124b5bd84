"""One version, wherever it stands, and a changelog in the form that tools read."""

import shutil
from pathlib import Path

import pytest
from release.versions import CITATION, PAPER, SOURCE, changelog_faults, disagreements, places, released, source_version

import defero

ROOT = Path(__file__).parents[2]
LOG = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-18\n\n### Added\n\n- it\n"


@pytest.fixture
def copy(tmp_path):
    """A folder with the files that name the version, and a small changelog."""
    for name in (SOURCE, PAPER, CITATION):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    version, date = source_version(ROOT), "2026-11-18"
    (tmp_path / "CHANGELOG.md").write_text(LOG.replace("0.2.0", version).replace("2026-11-18", date))
    return tmp_path


def test_the_version_is_that_of_the_package():
    assert source_version(ROOT) == defero.__version__


def test_every_place_agrees():
    assert disagreements(ROOT) == []
    assert len(places(ROOT)) == 5


@pytest.mark.parametrize("name", [SOURCE, PAPER, CITATION, "CHANGELOG.md"])
def test_another_version_anywhere_is_named(copy, name):
    assert disagreements(copy) == []
    text, version = (copy / name).read_text(), source_version(copy)
    (copy / name).write_text(text.replace(version, "9.9.9"))
    wrong = disagreements(copy)
    assert wrong
    assert all("9.9.9" in one for one in wrong)


def test_another_date_is_named(copy):
    log = copy / "CHANGELOG.md"
    log.write_text(log.read_text().replace("2026-11-18", "2020-01-01"))
    assert "date-released" in disagreements(copy)[0]


def test_the_changelog_has_the_usual_form(copy):
    assert changelog_faults(ROOT) == []
    assert changelog_faults(copy) == []
    assert released(copy) == [(source_version(copy), "2026-11-18")]
    log = copy / "CHANGELOG.md"
    log.write_text("# Changelog\n\n## [0.2.0]\n\n### News\n\n## [0.1.0]\n")
    faults = changelog_faults(copy)
    assert [word in fault for word, fault in zip(("Unreleased", "0.1.0", "News"), faults, strict=True)] == [True] * 3
