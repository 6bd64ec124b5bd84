"""How many people does a panel need?

Sizes of the panels of deferred cases. Each panel has somebody who is right in at least 90 % of the cases that anybody
gets right.
"""

from defero import TwoStageDeferral
from defero.datasets import wedge
from defero.plotting import SetSizeDisplay
from defero.team import try_out

past, held_out, new = (wedge(1_000, random_state=seed) for seed in range(3))
team = TwoStageDeferral().fit(past.features, past.labels, experts=past.answers)
team.conformalize(held_out.features, held_out.labels, experts=held_out.answers, alpha=0.1)
trial = try_out(team.team_, new.features, new.labels, new.answers)

display = SetSizeDisplay.from_trial(trial)
display.figure_.savefig("set_size.svg")
