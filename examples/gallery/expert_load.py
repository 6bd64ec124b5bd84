"""Who gets the work, and do they do it well?

Bars are shares of all cases. The dot is how often the expert was right on them, with its 95 % interval; the open
diamond is what was promised.
"""

from defero import TwoStageDeferral
from defero.datasets import wedge
from defero.plotting import ExpertLoadDisplay
from defero.team import try_out

past, new = wedge(1_000, random_state=0), wedge(1_000, random_state=1)
team = TwoStageDeferral().fit(past.features, past.labels, experts=past.answers)
trial = try_out(team.team_, new.features, new.labels, new.answers)

display = ExpertLoadDisplay.from_trial(trial)
display.figure_.savefig("expert_load.svg")
