"""docs/howto/large_data.md: its example runs and prints what the page says."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "large_data.md"


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, printed = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE.read_text(), flags=re.S).groups()
    exec(compile(code, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.split() == printed.split()
