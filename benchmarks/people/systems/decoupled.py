"""The decoupled surrogate: a softmax of the classes, a sigmoid for each annotator."""

from benchmarks.people.system import with_and_without
from defero import DeferralClassifier

SYSTEMS = with_and_without(
    "decoupled", lambda fold: DeferralClassifier("mlp", loss="decoupled", text=fold.texts, random_state=fold.seed)
)
