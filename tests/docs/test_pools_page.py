"""docs/howto/pools.md: its example runs."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "pools.md"


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S).group(1)
    exec(compile(code, str(PAGE), "exec"), {})
    printed = capsys.readouterr().out
    assert printed.count("PoolDecision") == 3
    assert "PoolCurve" in printed
    assert printed.rstrip().endswith("['large']") or "newcomer" in printed
