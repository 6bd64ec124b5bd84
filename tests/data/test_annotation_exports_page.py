"""The examples on docs/howto/annotation_exports.md run."""

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "annotation_exports.md"


def test_examples(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr("tempfile.mkdtemp", lambda: str(tmp_path))
    failures, examples = doctest.testfile(str(PAGE), module_relative=False)
    assert failures == 0
    assert examples > 30
