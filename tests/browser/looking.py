"""How the pages are looked at: scripts that find what overflows or is hard to read, and commands in this process."""

import io
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest

from defero.cli.main import main

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

# What a reader would have to scroll sideways for, outside of the boxes that are made for it.
OVERFLOWING = """() => {
  const wide = document.documentElement.clientWidth;
  const bad = [...document.querySelectorAll('body *')].filter(element => {
    if (element.closest('.scroll') && !element.matches('.scroll')) return false;
    const box = element.getBoundingClientRect();
    return box.width > 0 && (box.right > wide + 1 || box.left < -1);
  });
  const page = document.documentElement.scrollWidth > wide ? ['the page'] : [];
  return page.concat(bad.map(element => element.outerHTML.slice(0, 120)));
}"""

# WCAG's contrast of every piece of text with the background that it stands on.
CONTRASTS = """() => {
  const canvas = document.createElement('canvas'), pen = canvas.getContext('2d', {willReadFrequently: true});
  const over = (colours) => {
    pen.clearRect(0, 0, 1, 1);
    for (const colour of colours) { pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); }
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    const words = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!words || !element.getClientRects().length) continue;
    const behind = [];
    for (let at = element; at; at = at.parentElement) behind.unshift(getComputedStyle(at).backgroundColor);
    const look = getComputedStyle(element);
    const ink = element instanceof SVGElement ? look.fill : look.color;
    const a = light(over(behind)), b = light(over([...behind, ink]));
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.push([contrast.toFixed(2), element.outerHTML.slice(0, 120)]);
  }
  return found;
}"""


def run(*arguments):
    """Run a command in this process and return what it prints."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["defero", *map(str, arguments)]
    try:
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as stop:
            main()
    finally:
        sys.argv = before
    assert not stop.value.code, err.getvalue()
    return out.getvalue()
