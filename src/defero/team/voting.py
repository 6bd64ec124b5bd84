"""Votes that know P(expert is right | x, y), taken on as many items at a time as memory allows."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from defero.calibration import Calibrator
from defero.core.posterior import ClassSkill
from defero.core.scores import Scores, logit, sigmoid
from defero.scorers import Scorer
from defero.scorers.team import TeamScorer

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Voted = TypeVar("Voted", bound="DataclassInstance")

_NUMBERS_AT_ONCE = 20_000_000
"""Of P(right | x, y), which has n J K of them."""


def vote_with_skill(
    scorer: Scorer,
    calibrator: Calibrator | None,
    features: Any,
    scores: Scores,
    vote: Callable[[slice, Scores, ClassSkill | None], Voted],
) -> Voted:
    """Return a vote that knows P(expert is right | x, y) where the team has heads that are told the class.

    Recalibration is of P(right | x): what it adds to an expert's log-odds is added to those of each class. The vote
    is taken on so many items at a time as memory allows.

    Parameters
    ----------
    scorer, calibrator
        Those of the team.
    features : (n, d)
    scores : Scores of n items
    vote : callable
        From which rows, their scores and the skill to their answers: a frozen value whose arrays have one row each.
    """
    if not isinstance(scorer, TeamScorer) or scorer.class_heads is None or not len(scores):
        return vote(slice(None), scores, None)
    size = max(1, _NUMBERS_AT_ONCE // max(1, scores.n_experts * scores.n_classes))
    answers = []
    for start in range(0, len(scores), size):
        rows = slice(start, start + size)
        part, skill = scores.take(rows), scorer.class_skill(features[rows])
        if skill is not None and calibrator is not None:
            shift = logit(part.expert_proba) - logit(scorer.score(features[rows]).expert_proba)
            skill = replace(skill, right=sigmoid(logit(skill.right) + shift[:, :, None]))
        answers.append(vote(rows, part, skill))
    if len(answers) == 1:
        return answers[0]
    arrays = [one.name for one in fields(answers[0]) if isinstance(getattr(answers[0], one.name), np.ndarray)]
    whole = {name: np.concatenate([getattr(part, name) for part in answers]) for name in arrays}
    return replace(answers[0], **whole)
