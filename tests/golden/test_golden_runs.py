"""What commit 687db29 learned from six inputs, judged, reported and decided is what we still do."""

from pathlib import Path

import pytest
from golden_runs import INPUTS, differences, outputs, parsed

HERE = Path(__file__).parent / "runs"


@pytest.mark.usefixtures("empty_pictures")
@pytest.mark.parametrize("name", INPUTS)
def test_every_figure_and_text_is_the_golden_one(name, tmp_path):
    files = outputs(name, tmp_path)
    assert sorted(files) == sorted(path.name for path in (HERE / name).iterdir())
    for file, text in files.items():
        golden = (HERE / name / file).read_text()
        changed = differences(parsed(file, golden), parsed(file, text))
        more = f"; and {len(changed) - 1} more: python tests/golden/record_runs.py {name}" if changed[1:] else ""
        assert not changed, f"{name}, {file}: {changed[0]}{more}"


def test_a_difference_is_one_sentence():
    golden = {"rows": {"test": 60}, "note": "a", "p": "0.25"}
    assert differences(golden, golden) == []
    assert differences(golden, golden | {"rows": {"test": 61}}) == ["rows.test is 61, golden 60"]
    assert differences({"p": 0.3}, {"p": 0.1 + 0.2}) == []
    assert differences({"p": "0.25"}, {"q": 1}) == ["p is missing, golden '0.25'", "q is 1, golden has none"]
    assert differences({"p": True}, {"p": 1}) == ["p is 1, golden True"]
