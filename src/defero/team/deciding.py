"""Deciding: from scores to who decides, whom to ask, and what the team says."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, availability, by_name, one_of
from defero.core.errors import InputError
from defero.core.labels import MISSING, Labels, encode_labels, encode_recorded
from defero.core.results import Answer, Decision, ExpertSets, InTurn
from defero.core.scores import Scores, logit
from defero.decide.asking import ask_in_turn
from defero.decide.comparison import Comparison, compare
from defero.decide.costs import ErrorCosts
from defero.decide.rules import MostLikelyRight, NeverAsk
from defero.decide.votes import VOTES, answer_of_decider
from defero.team.panel import Panel, with_decider, with_recorded
from defero.team.scoring import Scoring
from defero.team.voting import vote_with_skill

DOES_NOT_PAY = "asking did not pay on held-out cases"
UNUSUAL = ("flag", "ask")
"""What becomes of an unusual case: it is marked, or marked and given to a person."""
Heard = TypeVar("Heard", bound=Answer)

WAYS_TO_ASK = ("sequential", "expert")
"""Of `answer(vote=)`: not votes of a panel, but other ways to ask the experts."""


class Deciding(Scoring):
    """A team that decides: features -> scores -> decision -> answer."""

    def decide(
        self,
        X: Any = None,
        *,
        fees: ArrayLike | None = None,
        available: ArrayLike | None = None,
        unusual: str = "flag",
    ) -> Decision:
        """Say who should decide each item.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        fees : (J,), (n, J) or {name: fee}, optional
            What asking each expert costs, in units of one error.
        available : (J,) or (n, J) bool, or {name: bool}, optional
            Who can be asked.
        unusual : "flag" or "ask"
            A case unlike those that were learned from is marked in `Decision.unusual`; with "ask" it also goes to the
            best expert who can be asked, even where the model would decide.
        """
        one_of("unusual", unusual, UNUSUAL)
        fees, available = self._terms(fees, available)
        terms: dict[str, Any] = {"fees": fees, "available": available}
        if 2 in (np.ndim(fees), np.ndim(available)):  # a row for each item: all at once
            features = self.features(X)
            more: dict[str, Any] = {"unusual": self.unusual(features), "ask_unusual": unusual == "ask"}
            return self.decide_scores(self.score_features(features), **terms, **more)
        blocks, n_items = self._blocks(X)
        marks: list[Labels] = []

        def compared() -> Iterator[Comparison]:
            for features, outside in blocks:
                scores = self._score_block(features, outside)
                names = None if outside is None else self._names_of(outside)
                marks.extend([] if names is None else [names])
                yield self._compare(scores, **terms, unusual=names, ask_unusual=unusual == "ask")

        whole = next(compared()) if n_items is None else Comparison.joined(compared(), n_items)
        return self._decision(whole, np.concatenate(marks) if marks else None)

    def decide_scores(
        self,
        scores: Scores,
        *,
        fees: ArrayLike | None = None,
        available: ArrayLike | None = None,
        unusual: Labels | None = None,
        ask_unusual: bool = False,
    ) -> Decision:
        """Decide on scores already at hand; `unusual` (n,) is as in `Decision`."""
        fees, available = self._terms(fees, available)
        compared = self._compare(scores, fees=fees, available=available, unusual=unusual, ask_unusual=ask_unusual)
        return self._decision(compared, unusual)

    def _compare(
        self, scores: Scores, *, fees: Any, available: Any, unusual: Labels | None, ask_unusual: bool
    ) -> Comparison:
        """Compare the model with the experts, whose probabilities are those of the one who is chosen."""
        log_odds = None
        if self.selection is not None and isinstance(self.rule, MostLikelyRight):
            log_odds = self._bounded(self.selection.log_odds(scores), unusual)
        return compare(
            scores,
            NeverAsk() if self._never_asks else self.rule,
            expert_names=self.expert_names,
            fees=fees,
            available=available,
            proven=self.proven,
            chosen_log_odds=log_odds,
            must_ask=unusual != "" if ask_unusual and unusual is not None else None,
        )

    @property
    def _never_asks(self) -> bool:
        """Whether asking did not pay on held-out cases."""
        return self.selection is not None and isinstance(self.rule, MostLikelyRight) and not self.selection.asks

    def _decision(self, compared: Comparison, unusual: Labels | None) -> Decision:
        return compared.decision(self.expert_names, unusual=unusual, why_not=DOES_NOT_PAY if self._never_asks else "")

    def _bounded(self, log_odds: FloatArray, unusual: Labels | None) -> FloatArray:
        """Return log-odds (n, J) in which no expert is surer of an unusual case than they are right on average."""
        accuracy = None if self.calibrator is None else self.calibrator.accuracy
        if unusual is None or accuracy is None:
            return log_odds
        rows = np.flatnonzero(unusual != "")
        if not len(rows):
            return log_odds
        bounded = log_odds.copy()
        bounded[rows] = np.minimum(log_odds[rows], logit(np.array(accuracy.experts)))
        return bounded

    def predict_set(
        self,
        X: Any = None,
        *,
        fill_empty: bool = True,
        fees: ArrayLike | None = None,
        available: ArrayLike | None = None,
        strata: ArrayLike | None = None,
    ) -> ExpertSets:
        """Return whom to ask for each item, should it be deferred.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        fill_empty : bool
            Add the top expert to an empty set.
        fees, available
            As in `decide`. Other fees than in `conformalize`, or absent experts, void the promise: a warning says so.
        strata : (n,), optional
            As in `conformalize`.
        """
        return self.sets_of(self.scores(X), fill_empty=fill_empty, fees=fees, available=available, strata=strata)

    def sets_of(
        self,
        scores: Scores,
        *,
        fill_empty: bool = True,
        fees: ArrayLike | None = None,
        available: ArrayLike | None = None,
        strata: ArrayLike | None = None,
    ) -> ExpertSets:
        """Return the sets for scores already at hand."""
        fees, available = self._terms(fees, available)
        return self.the_panel().sets(
            scores,
            expert_names=self.expert_names,
            proven=self.proven,
            fill_empty=fill_empty,
            fees=fees,
            available=available,
            strata=strata,
        )

    def answer(
        self,
        X: Any,
        answers: object,
        *,
        vote: str | None = None,
        fees: ArrayLike | None = None,
        available: ArrayLike | None = None,
        strata: ArrayLike | None = None,
    ) -> Answer:
        """Give the team's label: the model's own, the panel's vote, or that of the expert who decides.

        Only experts whose answer is recorded in `answers` are heard. Where nobody of a panel has answered, the expert
        decides who would be asked among those who have; where there is none, the model answers.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        answers : (n, J)
            What the experts answered; missing where they were not asked.
        vote : "bayes", "confusion", "weighted", "majority", "sequential" or "expert", optional
            How a panel's answers are put together: by P(expert is right | x), for "bayes" and "sequential" by class
            where heads are shrunk, or by what each expert answers for each class
            ("confusion", which looks at the class and not at the item). "sequential" asks one expert after the
            other, as long as a question is expected to be worth its fee (0.01 of an error where no fees are given),
            and "expert" one alone; both need no panel. "bayes" by default once there is a useful panel, else
            "expert".
        fees, available, strata
            As in `decide` and `predict_set`.
        """
        if vote is not None and vote not in WAYS_TO_ASK:
            VOTES.find(vote, also=WAYS_TO_ASK)
        fees, available = self._terms(fees, available)
        features = self.features(X)
        scores = self.score_features(features)
        answer_idx = self.answer_numbers(answers, n_items=len(scores), name="answers")
        way = vote or ("expert" if self.panel is None or self.panel.useless else "bayes")
        if way in WAYS_TO_ASK:
            shape = {"n_items": len(scores), "n_experts": scores.n_experts}
            can_ask = availability(available, **shape) & (answer_idx != MISSING) & self.proven
            if way == "expert":
                decision = self.decide_scores(scores, fees=fees, available=can_ask)
                return answer_of_decider(scores, decision, answer_idx, classes=self.classes)
            return self.ask_in_turn(features, scores, answer_idx, can_ask=can_ask, fees=fees)
        decision = self.decide_scores(scores, fees=fees, available=available)
        sets = self.sets_of(scores, fees=fees, available=available, strata=strata)
        mask = self.panels_heard(scores, sets, decision, answer_idx, fees=fees, available=available)
        return self.vote_of_panel(features, scores, answer_idx, mask, vote=way)

    def panels_heard(
        self, scores: Scores, sets: ExpertSets, decision: Decision, answer_idx: IntArray, *, fees: Any, available: Any
    ) -> BoolArray:
        """Return whose recorded answers (n, J) are heard on deferred items: the panel's, or else the best recorded."""
        shape = {"n_items": len(scores), "n_experts": scores.n_experts}
        can = availability(available, **shape) & (answer_idx != MISSING)
        among_recorded = self.decide_scores(scores, fees=fees, available=can)
        return with_recorded(with_decider(sets, decision), decision, can, among_recorded)

    def ask_in_turn(
        self,
        features: Any,
        scores: Scores,
        answer_idx: IntArray,
        *,
        can_ask: BoolArray,
        fees: ArrayLike | None,
        costs: ErrorCosts | None = None,
    ) -> InTurn:
        """Ask one expert after the other on recorded answers (n, J), as long as a question is worth its fee.

        Fees and `expected_cost` are in the unit of the costs, by default one error.

        Experts who err together count less, where the panel knows how much. Nobody is asked where asking did not pay
        on held-out cases.
        """
        unequal = costs is not None and not costs.symmetric
        if not self.asks_in_turn and not unequal:  # judged for errors that all cost the same
            can_ask = np.zeros_like(can_ask)
        fee = None if fees is None else np.broadcast_to(np.asarray(fees, dtype=np.float64), answer_idx.shape)
        settled = vote_with_skill(
            self.scorer,
            self.calibrator,
            features,
            scores,
            lambda rows, part, skill: ask_in_turn(
                answer_idx[rows],
                part.expert_proba,
                part.class_proba,
                fees=None if fee is None else fee[rows],
                skill=skill,
                discount=None if self.panel is None else self.panel.discount,
                available=can_ask[rows],
                classes=self.classes,
                cost_matrix=None if costs is None else costs.matrix,
            ),
        )
        settled = self.as_kept("sequential", settled)
        if unequal:
            return settled
        return replace(settled, expected_cost=(1.0 if costs is None else costs.largest) * (1 - settled.confidence))

    @property
    def asks_in_turn(self) -> bool:
        """Whether asking one after the other paid on held-out cases, or nothing is known of it."""
        verdict = None if self.panel is None else self.panel.verdicts.get("sequential")
        if verdict is not None:
            return verdict.asks
        return self.selection is None or self.selection.asks

    def as_kept(self, way: str, answer: Heard) -> Heard:
        """Return answers with the confidence that such labels have kept on held-out cases, where that is known."""
        verdict = None if self.panel is None else self.panel.verdicts.get(way)
        if verdict is None:
            return answer
        return replace(answer, confidence=verdict.apply(answer.confidence, answer.heard.sum(axis=1)))

    def vote_of_panel(
        self,
        features: Any,
        scores: Scores,
        answer_idx: IntArray,
        mask: BoolArray,
        *,
        vote: str,
        cost_matrix: FloatArray | None = None,
    ) -> Answer:
        """Combine the answers (n, J) of the experts in a mask (n, J) as the panel does."""
        panel = self.the_panel()
        if not VOTES.find(vote).uses_skill:
            return panel.vote(scores, answer_idx, mask, classes=self.classes, vote=vote)
        answer = vote_with_skill(
            self.scorer,
            self.calibrator,
            features,
            scores,
            lambda rows, part, skill: panel.vote(
                part,
                answer_idx[rows],
                mask[rows],
                classes=self.classes,
                vote=vote,
                skill=skill,
                cost_matrix=cost_matrix,
            ),
        )
        return self.as_kept("panel", answer) if vote == "bayes" else answer

    def predict(self, X: Any = None) -> Labels:
        """Return the model's own label for each item."""
        return self.classes[self.scores(X).class_idx]

    def score(self, X: Any, y: ArrayLike, experts: object = None, *, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of items that the team gets right, asking only experts whose answer is recorded."""
        label_idx = encode_labels(y, self.classes)
        if experts is None:
            experts = np.full((len(label_idx), len(self.expert_names)), None)
        self.answer_numbers(experts, n_items=len(label_idx))  # an error names this argument, not that of `answer`
        right = self.answer(X, experts, vote="expert").label == self.classes[label_idx]
        return float(np.average(right, weights=None if sample_weight is None else np.asarray(sample_weight)))

    def answer_numbers(self, answers: object, *, n_items: int, name: str = "experts") -> IntArray:
        """Return recorded answers as class numbers (n, J), columns in this team's order."""
        return encode_recorded(answers, self.classes, expert_names=self.expert_names, n_items=n_items, name=name)

    def _terms(self, fees: Any, available: Any) -> tuple[Any, Any]:
        """Take fees and absences by the experts' names as well as in their order."""
        fees = by_name("fees", fees, self.expert_names, default=0.0)
        return fees, by_name("available", available, self.expert_names, default=True)

    def the_panel(self) -> Panel:
        """Return the panel; raises where there is none yet."""
        if self.panel is None:
            raise InputError("no panel yet: call conformalize(X, y, experts=..., alpha=..., target=...) first.")
        return self.panel
