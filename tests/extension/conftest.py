"""Every registry is as it was after each test; names can also come through a pretended entry point."""

import importlib

import pytest

from defero.data.exports.export import EXPORTS
from defero.data.tables.read import TABLE_FORMATS
from defero.datasets.catalog import DATASETS
from defero.decide.panels import TARGETS
from defero.decide.votes import VOTES
from defero.judge import METRICS
from defero.losses import LOSSES


@pytest.fixture(autouse=True)
def registries(monkeypatch):
    for registry in (LOSSES, VOTES, TARGETS, METRICS, TABLE_FORMATS, EXPORTS, DATASETS):
        monkeypatch.setattr(registry, "_values", dict(registry._values))
        monkeypatch.setattr(registry, "_lazy", dict(registry._lazy))
        monkeypatch.setattr(registry, "_asked_others", False)


@pytest.fixture
def installed(monkeypatch):
    """Pretend that an installed package has this entry point: installed(group, name, attribute)."""

    class Point:
        def __init__(self, name, attribute):
            self.name, self.attribute = name, attribute

        def load(self):
            return getattr(importlib.import_module("outside_parts"), self.attribute)

    def install(group, name, attribute):
        points = {group: [Point(name, attribute)]}
        monkeypatch.setattr("defero.core.registry.entry_points", lambda *, group: points.get(group, []))

    return install
