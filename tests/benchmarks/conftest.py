"""Losses that a benchmark registers are gone after its tests."""

import pytest

from defero.losses import LOSSES


@pytest.fixture(autouse=True)
def losses(monkeypatch):
    monkeypatch.setattr(LOSSES, "_values", dict(LOSSES._values))
