"""docs/howto/pools.md: its examples run, one after the other."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "pools.md"


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    first, cascade = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    names = {}
    exec(compile(first, str(PAGE), "exec"), names)
    printed = capsys.readouterr().out
    assert printed.count("Decision: 600 items") == 2
    assert printed.count("Assignment: 600 items") == 1
    assert "Curve: " in printed
    assert printed.rstrip().endswith("['large']") or "newcomer" in printed
    exec(compile(cascade, str(PAGE), "exec"), names)
    told = capsys.readouterr().out
    assert told.startswith("asked ['small', ")
    assert "kept small" not in told
