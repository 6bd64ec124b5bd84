"""No vote at all: the model's label, or that of the one expert who decides."""

import numpy as np

from defero.core.checks import IntArray
from defero.core.labels import Labels
from defero.core.results import Answer, Decision
from defero.core.scores import Scores


def answer_of_decider(scores: Scores, decision: Decision, answer_idx: IntArray, *, classes: Labels) -> Answer:
    """Return what whoever decides says, with P(they are right).

    Parameters
    ----------
    scores : Scores of n items
    decision : Decision
        Made among experts whose answer is recorded.
    answer_idx : (n, J) class numbers, -1 where missing
    classes : (K,)

    Examples
    --------
    >>> from defero.decisions.rules import MostLikelyRight, decide
    >>> scores = Scores.from_probabilities([[0.9, 0.1], [0.5, 0.5]], [[0.8], [0.8]])
    >>> decision = decide(scores, MostLikelyRight(), expert_names=("ann",))
    >>> said = answer_of_decider(scores, decision, np.array([[1], [1]]), classes=np.array(["a", "b"], dtype=object))
    >>> said.label.tolist(), said.confidence.tolist(), said.by_model.tolist()
    (['a', 'b'], [0.9, 0.8], [True, False])
    """
    rows = np.flatnonzero(decision.deferred)
    experts = decision.expert[rows]
    heard = np.zeros(answer_idx.shape, dtype=np.bool_)
    heard[rows, experts] = True
    label_idx, confidence = scores.class_idx, scores.model_proba.copy()
    label_idx[rows] = answer_idx[rows, experts]
    confidence[rows] = scores.expert_proba[rows, experts]
    return Answer(classes[label_idx], confidence, heard)
