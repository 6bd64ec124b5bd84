"""The mixed-integer solver prints lines of its own: none of them may reach standard output."""

import subprocess
import sys

SOLVE = """
import numpy as np
from defero.decide import Terms, assign
print("before")
for seed in range(12):
    rng = np.random.default_rng(seed)
    gain, fees = 5 + 0.3 * rng.random((60, 4)), 0.01 * rng.random((60, 4))
    limits = {"capacity": {"expert_0": 10, "expert_1": (3, 20)}, "budget": 2.2 * fees.min(axis=1).sum()}
    assign(gain, terms=Terms(fees=fees, **limits))
print("after")
"""

OTHERS = """
import os
from defero.decide.assigning.assign import without_solver_lines
with without_solver_lines():
    os.write(1, b"HighsMipSolverData::something\\nof another thread\\n")
try:
    with without_solver_lines():
        raise ValueError
except ValueError:
    print("restored")
os.close(1)
with without_solver_lines():
    pass
"""


def printed(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_a_solve_prints_nothing():
    assert printed(SOLVE).splitlines() == ["before", "after"]


def test_lines_of_others_are_kept_and_standard_output_comes_back():
    assert printed(OTHERS).splitlines() == ["of another thread", "restored"]
