"""The one-vs-all surrogate: a sigmoid for each class and each annotator."""

from benchmarks.people.system import with_and_without
from defero import DeferralClassifier

SYSTEMS = with_and_without(
    "OvA", lambda fold: DeferralClassifier("mlp", loss="ova", text=fold.texts, random_state=fold.seed)
)
