"""People of a log whose answers do not count: told for what they are, team or not."""

import pytest

from defero.data.cases import CaseFile
from defero.data.read_cases import cases_in
from defero.data.table_spec import TableSpec
from defero.data.tables.read import TableSource


@pytest.fixture
def files(tmp_path):
    (tmp_path / "items.csv").write_text("item,size,truth\n1,0.5,a\n2,1.5,b\n3,2.5,a\n")
    rows = [f"{item},{who},a" for item in (1, 2, 3) for who in ("al", "bo", "cy")]
    (tmp_path / "log.csv").write_text("\n".join(["item,worker,label", *rows]))
    items, log = (TableSource.of(tmp_path / name) for name in ("items.csv", "log.csv"))
    return {"source": items, "answers": log}


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"expert_names": ("al",)}, ": answers of 2 other experts are not used."),
        ({"expert_names": ("al", "bo")}, ": answers of 1 other expert are not used."),
        ({"team": ("al",)}, ": answers of 2 people who are not in the team are left out."),
        ({"team": ("al", "bo")}, ": answers of 1 person who is not in the team are left out."),
    ],
)
def test_others_are_counted(files, chosen, told):
    spec = TableSpec(label="truth", expert_names=chosen.get("expert_names"))
    notes = cases_in(CaseFile(**files, spec=spec, team=chosen.get("team"))).notes
    assert notes == (f"{files['answers'].name}{told}",)


def test_nobody_else_is_not_told(files):
    assert cases_in(CaseFile(**files, spec=TableSpec(label="truth"), team=("al", "bo", "cy"))).notes == ()
