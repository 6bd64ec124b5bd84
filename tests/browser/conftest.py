"""The system's Chromium, once for each file."""

import pytest
from looking import CHROMIUM


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium here: install the Debian package chromium, or Google Chrome")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: the extra 'browser'")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()
