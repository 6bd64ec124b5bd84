"""The population of a deep net's experts: what newcomers are drawn to, learned where the net is honest."""

import numpy as np

from defero.core.checks import BoolArray
from defero.estimators.lesson import Lesson
from defero.heads import Heads, Lens, fit_prior
from defero.nets.deep_scorer import DeepScorer
from defero.scorers.team import TeamScorer

ENOUGH = 200
"""With fewer answers to held-out items than this, the population is learned from the others as well."""
_MOST = 5_000


def with_deep_population(scorer: DeepScorer, lesson: Lesson, fresh: BoolArray) -> TeamScorer:
    """Return a team in which the net knows each expert itself, and newcomers find the population they come from.

    The heads of newcomers look at the main directions of what the net's last layer reads, and at the class posterior.
    On items that the net learned from, its posterior is surer than elsewhere: the population is learned from answers
    to held-out items, and looks at no posterior where those are fewer than 200.

    Parameters
    ----------
    scorer : DeepScorer of J experts
    lesson : Lesson
    fresh : (n,) bool
        Which items the net did not learn from.
    """
    answers = np.flatnonzero(fresh[lesson.item_idx])
    honest = len(answers) >= ENOUGH
    if not honest:
        answers = np.arange(len(lesson.item_idx))
    if len(answers) > _MOST:
        answers = answers[np.linspace(0, len(answers) - 1, _MOST).astype(np.int64)]
    items, place = np.unique(lesson.item_idx[answers], return_inverse=True)
    scores, embedding = scorer.score_with_embedding(lesson.features[items])
    lens = Lens.fit(embedding, reads_classes=honest)
    prior = fit_prior(
        lens.transform(embedding, scores.class_proba),
        place,
        lesson.expert_idx[answers],
        lesson.right[answers],
        n_experts=lesson.n_experts,
        groups=lens.groups(embedding, n_classes=lesson.n_classes),
    )
    order = np.arange(lesson.n_experts)
    return TeamScorer(scorer, lens, Heads.none(prior), n_own=lesson.n_experts, order=order)
