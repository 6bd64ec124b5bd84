"""docs/howto/service_security.md: its limits are those of the code, its backup can be restored, its code runs."""

import re
import sqlite3
from pathlib import Path

from small_team import SURE, UNSURE, add_cases, small_team

from defero.service.access import DEFAULT_DAYS, RATES, REMEMBERED_SECONDS
from defero.service.office import Office
from defero.service.serve import LEAD_DAYS, MOST_BYTES
from defero.service.store.saved_views import fold_log, read_views
from defero.service.web.schemas import MOST_CASES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "service_security.md").read_text()


def test_the_limits_are_those_of_the_code():
    for role, (rate, most) in RATES.items():
        word = "no valid token, by address" if role == "nobody" else role
        assert f"| {word} | {rate:,.0f} | {most:,.0f} |" in PAGE
    assert f"{MOST_BYTES // 2**20} MB and {MOST_CASES:,} cases" in PAGE
    assert f"{DEFAULT_DAYS:.0f} days" in PAGE
    assert (REMEMBERED_SECONDS, LEAD_DAYS) == (1.0, 1.0)


def test_the_files_to_begin_with_exist():
    for name in re.findall(r"`(deploy/[\w.]+)`", PAGE):
        assert (ROOT / name).is_file()


def test_a_backup_taken_while_it_runs_can_be_served(office, tmp_path):
    office.writer.do([add_cases(office.team, [SURE, UNSURE])])
    with sqlite3.connect(tmp_path / "cases.sqlite") as live, sqlite3.connect(tmp_path / "backup.sqlite") as copy:
        live.backup(copy)  # what `.backup` does
    live.close()
    copy.close()
    office.writer.do([add_cases(office.team, [SURE])])
    restored = Office.of_team(small_team(), str(tmp_path / "backup.sqlite"))
    with restored.database.read() as connection:
        saved = read_views(connection).plain()
        assert saved == fold_log(connection).plain()
    assert len(saved["cases"]) == 2
    assert restored.writer.do([add_cases(restored.team, [SURE])])[0]["cases"][0]["label"] == "ill"
    restored.close()


def test_the_code_of_the_page_runs(office, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    office.writer.do([add_cases(office.team, [SURE, UNSURE])])
    (tmp_path / "model.sqlite").symlink_to(tmp_path / "cases.sqlite")
    names = {}
    exec(re.search(r"```python\n(.*?)```", PAGE, re.S).group(1), names)  # the page's own code
    names["connection"].engine.dispose()
    with office.database.read() as connection:
        assert read_views(connection).plain() == fold_log(connection).plain()


def test_lines_of_the_page_are_short():
    assert all(len(line) <= 110 for line in PAGE.splitlines())
