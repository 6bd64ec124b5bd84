"""A command of another package, from the shell. The example is that of docs/howto/extend.md."""

import numpy as np
import pytest
from outside_package import example, install, run

from defero import TwoStageDeferral


@pytest.fixture
def outside(tmp_path):
    (tmp_path / "package").mkdir()
    code = example("A command")
    return install(tmp_path / "package", "toy", code, group="defero.commands", name="whom", attribute="whom")


def test_it_is_listed_run_and_its_errors_are_one_line(outside, tmp_path):
    labels = np.arange(60) % 2
    answers = np.stack([labels, 1 - labels], axis=1)
    team = TwoStageDeferral(heads="separate").fit(labels[:, None] + 0.5, labels, experts=answers)
    assert "whom" in run(outside, "--help")
    team.save(tmp_path / "model")
    assert run(outside, "whom", tmp_path / "model").split() == ["expert_0", "expert_1"]
    (line,) = run(outside, "whom", tmp_path / "nowhere", code=2).strip().splitlines()
    assert "nowhere is no folder" in line
