"""Panel: whom to ask together, what is promised of them, and how their answers are put together."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, fee_matrix
from defero.core.codec import Within
from defero.core.errors import Argument, InputError, Message
from defero.core.labels import MISSING, stratum_names
from defero.core.registry import TARGETS
from defero.core.results import MODEL, Decision, ExpertSets
from defero.core.scores import Scores
from defero.core.wording import count_of, join_names
from defero.decide.panels.predictor import ExpertSetPredictor
from defero.decide.rules import best_expert
from defero.decide.terms import TeamTerms, Terms

HANDFUL = 10
"""Panels of so many experts are asked, whatever the size of the team."""
MANY = 20
"""Panels of more are not, however large it is."""


@dataclass(frozen=True, eq=False)
class Panel:
    """How panels are chosen and heard.

    Attributes
    ----------
    predictor : ExpertSetPredictor
        Calibrated on deferred items.
    fees : (J,) fees at that time, or None
        The promise is for these.
    available : (J,) who could be asked at that time, or None for everybody
        The promise is for at least these.
    mean_size : float
        How many experts the panels of the deferred items of calibration hold on average.
    cost_matrix : (K, K) costs of errors at that time, or None where each cost 1
    """

    predictor: ExpertSetPredictor
    fees: tuple[float, ...] | None
    available: tuple[bool, ...] | None
    mean_size: Annotated[float, Within(0)] = 0.0
    cost_matrix: Annotated[FloatArray, Within(0)] | None = None

    @classmethod
    def fit(
        cls,
        scores: Scores,
        deferred: BoolArray,
        label_idx: IntArray,
        answer_idx: IntArray,
        *,
        alpha: float,
        target: str,
        terms: TeamTerms,
        strata: ArrayLike | None,
    ) -> "Panel":
        """Calibrate on the deferred ones of n items.

        The promise is about the experts who can be on a panel: those who are there.
        """
        if scores.link == "weight":
            raise InputError("a mixture of experts' weights are no probabilities: it cannot be conformalized.")
        for name, value in (("fees", terms.fees), ("available", terms.available)):
            if value is not None and np.shape(value) != (scores.n_experts,):
                raise InputError("must have one entry per expert (J,) here: the promise is for those.", argument=name)
        named = None if strata is None else np.array(stratum_names(strata, n_items=len(scores)), dtype=object)
        present = None if terms.available is None else tuple(terms.available.tolist())
        eligible = np.ones(scores.n_experts, dtype=np.bool_) if present is None else np.array(present)
        correct, observed = answer_idx == label_idx[:, None], (answer_idx != MISSING) & eligible
        predictor = ExpertSetPredictor(target=target, alpha=alpha).fit(
            scores.expert_proba[deferred],
            correct[deferred],
            observed=observed[deferred],
            strata=None if named is None else named[deferred],
        )
        fees_then = None if terms.fees is None else tuple(terms.fees.tolist())
        raw = predictor.predict(
            scores.expert_proba[deferred],
            strata=None if named is None else named[deferred],
            fill_empty=False,
            available=eligible,
        )
        return cls(
            predictor,
            fees_then,
            present,
            float(raw.size.mean()) if len(raw) else 0.0,
            cost_matrix=terms.costs.matrix if terms.costs_given else None,
        )

    @property
    def terms(self) -> Terms:
        """What questions and errors cost at that time."""
        return Terms(fees=self.fees, cost_matrix=self.cost_matrix)

    @property
    def stratified(self) -> bool:
        """Was the promise made inside strata?"""
        return None not in self.predictor.n_rows_

    @property
    def useless(self) -> bool:
        """Whether panels would hold too many experts to ask: more than 20, or more than 10 and half of the team."""
        return self.mean_size > max(HANDFUL, min(self.predictor.n_experts_ / 2, MANY))

    def useless_sentence(self) -> Message | None:
        """Say that these panels are not used, and what would make them smaller; None where they are."""
        if not self.useless:
            return None
        few = (
            "few answers per case are recorded" if self.predictor.partly_observed_ else "experts are hard to tell apart"
        )
        return Message(
            f"panels that keep the promise would hold {self.mean_size:.0f} of {self.predictor.n_experts_} experts "
            f"on average, as {few}: no panels are used. A larger {Argument('alpha')} makes them smaller; asking "
            "one after the other needs no panel."
        )

    def promise(self) -> str:
        """Say what is promised about deferred cases, and on how many of them the panels were calibrated."""
        target, n_rows = TARGETS.find(self.predictor.target), self.predictor.n_rows_
        if not target.of_panel:
            return self.predictor.promise().replace("For new items", "For new deferred items", 1)
        inside = "" if None in n_rows else f", in each of the strata {join_names(n_rows)}"
        promised = target.of_panel.format(level=target.level(self.predictor.alpha))
        calibrated = count_of(sum(n_rows.values()), "such case")
        return (
            f"If at least one expert who can be asked is right on a deferred case, {promised}{inside}. "
            f"Calibrated on {calibrated}."
        )

    def voided(self, scores: Scores, terms: TeamTerms) -> list[str]:
        """Say what differs from the terms of the calibration, so that the promise does not hold."""
        then = self.terms.of(terms.expert_names, np.arange(scores.n_classes)).fees_in_errors
        fees, fees_then = (0.0 if one is None else one for one in (terms.fees_in_errors, then))
        other = [] if np.allclose(fees, fees_then, rtol=1e-12, atol=0) else ["other fees than in conformalize"]
        absent = (self._eligible(scores) & ~terms.can_ask(len(scores))).any()
        return [*other, "absent experts"] if absent else other

    def _eligible(self, scores: Scores) -> BoolArray:
        """Return who could be asked at that time, (J,)."""
        return np.ones(scores.n_experts, np.bool_) if self.available is None else np.array(self.available)

    def sets(
        self, scores: Scores, terms: TeamTerms, *, fill_empty: bool = True, strata: ArrayLike | None = None
    ) -> ExpertSets:
        """Return whom to ask for each item.

        With `fill_empty`, an empty set gets the best expert
        who can be asked, fees counted.
        """
        shape = {"n_items": len(scores), "n_experts": scores.n_experts}
        expert_names, can = terms.expert_names, terms.can_ask(len(scores))
        fee = fee_matrix(terms.fees_in_errors, **shape, expert_names=expert_names)
        raw = self.predictor.predict(
            scores.expert_proba,
            strata=strata,
            fill_empty=False,
            available=can & self._eligible(scores),
            expert_names=expert_names,
        )
        if not fill_empty:
            return raw
        empty = np.flatnonzero(~raw.mask.any(axis=1))
        value = np.where(can[empty], scores.expert_value[empty] - fee[empty], -np.inf)
        best, _ = best_expert(value)
        some = best != MODEL
        mask, filled = raw.mask.copy(), np.zeros(len(raw), dtype=np.bool_)
        mask[empty[some], best[some]] = filled[empty[some]] = True
        return ExpertSets(mask, expert_names, filled)


def with_decider(sets: ExpertSets, decision: Decision) -> BoolArray:
    """Return the panels of the deferred items, (n, J), each with the expert whom the decision names.

    Adding an expert never breaks a promise.
    """
    mask = sets.mask & decision.deferred[:, None]
    rows = np.flatnonzero(decision.deferred)
    mask[rows, decision.expert[rows]] = True
    return mask


def with_recorded(panels: BoolArray, decision: Decision, heard: BoolArray, among_heard: Decision) -> BoolArray:
    """Give deferred items of whose panel nobody can be heard to the expert who would decide among those who can.

    Parameters
    ----------
    panels : (n, J)
        Of the deferred items.
    decision : Decision
        Of the rule that was calibrated, whoever is recorded. It settles who is deferred, also here.
    heard : (n, J)
        Whose answer is recorded.
    among_heard : Decision
        Among these experts; the model keeps the items that nobody of them is worth asking about.
    """
    silent = np.flatnonzero(decision.deferred & ~(panels & heard).any(axis=1) & among_heard.deferred)
    mask = panels.copy()
    mask[silent, among_heard.expert[silent]] = True
    return mask
