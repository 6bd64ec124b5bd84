"""Router: the whole chain from an item to who decides it; what is saved, loaded and served. numpy alone.

The only module that knows the order of the stages.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.calibration import Calibrator, Method
from defero.core.answers import Answers
from defero.core.checks import BoolArray, FloatArray, IntArray, by_name, names
from defero.core.errors import InputError
from defero.core.labels import Labels, encode_labels, encode_recorded
from defero.core.results import Answer, Decision, ExpertSets
from defero.core.scores import Scores
from defero.data.recipes.pictures import PictureRecipe
from defero.data.recipes.recipe import FeatureRecipe
from defero.decisions.rules import MostLikelyRight, Rule, decide
from defero.router import roster, stages
from defero.router.doubt import expert_sd
from defero.router.facts import FitFacts
from defero.router.panel import Panel
from defero.router.scoring import feature_matrix, honest_scores
from defero.router.seen import FORGOTTEN, Fingerprints, check_rows_known, features_seen, seen_after, told_apart_by
from defero.router.storage import read_router, write_router
from defero.router.voting import team_answer
from defero.scorers import Scorer
from defero.scorers.given import given_scorer


@dataclass(frozen=True, eq=False)
class Router:
    """Who should decide: features in, decisions out.

    Estimators build one when they are fitted; `Router.load` reads one from a model folder;
    `Router.from_probabilities` makes one from anybody's model.

    Attributes
    ----------
    scorer : Scorer
        Features to `Scores`.
    classes : (K,)
        In the labels' own type, sorted.
    expert_names : J names
    answer_counts : (J,) int
        How many answers of each expert were learned from.
    rule : Rule
        How scores become a decision.
    min_answers : int
        An expert with fewer answers than this is not asked alone.
    recipe : FeatureRecipe or PictureRecipe, optional
        Turns a table's columns into numbers or pictures; None for models of plain arrays.
    n_features : int, optional
        Width of the matrix a model without a recipe takes.
    item_shape : tuple of int, optional
        Of one item, where a model takes no matrix: (height, width, channels) of pictures.
    calibrator : Calibrator, optional
        Makes the scores honest; fitted on rows that `fit` did not see.
    panel : Panel, optional
        Chooses panels; fitted on rows that neither `fit` nor `calibrate` saw.
    seen : mapping
        Which rows each stage has used ("fit", "calibrate", "conformalize", "add_expert"), as fingerprints of their
        features, and with labels and answers.
    rows_key : str, optional
        None where `seen` was made with this user's key; else the id of another key, or "forgotten".
    facts : FitFacts
        What the team remembers of its making: the label's column, the loss, the seed.
    """

    scorer: Scorer
    classes: Labels
    expert_names: tuple[str, ...]
    answer_counts: IntArray
    rule: Rule = field(default_factory=MostLikelyRight)
    min_answers: int = 1
    recipe: FeatureRecipe | PictureRecipe | None = None
    n_features: int | None = None
    item_shape: tuple[int, ...] | None = None
    calibrator: Calibrator | None = None
    panel: Panel | None = None
    seen: Mapping[str, Fingerprints] = field(default_factory=dict)
    rows_key: str | None = None
    facts: FitFacts = field(default_factory=FitFacts)

    def __post_init__(self) -> None:
        count = len(self.answer_counts)
        object.__setattr__(self, "expert_names", names("expert_names", self.expert_names, count=count))

    @classmethod
    def from_probabilities(
        cls,
        class_proba: Callable[[Any], ArrayLike] | ArrayLike,
        expert_proba: Callable[[Any], ArrayLike] | ArrayLike,
        *,
        classes: ArrayLike | None = None,
        expert_names: ArrayLike | None = None,
    ) -> "Router":
        """Build a router on your own model.

        Parameters
        ----------
        class_proba : callable or (n, K)
            Features to P(y = k | x), or the probabilities of a fixed list of items.
        expert_proba : callable or (n, J)
            Features to P(expert j is right | x), or the same for that list.
        classes : (K,), optional
            0..K-1 by default. Needed where functions are given.
        expert_names : J names, optional
            `expert_0`, ... by default. Needed where functions are given.

        Examples
        --------
        >>> router = Router.from_probabilities([[0.9, 0.1], [0.5, 0.5]], [[0.8], [0.8]], expert_names=["ann"])
        >>> router.decide().name.tolist()
        ['model', 'ann']
        """
        scorer, labels, who = given_scorer(class_proba, expert_proba, classes=classes, expert_names=expert_names)
        return cls(scorer, labels, who, answer_counts=np.ones(len(who), dtype=np.int64))

    @property
    def proven(self) -> BoolArray:
        """(J,): who has given enough answers to be asked."""
        return self.answer_counts >= self.min_answers

    # The chain: features -> scores -> decision -> answer.

    def scores(self, X: Any = None) -> Scores:
        """Return what the model believes of each item."""
        return self.score_features(self.features(X))

    def score_features(self, features: Any) -> Scores:
        """Return what the model believes of items whose `features` are at hand."""
        return honest_scores(self, features)

    def features(self, X: Any, *, source: str = "X", first_row: int = 0) -> Any:
        """Return the matrix that the scorer takes: a table's columns go through the recipe, found by their names.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        source, first_row : str, int
            What a message calls the table, and the number of its first row.
        """
        return feature_matrix(self, X, source=source, first_row=first_row)

    def decide(self, X: Any = None, *, fees: ArrayLike | None = None, available: ArrayLike | None = None) -> Decision:
        """Say who should decide each item.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        fees : (J,), (n, J) or {name: fee}, optional
            What asking each expert costs, in units of one error.
        available : (J,) or (n, J) bool, or {name: bool}, optional
            Who can be asked.
        """
        return self.decide_scores(self.scores(X), fees=fees, available=available)

    def decide_scores(
        self, scores: Scores, *, fees: ArrayLike | None = None, available: ArrayLike | None = None
    ) -> Decision:
        """Decide on scores already at hand."""
        fees, available = self._terms(fees, available)
        return decide(
            scores, self.rule, expert_names=self.expert_names, fees=fees, available=available, proven=self.proven
        )

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

        Only experts whose answer is recorded in `answers` are heard; where a panel's answers are all missing, the
        model answers.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        answers : (n, J)
            What the experts answered; missing where they were not asked.
        vote : "bayes", "confusion", "weighted", "majority", "sequential" or "expert", optional
            How a panel's answers are put together: by P(expert is right | x), for "bayes" and "sequential" by class
            where heads are shrunk, or by what each expert answers for each class
            ("confusion", which looks at the class and not at the item). "sequential" asks one expert after the
            other, while the expected gain is worth the fee, and "expert" one alone; both need no panel. "bayes" by
            default once there is a panel, else "expert".
        fees, available, strata
            As in `decide` and `predict_set`.
        """
        fees, available = self._terms(fees, available)
        return team_answer(self, X, answers, vote=vote, fees=fees, available=available, strata=strata)

    def _terms(self, fees: Any, available: Any) -> tuple[Any, Any]:
        """Take fees and absences by the experts' names as well as in their order."""
        fees = by_name("fees", fees, self.expert_names, default=0.0)
        return fees, by_name("available", available, self.expert_names, default=True)

    def the_panel(self) -> Panel:
        """Return the panel; raises where there is none yet."""
        if self.panel is None:
            raise InputError("no panel yet: call conformalize(X, y, experts=..., alpha=..., target=...) first.")
        return self.panel

    # The stages after fit, each on rows of its own. Each returns a new router.

    def calibrate(
        self, X: Any, y: ArrayLike, experts: object, *, method: Method = "auto", disjoint: bool = False
    ) -> "Router":
        """Return a router whose scores are recalibrated on rows that no stage has seen; drops an earlier panel.

        `method` is as in `Calibrator.fit`; `calibrator.describe()` tells what "auto" chose. With `disjoint` the caller
        vouches for the rows, having cut one table into parts; else they are checked.
        """
        return stages.calibrate(self, X, y, experts, method=method, disjoint=disjoint)

    def conformalize(
        self,
        X: Any,
        y: ArrayLike,
        experts: object,
        *,
        alpha: float = 0.1,
        target: str = "any-correct",
        fees: ArrayLike | None = None,
        available: ArrayLike | None = None,
        strata: ArrayLike | None = None,
        disjoint: bool = False,
    ) -> "Router":
        """Return a router that chooses panels with a promise, calibrated on the deferred ones of rows not seen before.

        Whom to defer is settled by `decide` with these fees and experts, item by item, before any label is looked at.
        `disjoint` is as in `calibrate`.
        """
        fees, available = self._terms(fees, available)
        return stages.conformalize(
            self,
            X,
            y,
            experts,
            alpha=alpha,
            target=target,
            fees=fees,
            available=available,
            strata=strata,
            disjoint=disjoint,
        )

    # Who is on the team. Each returns a new router in which nobody else's numbers have changed.

    def add_expert(self, name: str, X: Any, y: ArrayLike | None, answers: object) -> "Router":
        """Return a router with a new expert at the end, from a few answers: drawn to the population of the others.

        Their head is learned from these rows alone, and is little but the population's prior where they are few. A
        newcomer with fewer than `min_answers` answers is not asked alone. Drops an earlier panel, and the rows
        count as used: no later stage takes them. Rows of `calibrate` may be used, if it is not run again on them.

        Parameters
        ----------
        name : str
        X : (m, d) array or DataFrame
        y : (m,)
            The truth.
        answers : (m,)
            What they answered; rows where it is missing are left out. None at all: the population's prior.
        """
        return roster.add_expert(self, name, X, y, answers)

    def remove_expert(self, name: str) -> "Router":
        """Return a router without this expert; drops an earlier panel."""
        return roster.remove_expert(self, name)

    def rename_expert(self, old: str, new: str) -> "Router":
        """Return a router in which this expert has another name."""
        return roster.rename_expert(self, old, new)

    def expert_sd(self, X: Any = None) -> FloatArray:
        """Return how unsure P(expert j is right | x) is, (n, J): its standard deviation, after calibration.

        How little is known of the expert, not how hard the item is; nan for experts without a shrunk head.
        """
        return expert_sd(self, self.features(X))

    # What scikit-learn's users expect.

    def predict(self, X: Any = None) -> Labels:
        """Return the model's own label for each item."""
        return self.classes[self.scores(X).class_idx]

    def score(self, X: Any, y: ArrayLike, experts: object = None, *, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of items that the team gets right, asking only experts whose answer is recorded."""
        label_idx = encode_labels(y, self.classes)
        if experts is None:
            experts = np.full((len(label_idx), len(self.expert_names)), None)
        right = self.answer(X, experts, vote="expert").label == self.classes[label_idx]
        return float(np.average(right, weights=None if sample_weight is None else np.asarray(sample_weight)))

    def answer_numbers(self, answers: object, *, n_items: int) -> IntArray:
        """Return recorded answers as class numbers (n, J), columns in this router's order."""
        return encode_recorded(answers, self.classes, expert_names=self.expert_names, n_items=n_items)

    # What came before: rows that must not be used again.

    def mark_seen(
        self, stage: str, X: Any, label_idx: IntArray, answers: IntArray | Answers, *, disjoint: bool = False
    ) -> "Router":
        """Return a router that remembers these rows as used by a stage; raises where an earlier stage used them.

        With `disjoint` the caller vouches that none did, having cut one table into parts.
        """
        if not disjoint:
            check_rows_known(self.rows_key, argument="disjoint")
        marked = self.with_own_key()
        rows = told_apart_by(X, self.recipe)
        return replace(marked, seen=seen_after(marked.seen, stage, rows, label_idx, answers, disjoint=disjoint))

    def forget_rows(self) -> "Router":
        """Return a router without fingerprints of the rows that it was fitted on.

        What is saved then tells nothing of these rows. In exchange nobody can check later that a row is new: stages
        that need new rows ask the caller to vouch for them.
        """
        return replace(self, seen={}, rows_key=FORGOTTEN)

    def with_own_key(self) -> "Router":
        """Return a router whose fingerprints are all of this user's key: those of another key are forgotten."""
        return self if self.rows_key in (None, FORGOTTEN) else self.forget_rows()

    def all_seen(self) -> Fingerprints:
        """Return the fingerprints of the features of every row that some stage has used."""
        return features_seen(self.seen)

    # On disk.

    def save(self, folder: str | Path) -> None:
        """Write the model folder: model.json and weights.safetensors, no pickle."""
        write_router(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path) -> "Router":
        """Read a model folder; a damaged or older one gives a clear error."""
        return read_router(Path(folder), cls)
