"""`python -m website.picture`: the picture of the README, the first lines of a report, as Chromium shows them."""

import shutil
from pathlib import Path
from typing import Any

from website.gallery import ROOT, draw

PICTURE = ROOT / "docs" / "pictures" / "report.png"
WIDTH, MARGIN = 900, 4


def take(out: Path = PICTURE) -> Path:
    """Draw the report of examples/gallery/report.py, and write its first lines as a picture."""
    from playwright.sync_api import sync_playwright

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page: Any = browser.new_page(
            viewport={"width": WIDTH, "height": 900}, color_scheme="light", device_scale_factor=1.5
        )
        page.goto(draw("report", anew=True).absolute().as_uri())
        links = page.locator("nav").first.bounding_box()  # the list of the report's parts ends the picture
        out.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=out, clip={"x": 0, "y": 0, "width": WIDTH, "height": links["y"] - MARGIN})
        browser.close()
    return out


if __name__ == "__main__":
    print(f"wrote {take()}")
