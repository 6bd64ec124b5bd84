"""`make audit` lists known flaws of pinned versions, and says so where nobody can be asked about them."""

import pytest
from checks import audit


def test_a_flaw_is_listed_and_fails(monkeypatch, capsys):
    report = {
        "dependencies": [
            {"name": "a", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": []}]},
            {"name": "b", "version": "2.0", "vulns": []},
        ]
    }
    monkeypatch.setattr(audit, "knows_flaws", lambda: True)
    monkeypatch.setattr(audit, "audit", lambda pins: (report, ""))
    assert audit.main() == 1
    assert capsys.readouterr().out == "a 1.0: PYSEC-1, mended in no version yet\n"
    report["dependencies"].pop(0)
    assert audit.main() == 0
    assert "1 versions: no flaw is known" in capsys.readouterr().out


def answer(*vulns):
    return {"dependencies": [{"name": "jinja2", "version": "2.4.1", "vulns": list(vulns)}]}


@pytest.mark.parametrize("report", [None, answer()])
def test_a_database_that_does_not_answer_or_knows_nothing_is_told_and_does_not_fail(monkeypatch, capsys, report):
    monkeypatch.setattr(audit, "audit", lambda pins: (report, "ConnectionError"))
    assert audit.main() == 0
    assert "nothing was audited" in capsys.readouterr().out


def test_any_other_failure_is_one(monkeypatch, capsys):
    known = answer({"id": "PYSEC-1", "fix_versions": []})
    monkeypatch.setattr(audit, "audit", lambda pins: (known, "") if pins.name == "known.txt" else (None, "bad pin"))
    assert audit.main() == 1
    assert "bad pin" in capsys.readouterr().out
