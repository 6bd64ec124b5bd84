"""Where the model is sure, do the experts agree?

Against the model's confidence: how often the model is right, how often the experts are, and how often they agree.
"""

from defero import TwoStageDeferral
from defero.datasets import wedge
from defero.plotting import AgreementDisplay
from defero.team import try_out

past, new = wedge(1_000, random_state=0), wedge(1_000, random_state=1)
team = TwoStageDeferral().fit(past.features, past.labels, experts=past.answers)
trial = try_out(team.team_, new.features, new.labels, new.answers)

display = AgreementDisplay.from_trial(trial)
display.figure_.savefig("agreement.svg")
