"""docs/howto/arrays.md: its examples print what stands below them."""

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "arrays.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"-?\d+\.\d+")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.S)


@pytest.mark.parametrize("example", range(2))
def test_the_python_prints_what_stands_below_it(tmp_path, example):
    pytest.importorskip("torch")  # without it, auto tries fewer models and the numbers are others
    code, expected = EXAMPLES[example]
    script = tmp_path / "arrays.py"
    script.write_text(code)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(script))
    # Words must be the same; numbers may differ in the last digits from one processor to another.
    assert NUMBER.sub("#", printed.getvalue()) == NUMBER.sub("#", expected)
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (printed.getvalue(), expected)]
    assert numbers[0] == pytest.approx(numbers[1], abs=0.11 if example else 0.02)
