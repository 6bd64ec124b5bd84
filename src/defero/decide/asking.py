"""Asking one after the other: the next question while it is expected to pay, else the answer."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.core.belief import Belief, at, belief_when_asked, first_best
from defero.core.checks.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    check_shape,
    class_probabilities,
    names,
    whole_number,
)
from defero.core.labels import MISSING, Labels, answers_and_model, expert_probabilities, named
from defero.core.law import Law
from defero.core.results import MODEL, InTurn, NextSteps
from defero.decide.costs import ErrorCosts, after_one_answer
from defero.decide.look_ahead import costs_to_go, n_candidates
from defero.decide.terms import LIMITS, TeamTerms, Terms, checked

_NOTHING = 1e-12
"""A gain below this is rounding, not a reason to ask."""
_TIE = 1e-9
"""Costs closer than this share of an error are equal."""


def next_step(
    class_proba: ArrayLike,
    expert_proba: ArrayLike,
    *,
    answers: ArrayLike | None = None,
    terms: Terms | TeamTerms | None = None,
    law: Law | None = None,
    right: FloatArray | None = None,
    classes: ArrayLike | None = None,
    expert_names: ArrayLike | None = None,
) -> NextSteps:
    """Say for each case whom to ask next, or that it should be answered now.

    The state of a case is a posterior over the classes, pi_k, proportional to eta_k(x) times P(a_j | y = k, x) of
    every answer heard. Answering now costs min_a sum_k pi_k C[k, a]. Asking expert j costs their fee and what is
    expected afterwards, where further questions may follow while they pay: exact dynamic programming among the few
    experts who tell most for their fee (6 with two classes, 5 with three, 4 with more), and one answer of everybody
    else. The cheapest step is taken.

    Parameters
    ----------
    class_proba : (n, K)
        The model's P(y = k | x).
    expert_proba : (J,) or (n, J)
        P(expert j is right | x).
    answers : (n, J) int, optional
        Class numbers heard so far, -1 where none.
    terms : Terms, optional
        Fees (by default 0.01 of the dearest error), prices, costs of errors, and who is there; those who have answered
        are not asked again.
    law : Law, optional
        How answers hang together; by default experts err independently.
    right : (n, J, K), optional
        P(expert j is right | x, y = k), used in place of expert_proba.
    classes : (K,), optional
        The labels' own values, in the order of the class numbers.
    expert_names : J names, optional

    Returns
    -------
    NextSteps

    Examples
    --------
    >>> steps = next_step([[0.5, 0.5], [0.98, 0.02]], [0.9, 0.8], expert_names=["ann", "bob"])
    >>> steps.ask.tolist(), steps.label.tolist(), steps.expected_cost.round(3).tolist()
    ([0, -1], [0, 0], [0.11, 0.02])
    """
    model = class_probabilities(class_proba)
    n_experts = np.shape(expert_proba)[-1] if np.shape(expert_proba) else 0
    if answers is None:
        answers = np.full((len(model), n_experts), MISSING)
    answer_idx, model = answers_and_model(answers, model)
    labels = _class_labels(classes, model)
    who = names("expert_names", expert_names, count=answer_idx.shape[1])
    evidence = _evidence(law, model, expert_proba, answer_idx, right)
    own = checked(terms, who, labels, unused=LIMITS)
    charged = _Charged.of(evidence, own)
    can = own.can_ask(len(model)) & evidence.can_tell()
    ask, now, cost = charged.best(np.arange(len(model)), can, most_questions=answer_idx.shape[1])
    label_idx = label_of(evidence, own.costs)
    return NextSteps(
        ask,
        who,
        labels[label_idx],
        at(evidence.reported, label_idx),
        now,
        cost,
        p_used=at(evidence.posterior, label_idx),
        answer_idx=answer_idx,
        class_names=tuple(map(str, labels.tolist())),
    )


def next_gains(evidence: Belief, terms: TeamTerms) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return what each next question saves against answering now, with what may follow it.

    Returns
    -------
    gain : (n, J)
        Fees counted; -inf where an expert cannot be asked or has answered.
    answer_cost : (n,)
        Expected cost of answering now.
    label_idx : (n,)
        The label then.
    """
    costs = terms.costs
    charged = _Charged.of(evidence, terms)
    can = terms.can_ask(len(evidence.class_proba)) & evidence.can_tell()
    now = costs.least(evidence.posterior)
    gain = np.full(can.shape, -np.inf)
    rows = np.flatnonzero(can.any(axis=1))
    if len(rows):
        total, _ = charged.totals(rows, can[rows], most_questions=can.shape[1])
        gain[rows] = np.where(can[rows], now[rows, None] - total, -np.inf)
    return gain, now, label_of(evidence, costs)


def ask_in_turn(
    answers: ArrayLike,
    expert_proba: ArrayLike,
    class_proba: ArrayLike,
    *,
    terms: Terms | TeamTerms | None = None,
    law: Law | None = None,
    right: FloatArray | None = None,
    max_questions: int | None = None,
    classes: ArrayLike | None = None,
) -> InTurn:
    """Ask by `next_step` until every case is answered, on recorded answers.

    Parameters
    ----------
    answers : (n, J) int
        Recorded class numbers, -1 where missing: only experts whose answer is recorded can be asked.
    expert_proba, class_proba, terms, law, right, classes
        As in `next_step`.
    max_questions : int, optional
        At most so many questions per case.

    Returns
    -------
    InTurn
        Its label is the Bayes vote of those asked, its confidence the posterior of the label, `n_asked` the number
        of questions. Of experts worth the same the one who tells most is asked, then the first.

    Examples
    --------
    >>> terms = Terms(fees=[0.02, 0.02])
    >>> panel = ask_in_turn([[0, 1], [0, 1]], [0.9, 0.8], [[0.5, 0.5], [0.95, 0.05]], terms=terms)
    >>> panel.label.tolist(), panel.n_asked.tolist(), panel.confidence.round(3).tolist()
    ([0, 0], [1, 0], [0.9, 0.95])
    """
    answer_idx, model = answers_and_model(answers, class_proba)
    (n_items, n_experts), labels = answer_idx.shape, _class_labels(classes, model)
    own = checked(terms, names("expert_names", None, count=n_experts), labels, unused=LIMITS)
    askable = own.can_ask(n_items) & (answer_idx != MISSING)
    most = n_experts if max_questions is None else min(whole_number("max_questions", max_questions, least=0), n_experts)
    heard = np.zeros(answer_idx.shape, dtype=np.bool_)
    whole = _evidence(law, model, expert_proba, answer_idx, right)
    open_idx = np.arange(n_items)
    for asked in range(most):
        evidence = whole.take(open_idx, np.where(heard[open_idx], answer_idx[open_idx], MISSING))
        charged = _Charged.of(evidence, own.spread(n_items).take(open_idx))
        can = askable[open_idx] & evidence.can_tell()
        ask, _, _ = charged.best(np.arange(len(open_idx)), can, most_questions=most - asked)
        # Where nothing is worth asking now, nothing changes: the case is closed for good.
        open_idx, expert = open_idx[ask != MODEL], ask[ask != MODEL]
        if not len(open_idx):
            break
        heard[open_idx, expert] = True
    evidence = whole.take(slice(None), np.where(heard, answer_idx, MISSING))
    label_idx = label_of(evidence, own.costs)
    return InTurn(
        labels[label_idx],
        at(evidence.reported, label_idx),
        heard,
        fees=np.where(heard, own.charged(n_items), 0.0).sum(axis=1),
        expected_cost=at(own.costs.of_labels(evidence.posterior), label_idx),
    )


def _class_labels(classes: ArrayLike | None, model: FloatArray) -> Labels:
    """Return the labels' own values, (K,)."""
    n_classes = model.shape[1]
    return named(np.arange(n_classes), classes, n_classes=n_classes)


def _evidence(
    law: Law | None, model: FloatArray, expert_proba: ArrayLike, answer_idx: IntArray, right: FloatArray | None
) -> Belief:
    """Check what a caller gave, and put it together."""
    n_items, n_experts = answer_idx.shape
    own = Law.independent(model.shape[1]) if law is None else law
    check_shape("law.errors", own.errors, (model.shape[1],) * 2, like=" like the classes")
    if right is not None:
        check_shape("right", right, (n_items, n_experts, model.shape[1]))
    proba = expert_probabilities(expert_proba, n_items=n_items, n_experts=n_experts)
    return belief_when_asked(own, model, proba, answer_idx, right)


@dataclass(frozen=True, eq=False)
class _Charged:
    """What experts answer, what they cost, (n, J), and what errors cost."""

    evidence: Belief
    fees: FloatArray
    charges: FloatArray
    """Fees and prices."""
    costs: ErrorCosts

    @classmethod
    def of(cls, evidence: Belief, terms: TeamTerms) -> "_Charged":
        fee = terms.charged(len(evidence.class_proba))
        return cls(evidence, fee, fee if terms.prices is None else fee + terms.prices, terms.costs)

    def best(
        self, item_idx: IntArray, can: BoolArray, *, most_questions: int
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return whom to ask (-1: nobody), the cost of answering now and the expected cost from here on, (a,) each."""
        now = self.costs.least(self.evidence.posterior[item_idx])
        ask, cost = np.full(len(item_idx), MODEL), now.copy()
        charge = np.where(can, self.charges[item_idx], np.inf)
        cheapest = charge.min(axis=1, initial=np.inf)
        # A question costs its fee at least: where an error is expected to cost less, nobody is asked.
        unsettled = np.flatnonzero(can.any(axis=1) & ((cheapest < now - _NOTHING) | (cheapest < 0)))
        if most_questions == 0 or not len(unsettled):
            return ask, now, cost
        total, information = self.totals(item_idx[unsettled], can[unsettled], most_questions=most_questions)
        # Who is asked anyway, first or second, costs the same: of these the one who tells most.
        level = total <= total.min(axis=1, keepdims=True) + _TIE * self.costs.largest
        rows, chosen = np.arange(len(unsettled)), np.where(level, information, -1.0).argmax(axis=1)
        pays = total[rows, chosen] < now[unsettled] - _NOTHING
        ask[unsettled[pays]] = chosen[pays]
        cost[unsettled[pays]] = total[rows, chosen][pays]
        return ask, now, cost

    def totals(self, item_idx: IntArray, can: BoolArray, *, most_questions: int) -> tuple[FloatArray, FloatArray]:
        """Return what asking each expert costs with all that follows (inf where that cannot be), and what they tell."""
        charge = np.where(can, self.charges[item_idx], np.inf)
        after, information = after_one_answer(self.evidence, item_idx, can, self.costs)
        total = after + charge
        if most_questions > 1:
            self._look_ahead(total, information, item_idx, charge, most_questions=most_questions)
        return total, information

    def _look_ahead(
        self,
        total: FloatArray,
        information: FloatArray,
        item_idx: IntArray,
        charge: FloatArray,
        *,
        most_questions: int,
    ) -> None:
        """Lower `total` (a, J) of the most informative experts to what asking them costs with what follows."""
        n_some = n_candidates(self.evidence.n_classes, total.shape[1], hard=self.evidence.law.difficulty > 0)
        worth = self.costs.largest * information - charge
        if self.evidence.law.copies is not None:
            alone = _best_of_copies(worth, self.evidence.law.copies)
            worth, charge = np.where(alone, worth, -np.inf), np.where(alone, charge, np.inf)
        some = np.argsort(-worth, axis=1, kind="stable")[:, :n_some]
        rows = np.arange(len(some))[:, None]
        fees = charge[rows, some]
        ahead = costs_to_go(self.evidence, item_idx, some, fees, self.costs, most_questions=most_questions)
        total[rows, some] = np.minimum(total[rows, some], ahead)


def _best_of_copies(worth: FloatArray, copies: IntArray) -> BoolArray:
    """Return who is worth most among those who answer as one, (a, J): nobody is asked after their copy."""
    best = np.ones(worth.shape, dtype=np.bool_)
    for one in np.flatnonzero(np.bincount(copies) > 1):
        mates = np.flatnonzero(copies == one)
        best[:, mates] = np.arange(len(mates)) == worth[:, mates].argmax(axis=1)[:, None]
    return best


def label_of(evidence: Belief, costs: ErrorCosts) -> IntArray:
    """Return the cheapest label of each item, (n,); a tie goes to the class that the model finds likelier."""
    if costs.symmetric:
        return first_best(evidence.log_posterior, evidence.class_proba)
    return first_best(-costs.of_labels(evidence.posterior), evidence.log_posterior, evidence.class_proba)
