"""The model answers everything."""

from benchmarks.people.system import System, classifier, one_expert
from defero import ModelOnly

SYSTEMS = (
    System(
        "model alone", one_expert(lambda fold: ModelOnly(classifier(), text=fold.texts)), kind="references", place=1
    ),
)
