"""One of those who answered the item, drawn at random."""

from benchmarks.people.system import System, classifier, one_expert
from defero import RandomExpert

SYSTEMS = (
    System(
        "random annotator",
        one_expert(lambda fold: RandomExpert(classifier(), random_state=fold.seed, text=fold.texts)),
        kind="references",
        place=2,
    ),
)
