"""Every way of asking on the same held-out cases: one expert, in turn, a panel, and what one can do without a team."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.aggregation import VOTES, Ballot, answer_of_decider
from defero.calibration.sequences import VerdictMap, fit_verdicts
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.labels import MISSING, encode_labels
from defero.core.results import MODEL, Answer, Decision, ExpertSets
from defero.core.scores import Scores
from defero.core.trials.ways import Way
from defero.decisions.asking import DEFAULT_FEE
from defero.decisions.rules import best_expert
from defero.router.deciding import Deciding
from defero.router.voting import vote_with_skill

SEVERAL = ("sequential", "panel", "everybody_bayes")
"""Ways whose labels rest on the answers of several experts."""


@dataclass(frozen=True, eq=False)
class Held:
    """Held-out cases as the ways need them.

    Attributes
    ----------
    features : (n, d)
    scores : Scores
    label_idx : (n,)
        True classes.
    answer_idx : (n, J)
        Recorded answers, -1 where missing.
    available : (J,) bool, optional
        Who is there; by default everybody.
    fees : (J,), optional
        In units of one error. By default a question costs `DEFAULT_FEE`.
    """

    features: Any
    scores: Scores
    label_idx: IntArray
    answer_idx: IntArray
    available: BoolArray | None
    fees: FloatArray | None

    @classmethod
    def of(
        cls, features: Any, scores: Scores, label_idx: IntArray, answer_idx: IntArray, *, fees: Any, available: Any
    ) -> "Held":
        """Return the cases with fees and absences as arrays."""
        can_ask = None if available is None else np.asarray(available, dtype=np.bool_)
        fee = None if fees is None else np.asarray(fees, dtype=np.float64)
        return cls(features, scores, label_idx, answer_idx, can_ask, fee)

    @property
    def present(self) -> BoolArray:
        """(n, J): who can be asked: recorded, and there."""
        recorded = self.answer_idx != MISSING
        return recorded if self.available is None else recorded & self.available

    @property
    def fee(self) -> FloatArray:
        """(J,): what a question costs."""
        return np.full(self.answer_idx.shape[1], DEFAULT_FEE) if self.fees is None else self.fees


def ways_of(router: Deciding, held: Held, decision: Decision, panel: Answer | None) -> tuple[Way, ...]:
    """Settle held-out cases in every way; on recorded answers only experts who answered a case can be asked.

    Parameters
    ----------
    router : Deciding
    held : Held
    decision : Decision
        Of one expert, among those present.
    panel : Answer, optional
        What the panels say, where there are panels.

    Returns
    -------
    tuple of Way
        Ways that this team does not have are left out: in turn and Bayes where it goes by weights, which are no
        probabilities, panels where there are none, and everything but the model without experts.
    """
    scores, promises = held.scores, held.scores.link != "weight"
    answer_of = {"one": answer_of_decider(scores, decision, held.answer_idx, classes=router.classes)}
    if scores.n_experts:
        majority = VOTES.find("majority").count(_ballot(router, held))
        answer_of["everybody_majority"] = majority
        answer_of["best_expert"] = _best_expert(router, held)
        if promises:
            can_ask = held.present & router.proven
            answer_of["sequential"] = router.ask_in_turn(
                held.features, scores, held.answer_idx, can_ask=can_ask, fees=held.fees
            )
            answer_of["everybody_bayes"] = _everybody_by_bayes(router, held)
        if panel is not None:
            answer_of["panel"] = panel
    ways = [_way(router, held, name, answer, promises=promises) for name, answer in answer_of.items()]
    zero = np.zeros(len(scores))
    right = (scores.class_idx == held.label_idx).astype(np.float64)
    promised = scores.model_proba if promises else None
    ways.append(Way("model", right, zero, zero, promised, scores.class_idx))
    return (*ways, *([_random_expert(held)] if scores.n_experts else []))


def panel_vote(router: Deciding, held: Held, *, strata: ArrayLike | None) -> tuple[Decision, ExpertSets, Answer]:
    """Return who is deferred, the panels, and what they vote.

    Whom to defer must not depend on whose answer is recorded: the promise is for the rule that was calibrated.
    """
    terms: dict[str, Any] = {"fees": held.fees, "available": held.available}
    decision = router.decide_scores(held.scores, **terms)
    sets = router.sets_of(held.scores, **terms, strata=strata)
    mask = router.panels_heard(held.scores, sets, decision, held.answer_idx, **terms)
    return decision, sets, router.vote_of_panel(held.features, held.scores, held.answer_idx, mask, vote="bayes")


def fit_ways(router: Deciding, held: Held, *, strata: ArrayLike | None) -> dict[str, VerdictMap]:
    """Return for every way that hears several experts how often its labels are right, on held-out cases.

    `router` has a panel, but no such maps yet. Thresholds and discounts of the panel were fitted on the same cases.
    """
    panel = panel_vote(router, held, strata=strata)[2]
    decision = router.decide_scores(held.scores, fees=held.fees, available=held.present)
    ways = {way.name: way for way in ways_of(router, held, decision, panel)}
    gain = ways["model"].cost - ways["sequential"].cost if "sequential" in ways else None
    return {
        name: fit_verdicts(way.promised, way.right, way.questions, gain if name == "sequential" else None)
        for name, way in ways.items()
        if name in SEVERAL and way.promised is not None and len(held.label_idx)
    }


def _way(router: Deciding, held: Held, name: str, answer: Answer, *, promises: bool) -> Way:
    label_idx = encode_labels(answer.label, router.classes)
    return Way(
        name,
        right=(label_idx == held.label_idx).astype(np.float64),
        questions=answer.heard.sum(axis=1),
        fees=answer.heard @ held.fee,
        promised=answer.confidence if promises and name != "everybody_majority" else None,
        label_idx=label_idx,
    )


def _ballot(router: Deciding, held: Held) -> Ballot:
    """Return the ballot of everybody who is present."""
    scores = held.scores
    return Ballot(held.answer_idx, held.present, scores.expert_proba, scores.class_proba, router.classes)


def _everybody_by_bayes(router: Deciding, held: Held) -> Answer:
    discount = None if router.panel is None else router.panel.discount
    answer = vote_with_skill(
        router.scorer,
        router.calibrator,
        held.features,
        held.scores,
        lambda rows, part, skill: VOTES.find("bayes").count(
            Ballot(
                held.answer_idx[rows],
                held.present[rows],
                part.expert_proba,
                part.class_proba,
                router.classes,
                discount=discount,
                skill=skill,
            )
        ),
    )
    return router.as_kept("everybody_bayes", answer)


def _best_expert(router: Deciding, held: Held) -> Answer:
    """Let the expert with the highest mean P(right) answer; where they have not, the next best who has, or the model.

    The order is that of the predicted probabilities: the labels of these cases are not looked at.
    """
    scores = held.scores
    order = np.where(router.proven, scores.expert_proba.mean(axis=0) if len(scores) else 0.0, -1.0)
    best, _ = best_expert(np.where(held.present & router.proven, order, -np.inf))
    rows = np.flatnonzero(best != MODEL)
    label_idx, promised = scores.class_idx.copy(), scores.model_proba.copy()
    label_idx[rows] = held.answer_idx[rows, best[rows]]
    promised[rows] = scores.expert_proba[rows, best[rows]]
    heard = np.zeros(held.present.shape, dtype=np.bool_)
    heard[rows, best[rows]] = True
    return Answer(router.classes[label_idx], promised, heard)


def _random_expert(held: Held) -> Way:
    """Return what is expected of an expert drawn at random among those present; the model where there is nobody."""
    count = held.present.sum(axis=1)
    some = count > 0
    share = np.where(held.present, 1 / np.maximum(count, 1)[:, None], 0.0)
    expert_right = (share * (held.answer_idx == held.label_idx[:, None])).sum(axis=1)
    promised = (share * held.scores.expert_proba).sum(axis=1)
    return Way(
        "random_expert",
        right=np.where(some, expert_right, held.scores.class_idx == held.label_idx),
        questions=some.astype(np.float64),
        fees=share @ held.fee,
        promised=None if held.scores.link == "weight" else np.where(some, promised, held.scores.model_proba),
    )
