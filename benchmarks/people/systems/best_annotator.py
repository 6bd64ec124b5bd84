"""Of those who answered the item, the one who was right most often in training."""

from benchmarks.people.system import System, classifier, one_expert
from defero import BestExpert

SYSTEMS = (
    System(
        "best annotator", one_expert(lambda fold: BestExpert(classifier(), text=fold.texts)), kind="references", place=3
    ),
)
