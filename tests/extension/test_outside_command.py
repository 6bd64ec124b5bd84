"""A command of another package, from the shell. The example is that of docs/howto/extend.md.

A process of its own: the commands of other packages are looked for when `defero` starts.
"""

import os
import subprocess
import sys

import numpy as np
from outside_package import example, install

from defero import TwoStageDeferral


def test_it_runs_and_its_errors_are_one_line(tmp_path):
    install(tmp_path / "package", "toy", example("A command"), group="defero.commands", name="whom", attribute="whom")
    labels = np.arange(60) % 2
    answers = np.stack([labels, 1 - labels], axis=1)
    team = TwoStageDeferral().fit(labels[:, None] + 0.5, labels, experts=answers)
    team.save(tmp_path / "model")

    def whom(folder):
        command = [sys.executable, "-m", "defero", "whom", tmp_path / folder]
        beside = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(tmp_path / "package"), os.environ.get("PYTHONPATH", "")])
        }
        done = subprocess.run(command, env=beside, capture_output=True, text=True, check=False)
        return done.returncode, (done.stdout + done.stderr).strip()

    assert whom("model") == (0, "expert_0\nexpert_1")
    code, line = whom("nowhere")
    assert (code, len(line.splitlines()), "nowhere is no folder" in line) == (2, 1, True)
