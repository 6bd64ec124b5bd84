"""What if: the same held-out cases under other fees, or without somebody, without a new fit."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.results import Answer, Decision
from defero.core.trials.trial import Trial, Way
from defero.decisions.terms import Terms
from defero.router.costs.under_terms import decide_under, model_labels
from defero.router.router import Router
from defero.router.ways import Held, answer_of_one, panel_vote, settled_way

_TRIED, _HIGHEST = 10, 12
"""So many prices of money are tried, up to 2 to this power."""


def team_way(router: Router, features: Any, trial: Trial, terms: Terms, *, available: ArrayLike | None) -> Way:
    """Settle the cases of a trial as the team does, under other terms or with other experts.

    Parameters
    ----------
    router : Router
    features : (n, d)
        Of the cases of the trial.
    trial : Trial
    terms : Terms
    available : (J,) bool, optional
    """
    held = Held.of(features, trial.scores, trial.label_idx, trial.answer_idx, terms=terms, available=available)
    return settled_way(router, held, trial.ask, _answer(router, held, trial.ask))


def team_way_within(
    router: Router, features: Any, trial: Trial, terms: Terms, *, available: ArrayLike | None, budget: float
) -> Way:
    """Settle the cases of a trial as the team does with so much money for all questions.

    The fees are multiplied by a price of money, the least one among those tried that keeps the questions within the
    budget; what is paid are the fees themselves.
    """
    held = Held.of(features, trial.scores, trial.label_idx, trial.answer_idx, terms=terms, available=available)
    assert terms.fees is not None
    low, high = 0.0, float(_HIGHEST)  # logarithms of the price, base 2
    nobody = np.zeros(len(router.expert_names), dtype=np.bool_)
    way = settled_way(router, held, trial.ask, _answer(router, replace(held, available=nobody), trial.ask))
    for _ in range(_TRIED):
        middle = (low + high) / 2
        dear = replace(held, terms=replace(terms, fees=2.0**middle * terms.fees))
        tried = settled_way(router, held, trial.ask, _answer(router, dear, trial.ask))
        if tried.fees.sum() <= budget * (1 + 1e-12):
            way, high = tried, middle
        else:
            low = middle
    return way


def decisions_with_everybody(
    router: Router, features: Any, trial: Trial, terms: Terms, *, available: ArrayLike | None
) -> Decision:
    """Return who would decide each case of a trial if everybody who is `available` (J,) could be asked."""
    return decide_under(router, features, trial.scores, terms, available=available)


def _answer(router: Router, held: Held, ask: str) -> Answer:
    if ask == "panel":
        return panel_vote(router, held, strata=None)[2]
    if ask == "sequential":
        can_ask = held.present & router.proven
        return router.ask_in_turn(
            held.features,
            held.scores,
            held.answer_idx,
            can_ask=can_ask,
            fees=held.terms.fees,
            costs=held.terms.costs,
        )
    decision = decide_under(router, held.features, held.scores, held.terms, available=held.present)
    return answer_of_one(router, held, decision, model_labels(held.scores, held.terms))
