"""What tests of several rooms share."""

from importlib.util import find_spec

import pytest


@pytest.fixture
def empty_pictures(monkeypatch):
    """Write pages without what their pictures show, which takes most of a page's time; for tests of the text."""
    if find_spec("matplotlib"):
        from defero.report.html import Html

        monkeypatch.setattr(
            "defero.report.svg.inline_svg", lambda drawn, *, key, label: Html(f'<svg id="{key}"></svg>')
        )
