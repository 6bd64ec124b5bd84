"""Does 80 % mean right in 80 of 100 cases?

A dot on the diagonal is calibrated. Below it too much was promised, above it too little. The boxes are confidence
intervals that hold together at 95 %.
"""

from defero import TwoStageDeferral
from defero.datasets import wedge
from defero.plotting import ReliabilityDisplay
from defero.team import try_out

past, new = wedge(1_000, random_state=0), wedge(1_000, random_state=1)
team = TwoStageDeferral().fit(past.features, past.labels, experts=past.answers)
trial = try_out(team.team_, new.features, new.labels, new.answers)

display = ReliabilityDisplay.from_trial(trial)
display.figure_.savefig("reliability.svg")
