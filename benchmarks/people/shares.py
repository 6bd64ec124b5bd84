"""How often each annotator was right, drawn to the crowd's mean; and the plain model of the classes."""

from benchmarks.people.fold import Fold
from benchmarks.people.system import classifier, fitted
from defero import ExpertTable, ModelOnly
from defero.core.checks.arrays import FloatArray

PSEUDO_ANSWERS = 8


def shrunk_shares(table: ExpertTable) -> FloatArray:
    """Return (right_j + 8 m) / (answered_j + 8) of each expert, (J,), with m the share of right answers of all."""
    right, answered = table.correct.sum(axis=0), table.answer_counts
    mean = right.sum() / max(1, answered.sum())
    return (right + PSEUDO_ANSWERS * mean) / (answered + PSEUDO_ANSWERS)


def model_proba(fold: Fold) -> FloatArray:
    """Return the plain model's P(class) of the test part, (n, K)."""
    return fitted(lambda fold: ModelOnly(classifier(), text=fold.texts), fold).scores(fold.features).class_proba
