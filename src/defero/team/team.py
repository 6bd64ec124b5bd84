"""Team: a fitted team, what is saved, loaded, routed and served.

What its methods do stands in functions that take the team: `scoring` (what it believes), `deciding` (who decides, and
what is said), `asking` (the next question, a batch under limits), `roster` (who is on it), `rows` (what it has seen).
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from defero.core.answers import Answers
from defero.core.checks.arrays import FloatArray, IntArray, names
from defero.core.codec import Count, Within
from defero.core.errors import Argument, InputError
from defero.core.labels import MISSING, Labels, encode_labels, encode_recorded, stratum_names
from defero.core.law import Law
from defero.core.results import Answer, Assignment, Decision, ExpertSets, NextSteps
from defero.core.scores import Scores
from defero.core.wording import Preformatted, count_of, join_names
from defero.data.recipes.columns import UsualRanges
from defero.data.recipes.pictures import PictureRecipe
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.recipes.text_encoder import Encoder
from defero.decide.curve import Curve
from defero.decide.rules import RULES, MostLikelyRight, Rule
from defero.decide.terms import LIMITS, TeamTerms, Terms, checked
from defero.learn.calibrator import Calibrator, Method
from defero.learn.law import KnownAnswers, fit_law
from defero.learn.scores import LearnedPrices
from defero.learn.selection import HeldOut, SelectionMap, selection_after
from defero.scorers import AnyScorer
from defero.scorers.given import given_scorer
from defero.team import asking, deciding, roster, scoring
from defero.team.facts import FitFacts
from defero.team.panel import Panel
from defero.team.rows import (
    FORGOTTEN,
    Fingerprints,
    check_rows_known,
    features_seen,
    in_own_order,
    seen_after,
    told_apart_by,
)
from defero.team.score_facts import ScoreFacts
from defero.team.storage import read_team, with_classifiers, with_encoder, write_team

MOST_PIXELS = 1 << 22


@dataclass(eq=False, repr=False)
class Team(Preformatted):
    """Who should decide: features in, decisions out.

    Estimators build one when they are fitted; `Team.load` reads one from a model folder;
    `Team.from_probabilities` makes one from anybody's model. As in an estimator, `calibrate`, `conformalize` and
    `add_expert` change the team and return it; `copy` gives a second one.

    Attributes
    ----------
    scorer : Scorer
        Features to `Scores`.
    classes : (K,)
        In the labels' own type, sorted. None (K = 0) where the experts have only scores: right or wrong, or marks in
        [0, 1]. There is no model then, and all that can be done is to let somebody answer.
    expert_names : J names
    answer_counts : (J,) int
        How many answers, or scores, of each expert were learned from.
    rule : Rule
        How scores become a decision.
    recipe : FeatureRecipe or PictureRecipe, optional
        Turns a table's columns into numbers or pictures; None for models of plain arrays.
    n_features : int, optional
        Width of the matrix a model without a recipe takes.
    usual : UsualRanges, optional
        Of the columns of such a matrix; a recipe has those of its own columns.
    item_shape : tuple of int, optional
        Of one item, where a model takes no matrix: (height, width, channels) of pictures.
    calibrator : Calibrator, optional
        Calibrates the scores; fitted on rows that `fit` did not see.
    selection : SelectionMap, optional
        Calibrates the expert who is chosen, and says whether asking pays.
    law : Law, optional
        How the answers to one item hang together; independent where it is None.
    panel : Panel, optional
        Chooses panels; fitted on rows that neither `fit` nor `calibrate` saw.
    prices : LearnedPrices, optional
        What a question costs where terms name no fee.
    score_facts : ScoreFacts, optional
        What is known of the scores, where there are no classes.
    seen : mapping
        Which rows each stage has used ("fit", "calibrate", "conformalize", "add_expert", "partial_fit"), as
        fingerprints of their features, and with labels and answers.
    rows_key : str, optional
        None where `seen` was made with this user's key; else the id of another key, or "forgotten".
    facts : FitFacts
        What the team remembers of its making: the label's column, the loss, the seed.
    held_out : HeldOut, optional
        Scores of training rows by models that did not see them, for `selection`; not saved.
    """

    kind: ClassVar[str] = "team"
    scorer: AnyScorer
    classes: Labels
    expert_names: tuple[str, ...]
    answer_counts: Annotated[IntArray, Within(0)]
    rule: Annotated[Rule, RULES] = field(default_factory=MostLikelyRight)
    recipe: FeatureRecipe | PictureRecipe | None = None
    n_features: Count | None = None
    usual: UsualRanges | None = None
    item_shape: Annotated[tuple[Annotated[int, Within(1, MOST_PIXELS)], ...], Within(1)] | None = None
    calibrator: Calibrator | None = None
    selection: SelectionMap | None = None
    law: Law | None = None
    panel: Panel | None = None
    prices: LearnedPrices | None = None
    score_facts: ScoreFacts | None = None
    seen: Mapping[str, Fingerprints] = field(default_factory=dict)
    rows_key: str | None = None
    facts: FitFacts = field(default_factory=FitFacts)
    held_out: HeldOut | None = field(default=None, metadata={"saved": False})

    def __post_init__(self) -> None:
        self.expert_names = names("expert_names", self.expert_names, count=len(self.answer_counts))
        if self.item_shape is not None and math.prod(self.item_shape) > MOST_PIXELS:
            raise InputError(f"must be at most {MOST_PIXELS:,} numbers, got {self.item_shape}.", argument="item_shape")

    def describe(self) -> list[str]:
        """Return what the team is, in at most seven lines."""
        experts = count_of(len(self.expert_names), "expert")
        classes = "scores alone" if self.scored_only else count_of(len(self.classes), "class", "classes")
        lines = [
            f"{type(self).__name__}: {classes}, {experts}.",
            *([] if self.scored_only else [f"  classes: {join_names(self.classes.tolist(), most=6)}"]),
            f"  experts: {join_names(self.expert_names, most=6)}" if self.expert_names else "  experts: none",
            f"  scorer: {self.scorer.kind}; features: {self._features()}",
            f"  calibrated: {'no' if self.calibrator is None else 'yes'}",
        ]
        if self.panel is None:
            return [*lines, "  panels: none"]
        predictor = self.panel.predictor
        return [*lines, f"  panels: {predictor.target}, alpha {predictor.alpha:g}"]

    def _features(self) -> str:
        if self.recipe is not None:
            return f"{count_of(len(self.recipe.inputs), 'column')} of a table"
        if self.item_shape is not None:
            return f"items of shape {self.item_shape}"
        return "any" if self.n_features is None else count_of(self.n_features, "number")

    def __repr__(self) -> str:
        return "\n".join(line if len(line) <= 120 else f"{line[:117]}..." for line in self.describe())

    @property
    def scored_only(self) -> bool:
        """Whether experts have only scores: there are no classes, and no model."""
        return not len(self.classes)

    @property
    def otherwise(self) -> str:
        """Who decides where no expert does: "model", or "nobody"."""
        return "nobody" if self.scored_only else "model"

    def need_classes(self, what: str) -> None:
        """Raise where something is asked of the team that only labels make possible."""
        if self.scored_only:
            raise InputError(f"{what}: the experts of this team have only scores, and there is no model with labels.")

    @classmethod
    def from_probabilities(
        cls,
        class_proba: Callable[[Any], ArrayLike] | ArrayLike | None,
        expert_proba: Callable[[Any], ArrayLike] | ArrayLike,
        *,
        classes: ArrayLike | None = None,
        expert_names: ArrayLike | None = None,
    ) -> "Team":
        """Build a team on your own model.

        Parameters
        ----------
        class_proba : callable or (n, K)
            Features to P(y = k | x), or the probabilities of a fixed list of items. None: there are no classes.
        expert_proba : callable or (n, J)
            Features to P(expert j is right | x), or the same for that list.
        classes : (K,), optional
            0..K-1 by default. Needed where functions are given.
        expert_names : J names, optional
            `expert_0`, ... by default. Needed where functions are given.

        Examples
        --------
        >>> team = Team.from_probabilities([[0.9, 0.1], [0.5, 0.5]], [[0.8], [0.8]], expert_names=["ann"])
        >>> team.decide().name.tolist()
        ['model', 'ann']
        """
        scorer, labels, who = given_scorer(class_proba, expert_proba, classes=classes, expert_names=expert_names)
        return cls(scorer, labels, who, answer_counts=np.ones(len(who), dtype=np.int64))

    def copy(self) -> "Team":
        """Return a second team with the same parts; what changes one leaves the other as it is."""
        return replace(self)

    def _become(self, changed: "Team") -> Self:
        vars(self).update(vars(changed))
        return self

    # What it believes of items.

    def features(self, X: Any, *, source: str = "X", first_row: int = 0) -> Any:
        """Return the matrix that the scorer takes: a table's columns go through the recipe, found by their names.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        source, first_row : str, int
            What a message calls the table, and the number of its first row.
        """
        return scoring.features_of(self, X, source=source, first_row=first_row)

    def unusual(self, features: Any) -> Labels | None:
        """Return the names of the columns that make each case unusual, (n,), joined by "; ", from its `features`."""
        outside = scoring.outside(self, features)
        return None if outside is None else scoring.names_of(self, outside)

    def scores(self, X: Any = None) -> Scores:
        """Return what the model believes of each item."""
        return self.score_features(self.features(X)).named(self.classes, self.expert_names)

    def score_features(self, features: Any) -> Scores:
        """Return calibrated scores of n items whose `features` are at hand.

        An expert without answers gets the average of the others. After `calibrate` nobody is surer of an unusual case
        than they were right on average there.
        """
        return scoring.score_features(self, features)

    def scored(self, X: Any, *, source: str = "X", first_row: int = 0) -> tuple[Any, Scores, Labels | None]:
        """Return `features`, `score_features` and `unusual` of items; the last is None where nothing is unusual."""
        return scoring.scored(self, X, source=source, first_row=first_row)

    def expert_sd(self, X: Any = None) -> FloatArray:
        """Return the standard deviation of P(expert j is right | x), (n, J), after calibration.

        It shows how little is known of the expert, not how hard the item is; nan for experts without a shrunk head.
        """
        return scoring.sd_of_features(self, self.features(X))

    def predict(self, X: Any = None) -> Labels:
        """Return the model's own label for each item."""
        self.need_classes("predict")
        return self.classes[self.scores(X).class_idx]

    def answer_numbers(self, answers: object, *, n_items: int, name: str = "experts") -> IntArray:
        """Return recorded answers as class numbers (n, J), columns in this team's order."""
        self.need_classes(name)
        return encode_recorded(answers, self.classes, expert_names=self.expert_names, n_items=n_items, name=name)

    # What it does with them. Terms come after learning: others need no new fit.

    def decide(self, X: Any = None, *, terms: Terms | None = None, unusual: str = "flag") -> Decision:
        """Say who should decide each item: the model, or one expert, whose answer is final.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        terms : Terms, optional
            Fees, costs of errors, and who can be asked. By default questions are free, an error costs 1, and everybody
            is there.
        unusual : "flag" or "ask"
            A case unlike those that were learned from is marked in `Decision.unusual`; with "ask" it also goes to the
            best expert who can be asked, even where the model would decide.
        """
        return deciding.decide(self, X, self._checked(terms), unusual=unusual)

    def curve(self, X: Any = None, right: Any = None, *, terms: Terms | None = None) -> Curve:
        """Return quality against cost, whatever an error costs, beside mixtures of single members.

        The model is a member at no cost.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        right : (n, M), DataFrame or {name: n values}, optional
            Whether each member was right on each item, or their score: the experts, and then the model if there is one;
            NaN where that is not known. The curve is then what was kept; by default it is what is expected.
        terms : Terms, optional
            Fees, and who can be asked.

        Examples
        --------
        >>> team = Team.from_probabilities([[0.9, 0.1], [0.5, 0.5]], [[0.8], [0.8]], expert_names=["ann"])
        >>> team.curve(terms=Terms(fees={"ann": 2.0})).quality.round(2).tolist()
        [0.7, 0.85]
        """
        return deciding.curve(self, X, right, self._checked(terms))

    def next_step(
        self,
        X: Any = None,
        *,
        answers: object = None,
        marks: Any = None,
        asked: Any = None,
        terms: Terms | None = None,
    ) -> NextSteps:
        """Say for each case whom to ask next, or what to answer now.

        Ask, add the answers, and call it again, until every case is answered. Recorded answers that are asked for in
        this way lead to the labels of `answer(vote="sequential")`.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        answers : (n, J), DataFrame or {name: n answers}, optional
            Answers so far; missing where nobody was asked.
        marks : {name: mark or n marks} or (n, M), optional
            In a cascade with `Terms.judge`: the judge's marks of the answers so far, 1 or 0; NaN where an answer was
            not judged, or there is none. The members are the experts, and then the model if there is one.
        asked : {name: bool or n of them} or (n, M) bool, optional
            Who has answered in a cascade, judged or not; by default whose answer has a mark.
        terms : Terms, optional
            Fees (by default 0.01 of the dearest error), costs of errors, who can be asked, and prices for those whose
            time is scarce; a `judge` who says whether an answer is right.

        Returns
        -------
        NextSteps
            `p_right` is how often such labels were right on held-out cases, where that is known. Where answers stand as
            they are, of a team without classes or in a cascade, it says whose answer stands.

        Examples
        --------
        >>> from defero import Team, Terms
        >>> team = Team.from_probabilities([[0.5, 0.5], [0.9, 0.1]], [[0.8], [0.8]], expert_names=["ann"])
        >>> team.next_step(terms=Terms(fees=[2.5], error_cost=40)).reason
        ['ask ann: 10.500 expected, 20.000 if answered now',
         'answer now: 4.000 expected, no question is worth its fee']
        """
        features = self.features(X)
        scores = self.score_features(features)
        own = self.known_terms(terms, unused=(*LIMITS, "floor"))
        if self.scored_only or own.marking is not None:
            return asking.cascade_of(self, features, scores, marks, asked, own)
        if marks is not None or asked is not None:
            raise InputError(f"are of a cascade: it needs {Argument('judge')} in the terms.", argument="marks")
        answer_idx = np.full((len(scores), scores.n_experts), MISSING)
        if answers is not None:
            answer_idx = self.answer_numbers(answers, n_items=len(scores), name="answers")
        return asking.next_step_of(self, features, scores, answer_idx, own)

    def gains(self, X: Any = None, *, terms: Terms | None = None) -> asking.Gains:
        """Return what asking each expert once saves against the model's answer, as `assign` weighs it.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        terms : Terms, optional
            Fees, costs of errors, and who can be asked.

        Examples
        --------
        >>> from defero import Team, Terms
        >>> team = Team.from_probabilities([[0.5, 0.5]], [[0.9, 0.8]], expert_names=["ann", "bob"])
        >>> team.gains(terms=Terms(fees={"ann": 3.0}, error_cost=40)).gain.round(3).tolist()
        [[13.0, 12.0]]
        """
        features = self.features(X)
        return asking.gains_of(self, features, self.score_features(features), self._checked(terms))

    def assign(self, X: Any = None, *, terms: Terms | None = None, method: str = "auto") -> Assignment:
        """Choose who answers each case of a batch, the model or one expert, so that no limit is exceeded.

        Without limits this is `decide` in your unit of cost. A panel's promise does not hold with limits, which decide
        who is deferred.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        terms : Terms, optional
            As in `decide`, with `capacity`, `budget` and `at_most_asked`.
        method : "auto", "exact" or "prices"
            As in `defero.decide.assign`.

        Examples
        --------
        >>> from defero import Team, Terms
        >>> team = Team.from_probabilities([[0.5, 0.5], [0.6, 0.4]], [[0.9], [0.9]], expert_names=["ann"])
        >>> batch = team.assign(terms=Terms(capacity={"ann": 1}, error_cost=40))
        >>> batch.name.tolist(), batch.sentences()
        (['ann', 'model'], ['One more question to ann would save 12.00.'])
        """
        own = self.known_terms(terms, unused=("prices", "floor", "judge", "judge_price"))
        features = self.features(X)
        own = asking.with_prices(self, features, own)
        gain = asking.gains_of(self, features, self.score_features(features), own)
        return asking.assign_gains(self, gain, own, method=method)

    def predict_set(
        self,
        X: Any = None,
        *,
        fill_empty: bool = True,
        terms: Terms | None = None,
        strata: ArrayLike | None = None,
    ) -> ExpertSets:
        """Return whom to ask for each item, should it be deferred.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        fill_empty : bool
            Add the top expert to an empty set.
        terms : Terms, optional
            As in `decide`. Other fees than in `conformalize`, or absent experts, void the promise: a warning says so.
        strata : (n,), optional
            As in `conformalize`.
        """
        own = self._checked(terms)
        return deciding.sets_of(self, self.scores(X), own, fill_empty=fill_empty, strata=strata)

    def answer(
        self,
        X: Any,
        answers: object,
        *,
        vote: str | None = None,
        terms: Terms | None = None,
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
        vote : "bayes", "weighted", "majority", "sequential" or "expert", optional
            How a panel's answers are put together: "bayes" and "sequential" by the law of answers. "sequential" asks
            one expert after the other, as long as a question is expected to be worth its fee (0.01 of an error where no
            fees are given), "expert" one alone; both need no panel. "bayes" by default once there is a useful panel,
            else "expert".
        terms, strata
            As in `decide` and `predict_set`.
        """
        return deciding.answer(self, X, answers, self._checked(terms), vote=vote, strata=strata)

    def score(self, X: Any, y: ArrayLike, experts: object = None, *, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of items that the team gets right, asking only experts whose answer is recorded."""
        label_idx = encode_labels(y, self.classes)
        if experts is None:
            experts = np.full((len(label_idx), len(self.expert_names)), None)
        self.answer_numbers(experts, n_items=len(label_idx))  # an error names this argument, not that of `answer`
        right = self.answer(X, experts, vote="expert").label == self.classes[label_idx]
        return float(np.average(right, weights=None if sample_weight is None else np.asarray(sample_weight)))

    def _checked(self, terms: Terms | TeamTerms | None) -> TeamTerms:
        """Return terms for single cases, checked."""
        return self.known_terms(terms, unused=(*LIMITS, "prices", "judge", "judge_price"))

    def known_terms(self, terms: Terms | TeamTerms | None, *, unused: Sequence[str] = ()) -> TeamTerms:
        """Return checked terms, in which a fee may be the price that was learned; refuse those that are `unused`."""
        learned = None if self.prices is None else self.prices.known
        return checked(terms, self.expert_names, self.classes, unused=unused, learned=learned)

    # The stages after fit.

    def calibrate(
        self, X: Any, y: ArrayLike, experts: object, *, method: Method = "auto", disjoint: bool = False
    ) -> Self:
        """Calibrate the scores on rows that no stage has used; drops an earlier panel.

        Parameters
        ----------
        X, y, experts
            As in an estimator's `fit`.
        method : str
            As in `Calibrator.fit`; `calibrator.describe()` says what was corrected.
        disjoint : bool
            True where the caller vouches that no earlier stage used these rows; else they are checked.

        Returns
        -------
        self
        """
        self.need_classes("calibrate")
        raw = replace(self, calibrator=None, selection=None, panel=None)
        features, label_idx = raw.features(X), encode_labels(y, self.classes)
        answer_idx = self.answer_numbers(experts, n_items=len(label_idx))
        marked = raw.mark_seen("calibrate", X, label_idx, answer_idx, disjoint=disjoint)
        features, label_idx, answer_idx, _ = in_own_order(features, label_idx, answer_idx, self.expert_names)
        scores = raw.scorer.score(features)
        correct, observed = answer_idx == label_idx[:, None], answer_idx != MISSING
        calibrator = Calibrator.fit(scores, label_idx, correct, observed, method=method)
        held_out = HeldOut(scores, label_idx, correct, observed)
        selection = selection_after(held_out, self.held_out, calibrator, method=method)
        if self.law is None and scores.link != "weight" and scores.n_experts:
            rows, experts = np.nonzero(observed)
            after, codes = calibrator.apply(scores), answer_idx[rows, experts]
            right = after.expert_proba[rows, experts, None]
            marked.law = fit_law(KnownAnswers(after.class_proba, label_idx, rows, experts, codes, right))
        if self.panel is not None:
            warnings.warn("calibrate drops the panel's thresholds; call conformalize again.", stacklevel=2)
        return self._become(replace(marked, calibrator=calibrator, selection=selection))

    def calibrated_across_folds(self) -> Self:
        """Count the scores as calibrated by the cross-validation inside `fit`; needs a team that was fitted so.

        Nothing changes but what the team says of itself: no rows apart are needed.
        """
        if self.held_out is None:
            raise InputError("no scores across folds: call calibrate(X, y, experts=...) with cases of their own.")
        rows = self.held_out
        calibrator = Calibrator.fit(rows.scores, rows.label_idx, rows.correct, rows.observed, method="none")
        return self._become(replace(self, calibrator=calibrator, panel=None))

    def conformalize(
        self,
        X: Any,
        y: ArrayLike,
        experts: object,
        *,
        alpha: float = 0.1,
        target: str = "any-correct",
        terms: Terms | TeamTerms | None = None,
        strata: ArrayLike | None = None,
        disjoint: bool = False,
    ) -> Self:
        """Find panels that keep a promise, on the deferred ones of rows that no stage has used.

        Which cases are deferred is settled by `decide` on these terms, case by case, before any label is
        looked at. Where panels would hold more than 20 experts on average, or more than 10 and half of the team, a
        warning says so and they are used only on request.

        Parameters
        ----------
        X, y, experts
            As in an estimator's `fit`.
        alpha : float
            How often the promise may be broken.
        target : str
            What is promised: see `defero.decide.panels.ExpertSetPredictor`.
        terms : Terms, optional
            As in `decide`, with one entry per expert: the promise is for these fees and experts.
        strata : (n,), optional
            The same promise inside each stratum.
        disjoint : bool
            As in `calibrate`.

        Returns
        -------
        self
        """
        self.need_classes("conformalize")
        own = self._checked(terms)
        features, label_idx = self.features(X), encode_labels(y, self.classes)
        answer_idx = self.answer_numbers(experts, n_items=len(label_idx))
        marked = self.mark_seen("conformalize", X, label_idx, answer_idx, disjoint=disjoint)
        names = None if strata is None else np.array(stratum_names(strata, n_items=len(label_idx)), dtype=object)
        features, label_idx, answer_idx, strata = in_own_order(
            features, label_idx, answer_idx, self.expert_names, names
        )
        scores = self.score_features(features)
        panel = Panel.fit(
            scores,
            deciding.decide_scored(self, features, scores, own).deferred,
            label_idx,
            answer_idx,
            alpha=alpha,
            target=target,
            terms=own,
            strata=strata,
        )
        useless = panel.useless_sentence()
        if useless is not None:
            warnings.warn(useless, stacklevel=2)
        return self._become(replace(marked, panel=panel))

    # Between two fits.

    def partial_fit(self, X: Any, y: ArrayLike, experts: object, *, disjoint: bool = False) -> Self:
        """Learn from answers to new cases whose truth is known now; drops an earlier panel.

        Each answer moves what is known of its expert, one case after the other: the same cases in the same order give
        the same numbers to the last bit, however they are cut into calls. The model of the classes, the average expert,
        trees and the law of answers stay as they are until the next fit. Old cases count as much as new ones.

        Parameters
        ----------
        X, y, experts
            As in an estimator's `fit`. The rows count as used: no later stage takes them, and no second call.
        disjoint : bool
            As in `calibrate`.

        Returns
        -------
        self

        Examples
        --------
        >>> from defero import TwoStageDeferral
        >>> rng = np.random.default_rng(0)
        >>> X, y = np.eye(2)[np.arange(200) % 2], np.arange(200) % 2
        >>> said = np.where(rng.random((200, 3)) < 0.7, y[:, None], 1 - y[:, None])
        >>> fitted = TwoStageDeferral().fit(X[:100], y[:100], experts=said[:100]).team_
        >>> team = fitted.copy().add_expert("dr_d", None, None, None)
        >>> team = team.partial_fit(X[100:], y[100:], {"dr_d": y[100:]}, disjoint=True)  # dr_d is always right
        >>> bool((team.scores(X).expert_proba[0, 3] > fitted.scores(X).expert_proba[0]).all())
        True
        """
        return self._become(roster.partial_fit(self, X, y, experts, disjoint=disjoint))

    # Who is on the team. Nobody else's numbers change.

    def add_expert(
        self,
        name: str,
        X: Any = None,
        y: Any = None,
        answers: object = None,
        *,
        like: str | Sequence[str] | None = None,
        price: float | None = None,
    ) -> Self:
        """Add an expert at the end from a few answers, shrunk toward the average expert; drops an earlier panel.

        Of a team without classes an expert is expected to score as a mix of those who are there: with no scores as the
        average one, or those named by `like`; with each score more as the scores say.

        Their skill is learned from these rows alone; with few of them it is little but the average expert's. The rows
        count as used: no later stage takes them.
        Rows of `calibrate` may be used, if it is not run again on them.

        Parameters
        ----------
        name : str
        X : (m, d) array or DataFrame
        y : (m,)
            The truth; for a team without classes their scores in [0, 1], NaN where there is none.
        answers : (m,)
            What they answered; rows without an answer are left out. None: nothing but the average expert is known.
        like : name or names, optional
            For a team without classes: experts they are expected to resemble, such as an earlier version.
        price : float, optional
            What a question costs; None: not known.

        Returns
        -------
        self
        """
        if self.scored_only:
            return self._become(roster.add_scored(self, name, X, y, like=like, price=price))
        if like is not None:
            raise InputError("is for teams whose experts have only scores; leave it out.", argument="like")
        return self._become(roster.add_expert(self, name, X, y, answers, price=price))

    def remove_expert(self, name: str) -> Self:
        """Take an expert out of the team; drops an earlier panel."""
        return self._become(roster.remove_expert(self, name))

    def rename_expert(self, old: str, new: str) -> Self:
        """Give an expert another name."""
        return self._become(roster.rename_expert(self, old, new))

    # What came before: rows that must not be used again.

    def mark_seen(
        self, stage: str, X: Any, label_idx: IntArray, answers: IntArray | Answers, *, disjoint: bool = False
    ) -> "Team":
        """Return a team that remembers these rows as used by a stage; raises where an earlier stage used them.

        With `disjoint` the caller vouches that none did, having cut one table into parts.
        """
        if not disjoint:
            check_rows_known(self.rows_key, argument="disjoint")
        marked = self.with_own_key()
        rows = told_apart_by(X, self.recipe)
        return replace(marked, seen=seen_after(marked.seen, stage, rows, label_idx, answers, disjoint=disjoint))

    def forget_rows(self) -> Self:
        """Drop the fingerprints of the rows that the team was fitted on.

        What is saved then says nothing about these rows. In exchange nobody can check later that a row is new: stages
        that need new rows ask the caller to vouch for them.
        """
        return self._become(replace(self, seen={}, rows_key=FORGOTTEN))

    def with_own_key(self) -> "Team":
        """Return a team whose fingerprints are all of this user's key: those of another key are forgotten."""
        return self if self.rows_key in (None, FORGOTTEN) else self.copy().forget_rows()

    def all_seen(self) -> Fingerprints:
        """Return the fingerprints of the features of every row that some stage has used."""
        return features_seen(self.seen)

    # On disk.

    def save(self, folder: str | Path) -> None:
        """Write the model folder: model.json and weights.safetensors, no pickle.

        Classifiers of scikit-learn and LightGBM are kept as arrays if they are linear models or trees; a warning names
        others, which `load` takes again.
        """
        write_team(self, Path(folder))

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        text_encoder: Encoder = None,
        classifier: Any = None,
        expert_model: Sequence[Any] | None = None,
    ) -> Any:
        """Read a model folder; a damaged one gives a clear error.

        Parameters
        ----------
        folder : path
        text_encoder : str, path or callable, optional
            The encoder of the texts, as it was given to `fit`; it is not saved. A folder only names it, and nothing
            is downloaded or run because of that: an encoder of an installed package is found by its name, others
            must be given again before texts can be read.
        classifier : fitted classifier, optional
            That of the team, where `save` warned that the folder does not hold it.
        expert_model : list of fitted classifiers, optional
            One for each expert of `fit`, likewise; those that the folder holds may be None.
        """
        team = with_classifiers(
            read_team(Path(folder), cls), Path(folder), classifier=classifier, expert_model=expert_model
        )
        return with_encoder(team, text_encoder)
