"""Who decides each item: the rule that each kind of network was made for."""

import numpy as np

from defero import Scores
from defero_verma2023.arrays import BoolArray, IntArray
from defero_verma2023.measures.team_outputs import TeamOutputs

MODEL = -1
"""Stands for the model where an expert's number is expected."""


def who_decides(outputs: TeamOutputs) -> IntArray:
    """Return the expert who decides each item, (n,); -1 where the model does.

    One-vs-all and softmax: the largest of the K + J outputs, a class before an expert where they tie, as the authors
    did. The mixture of experts: its largest weight, an expert before the model. Others: whoever is most likely right.

    >>> one = TeamOutputs("ova", np.array([[0.0, 1.0]]), np.array([[1.0, 2.0]]), np.array([[0, 1]]), np.array([1]))
    >>> who_decides(one).tolist()
    [1]
    """
    if outputs.n_experts == 0:
        return np.full(len(outputs), MODEL)
    if outputs.link in ("ova", "softmax"):
        first = np.concatenate([outputs.class_logits, outputs.expert_logits], axis=1).argmax(axis=1)
        return np.maximum(first - outputs.n_classes, MODEL)
    if outputs.link == "moe" and outputs.model_logit is not None:
        heaviest = np.concatenate([outputs.expert_logits, outputs.model_logit[:, None]], axis=1).argmax(axis=1)
        return np.where(heaviest == outputs.n_experts, MODEL, heaviest)
    return most_likely_right(outputs.scores)


def most_likely_right(scores: Scores) -> IntArray:
    """Return the expert who is most likely right, (n,); -1 where the model is likelier right than every expert."""
    if scores.n_experts == 0:
        return np.full(len(scores), MODEL)
    asked = scores.expert_value.max(axis=1) >= scores.model_proba
    return np.where(asked, scores.expert_value.argmax(axis=1), MODEL)


def team_correct(outputs: TeamOutputs, expert: IntArray) -> BoolArray:
    """Return whether the team is right where these experts decide, -1 for the model, (n,).

    >>> one = TeamOutputs("ova", np.array([[0.0, 1.0]]), np.array([[1.0]]), np.array([[0]]), np.array([0]))
    >>> team_correct(one, np.array([-1])).tolist(), team_correct(one, np.array([0])).tolist()
    ([False], [True])
    """
    if outputs.n_experts == 0:
        return outputs.model_correct
    asked = outputs.expert_correct[np.arange(len(outputs)), expert]
    return np.where(expert == MODEL, outputs.model_correct, asked)
