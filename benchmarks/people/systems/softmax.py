"""The softmax surrogate: classes and annotators share one softmax."""

from benchmarks.people.system import with_and_without
from defero import DeferralClassifier

SYSTEMS = with_and_without(
    "softmax", lambda fold: DeferralClassifier("mlp", loss="softmax", text=fold.texts, random_state=fold.seed)
)
