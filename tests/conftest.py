"""What tests of several rooms share."""

from importlib.util import find_spec

import pytest


@pytest.fixture
def empty_pictures(monkeypatch):
    """Write pages without what their pictures show, which takes most of a page's time; for tests of the text."""
    if find_spec("matplotlib"):
        from markupsafe import Markup

        from defero.report import pictures

        def undrawn(key, caption, draw, *, label="", kind="wide", name="", **looks):
            return pictures.Picture(Markup(f'<svg id="{key}"></svg>'), caption, label or caption, kind, name)

        monkeypatch.setattr(pictures, "picture", undrawn)
