"""The asymmetric softmax surrogate: bounded, and the largest probability is the largest score."""

from benchmarks.people.system import with_and_without
from defero import DeferralClassifier

SYSTEMS = with_and_without(
    "asymmetric", lambda fold: DeferralClassifier("mlp", loss="asymmetric", text=fold.texts, random_state=fold.seed)
)
