"""Should more cases be deferred, or fewer?

Accuracy against the share of deferred cases, those with the largest expected gain first. The dotted line defers at
random, the dashed one knows the truth. The diamond is the team, with its 95 % interval.
"""

from defero import TwoStageDeferral
from defero.datasets import wedge
from defero.plotting import DeferralCurveDisplay
from defero.team import try_out

past, new = wedge(1_000, random_state=0), wedge(1_000, random_state=1)
team = TwoStageDeferral().fit(past.features, past.labels, experts=past.answers)
trial = try_out(team.team_, new.features, new.labels, new.answers)

display = DeferralCurveDisplay.from_trial(trial)
display.figure_.savefig("deferral_curve.svg")
