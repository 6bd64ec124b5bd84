"""The examples and the numbers on docs/howto/judge.md."""

import doctest
import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "judge.md"


def test_the_examples_print_what_stands_below_them():
    failures, examples = doctest.testfile(str(PAGE), module_relative=False)
    assert examples > 5
    assert failures == 0


def test_the_table_has_the_numbers_of_the_study():
    text = PAGE.read_text(encoding="utf-8")
    study = json.loads((ROOT / "tests" / "statistical" / "results" / "judge_noise.json").read_text())
    rows = re.findall(r"^\| (\S+) \| (0\.\d+) \| (\S+) % \| (\S+) % \|$", text, re.MULTILINE)
    assert len(rows) == 5
    for name, *numbers in rows:
        member = study["coverage_of_95_percent_intervals"][name]
        expected = [member["truth"], 100 * member["corrected"], 100 * member["uncorrected"]]
        assert [float(number) for number in numbers] == [round(expected[0], 3), *(round(e, 1) for e in expected[1:])]
    for way in study["learned_by_task"].values():
        assert all(f"{number:.3f}" in text for number in way.values())
