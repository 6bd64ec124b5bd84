"""What the team says: the answers that came, put together by the vote that was asked for."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from defero.aggregation import VOTES, answer_of_decider, sequential_panel
from defero.core.checks import BoolArray, IntArray, availability, fee_matrix
from defero.core.class_skill import ClassSkill
from defero.core.labels import MISSING
from defero.core.results import Answer
from defero.core.scores import Scores, logit, sigmoid
from defero.router.panel import with_decider
from defero.scorers.team import TeamScorer

if TYPE_CHECKING:
    from defero.router.chain import Router

WAYS_TO_ASK = ("sequential", "expert")
"""Of `answer(vote=)`: no votes of a panel, but other ways to hear the experts."""
_NUMBERS_AT_ONCE = 20_000_000
"""Of P(right | x, y), which has n J K of them."""


def team_answer(
    router: "Router", X: Any, answers: object, *, vote: str | None, fees: Any, available: Any, strata: Any
) -> Answer:
    """Give the team's label; see `Router.answer`."""
    if vote is not None and vote not in WAYS_TO_ASK:
        VOTES.find(vote, also=WAYS_TO_ASK)
    features = router.features(X)
    scores = router.score_features(features)
    answer_idx = router.answer_numbers(answers, n_items=len(scores))
    shape = {"n_items": len(scores), "n_experts": scores.n_experts}
    chosen = vote or ("expert" if router.panel is None else "bayes")
    if chosen in WAYS_TO_ASK:
        can_ask = availability(available, **shape) & (answer_idx != MISSING) & router.proven
        if chosen == "expert":
            decision = router.decide_scores(scores, fees=fees, available=can_ask)
            return answer_of_decider(scores, decision, answer_idx, classes=router.classes)
        fee = fee_matrix(fees, **shape)
        return with_class_skill(
            router,
            features,
            scores,
            lambda rows, part, skill: sequential_panel(
                answer_idx[rows],
                part.expert_proba,
                part.class_proba,
                fees=fee[rows],
                skill=skill,
                available=can_ask[rows],
                classes=router.classes,
            ),
        )
    decision = router.decide_scores(scores, fees=fees, available=available)
    sets = router.sets_of(scores, fees=fees, available=available, strata=strata)
    return panel_answer(router, features, scores, answer_idx, with_decider(sets, decision), vote=chosen)


def panel_answer(
    router: "Router", features: Any, scores: Scores, answer_idx: IntArray, mask: BoolArray, *, vote: str
) -> Answer:
    """Put the answers (n, J) of the experts in a mask (n, J) together, as the router's panel does."""
    panel, classes = router.the_panel(), router.classes
    if not VOTES.find(vote).uses_skill:
        return panel.vote(scores, answer_idx, mask, classes=classes, vote=vote)
    return with_class_skill(
        router,
        features,
        scores,
        lambda rows, part, skill: panel.vote(
            part, answer_idx[rows], mask[rows], classes=classes, vote=vote, skill=skill
        ),
    )


def with_class_skill(
    router: "Router", features: Any, scores: Scores, vote: Callable[[slice, Scores, ClassSkill | None], Answer]
) -> Answer:
    """Return a vote that knows P(expert is right | x, y) where the team has heads that are told the class.

    Recalibration is of P(right | x): what it adds to an expert's log-odds is added to those of each class. The vote
    is taken on so many items at a time as memory allows.

    Parameters
    ----------
    router : Router
    features : (n, d)
    scores : Scores of n items
    vote : callable
        From which rows, their scores and the skill to their answers.
    """
    team = router.scorer
    if not isinstance(team, TeamScorer) or team.class_heads is None or not len(scores):
        return vote(slice(None), scores, None)
    size = max(1, _NUMBERS_AT_ONCE // max(1, scores.n_experts * scores.n_classes))
    found = []
    for start in range(0, len(scores), size):
        rows = slice(start, start + size)
        part, skill = scores.take(rows), team.class_skill(features[rows])
        if skill is not None and router.calibrator is not None:
            shift = logit(part.expert_proba) - logit(team.score(features[rows]).expert_proba)
            skill = replace(skill, right=sigmoid(logit(skill.right) + shift[:, :, None]))
        found.append(vote(rows, part, skill))
    if len(found) == 1:
        return found[0]
    whole = {name: np.concatenate([getattr(one, name) for one in found]) for name in ("label", "confidence", "heard")}
    return replace(found[0], **whole)
