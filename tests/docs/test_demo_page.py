"""docs/tutorial/demo.md: what it shows is what `defero demo` prints, nearly."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial" / "demo.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_printed_demo_is_the_real_one_and_the_team_beats_the_model_and_every_expert(tmp_path):
    """The demo as `make demo` runs it; tests/cli/test_cli_demo.py runs a quick one."""
    from defero.cli.main import app

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.raises(SystemExit, match="0"):
        app(["demo", "--json", "--out", str(tmp_path)])
    demo = json.loads(printed.getvalue())
    assert demo["gain_low"] > 0, "the paired 95 % interval of team minus model must lie above 0"
    assert demo["team_above_every_expert"]
    shown = re.search(r"```\n(.*?)```", PAGE, re.S).group(1)
    assert list(re.findall(r"^(knows_\d_\d)", shown, re.M)) == list(demo["experts"])
    shares = [float(n) / 100 for n in re.findall(r"(\d+\.\d) %$", shown, re.M)]
    assert shares == pytest.approx([demo["team"], demo["model"], *demo["experts"].values()], abs=0.006)
    gain = [float(n) / 100 for n in re.findall(r"[+-]\d\.\d\d", shown)]
    assert gain == pytest.approx([demo["gain"], demo["gain_low"], demo["gain_high"]], abs=0.003)


def test_the_tables_of_the_tutorial_are_left(tmp_path):
    from defero.study.demo import leave_tables

    leave_tables(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clinic.csv", "clinic_new.csv"]
