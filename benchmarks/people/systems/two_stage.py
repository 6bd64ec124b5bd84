"""Logistic regression for the label, and one for each annotator's being right."""

from benchmarks.people.system import classifier, with_and_without
from defero import TwoStageDeferral

SYSTEMS = with_and_without("two-stage", lambda fold: TwoStageDeferral(classifier(), classifier(), text=fold.texts))
