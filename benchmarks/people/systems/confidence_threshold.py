"""The best annotator is asked where the model is less sure than that annotator was right."""

from benchmarks.people.system import classifier, with_and_without
from defero import ConfidenceThreshold

SYSTEMS = with_and_without("confidence threshold", lambda fold: ConfidenceThreshold(classifier(), text=fold.texts))
