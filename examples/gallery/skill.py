"""Which expert is good at which class?

Accuracy of each expert on each true class. Here the experts are simulated specialists for two digits each.
"""

from defero.datasets import digits_team
from defero.plotting import SkillDisplay

table = digits_team(random_state=0)

display = SkillDisplay.from_predictions(
    table.correct, table.label_idx, classes=table.classes, expert_names=table.expert_names
)
display.figure_.savefig("skill.svg")
