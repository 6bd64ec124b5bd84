"""docs/howto/tables.md: its Python runs on a table, a log of answers and a new expert."""

import re
from pathlib import Path

import pandas as pd

from defero import Study, read_cases
from defero.datasets import wedge

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "tables.md"


def cases(n, seed):
    """Return a table of cases with two experts, and the answers of a third."""
    table = wedge(n, random_state=seed)
    frame = pd.DataFrame(table.features).add_prefix("x").assign(case=range(seed * 1000, seed * 1000 + n))
    frame = frame.assign(truth=table.labels, dr_a=table.answers[:, 0], dr_b=table.answers[:, 1])
    return frame, table.answers[:, 2]


def test_the_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    past, _ = cases(200, 0)
    study = Study(read_cases(past, label="truth", expert_names=["dr_a", "dr_b"], key="case"), random_state=0)
    study.fit("linear")
    study.save("model")
    more, third = cases(100, 1)
    more.to_csv("more_cases.csv", index=False)
    more.drop(columns=["dr_a", "dr_b"]).to_csv("new_cases.csv", index=False)
    more.assign(dr_d=third).to_csv("their_cases.csv", index=False)
    items, _ = cases(100, 2)
    log = items.melt(id_vars="case", value_vars=["dr_a", "dr_b"], var_name="expert", value_name="answer")
    log.to_csv("log.csv", index=False)
    items.drop(columns=["dr_a", "dr_b"]).to_csv("items.csv", index=False)
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S).group(1)
    names = {}
    exec(compile(code, str(PAGE), "exec"), names)
    assert "held-out cases" in capsys.readouterr().out
    assert len(names["decisions"]) == 100
    assert "dr_d" in Study.load("model_with_d").team.expert_names
