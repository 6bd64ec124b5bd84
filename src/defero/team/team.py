"""Team: a fitted team, what is saved, loaded and served; the stages after fit, each on rows of its own.

The walk goes forward: `parts` (what a team consists of), `scoring` (what it believes), `deciding` (what it does),
`asking` (what it does under costs and limits), and here the stages that change it. No torch, scikit-learn or pandas.
"""

import warnings
from collections.abc import Callable
from dataclasses import fields as parts_of
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from defero.calibration import Calibrator, Method
from defero.calibration.after_selection import HeldOut, selection_after
from defero.calibration.calibrator import HeldOutAccuracy
from defero.calibration.maps import Untouched
from defero.core.answers import Answers
from defero.core.checks.arrays import IntArray
from defero.core.errors import InputError
from defero.core.labels import MISSING, encode_labels
from defero.data.recipes.text_encoder import Encoder
from defero.decide.costs import in_class_order
from defero.decide.terms import Terms
from defero.scorers.given import given_scorer
from defero.team import roster
from defero.team.costs.assigning import Assigning
from defero.team.costs.under_terms import decide_under
from defero.team.panel import Panel
from defero.team.parts import TeamParts
from defero.team.rows import FORGOTTEN, Fingerprints, check_rows_known, features_seen, seen_after, told_apart_by
from defero.team.storage import read_team, with_encoder, write_team
from defero.team.ways import Held, fit_ways


class Team(Assigning):
    """Who should decide: features in, decisions out.

    Estimators build one when they are fitted; `Team.load` reads one from a model folder;
    `Team.from_probabilities` makes one from anybody's model. As in an estimator, `calibrate`, `conformalize` and
    `add_expert` change the team and return it; `copy` gives a second one. Its parts are those of `TeamParts`.
    """

    @classmethod
    def from_probabilities(
        cls,
        class_proba: Callable[[Any], ArrayLike] | ArrayLike,
        expert_proba: Callable[[Any], ArrayLike] | ArrayLike,
        *,
        classes: ArrayLike | None = None,
        expert_names: ArrayLike | None = None,
    ) -> "Team":
        """Build a team on your own model.

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
        for part in parts_of(TeamParts):
            setattr(self, part.name, getattr(changed, part.name))
        return self

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
            As in `Calibrator.fit`; `calibrator.describe()` says what "auto" chose.
        disjoint : bool
            True where the caller vouches that no earlier stage used these rows; else they are checked.

        Returns
        -------
        self
        """
        raw = replace(self, calibrator=None, selection=None, panel=None)
        scores = raw.scorer.score(raw.features(X))
        label_idx = encode_labels(y, self.classes)
        answer_idx = self.answer_numbers(experts, n_items=len(scores))
        marked = raw.mark_seen("calibrate", X, label_idx, answer_idx, disjoint=disjoint)
        correct, observed = answer_idx == label_idx[:, None], answer_idx != MISSING
        calibrator = Calibrator.fit(scores, label_idx, correct, observed, method=method)
        held_out = HeldOut(scores, label_idx, correct, observed)
        selection = selection_after(held_out, self.held_out, calibrator, method=method)
        if self.panel is not None:
            warnings.warn("calibrate drops the panel's thresholds; call conformalize again.", stacklevel=2)
        return self._become(replace(marked, calibrator=calibrator, selection=selection))

    def calibrated_across_folds(self) -> Self:
        """Count the scores as calibrated by the cross-validation inside `fit`; needs a team that was fitted so.

        Nothing changes but what the team says of itself: no rows apart are needed.
        """
        if self.held_out is None:
            raise InputError("no scores across folds: call calibrate(X, y, experts=...) with cases of their own.")
        held_out, n_experts = self.held_out, len(self.expert_names)
        calibrator = Calibrator(
            1.0,
            Untouched("logit", n_experts),
            n_labels=len(held_out.label_idx),
            n_answers=tuple(int(n) for n in held_out.observed.sum(axis=0)),
            keeps_model=True,
            accuracy=HeldOutAccuracy.fit(held_out.scores, held_out.label_idx, held_out.correct, held_out.observed),
        )
        return self._become(replace(self, calibrator=calibrator, panel=None))

    def conformalize(
        self,
        X: Any,
        y: ArrayLike,
        experts: object,
        *,
        alpha: float = 0.1,
        target: str = "any-correct",
        fees: ArrayLike | None = None,
        error_cost: float | None = None,
        cost_matrix: ArrayLike | None = None,
        available: ArrayLike | None = None,
        strata: ArrayLike | None = None,
        disjoint: bool = False,
    ) -> Self:
        """Find panels that keep a promise, on the deferred ones of rows that no stage has used.

        Which cases are deferred is settled by `decide` with these fees and experts, case by case, before any label is
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
        fees, available
            As in `decide`, one entry per expert: the promise is for these.
        error_cost, cost_matrix
            What errors cost in the unit of the fees, as in `next_step`; by default 1.
        strata : (n,), optional
            The same promise inside each stratum.
        disjoint : bool
            As in `calibrate`.

        Returns
        -------
        self
        """
        fees, available = self._terms(fees, available)
        features = self.features(X)
        scores = self.score_features(features)
        label_idx = encode_labels(y, self.classes)
        answer_idx = self.answer_numbers(experts, n_items=len(scores))
        matrix = in_class_order(cost_matrix, self.classes)
        terms = Terms.of(fees, n_classes=scores.n_classes, error_cost=error_cost, cost_matrix=matrix)
        marked = self.mark_seen("conformalize", X, label_idx, answer_idx, disjoint=disjoint)
        panel = Panel.fit(
            scores,
            decide_under(self, features, scores, terms, available=available).deferred,
            label_idx,
            answer_idx,
            alpha=alpha,
            target=target,
            terms=terms,
            available=available,
            proven=self.proven,
            strata=strata,
        )
        marked = replace(marked, panel=panel)
        held = Held.of(features, scores, label_idx, answer_idx, terms=terms, available=available)
        panel = replace(panel, verdicts=fit_ways(marked, held, strata=strata))
        useless = panel.useless_sentence()
        if useless is not None:
            warnings.warn(useless, stacklevel=2)
        return self._become(replace(marked, panel=panel))

    # Who is on the team. Nobody else's numbers change.

    def add_expert(self, name: str, X: Any, y: ArrayLike | None, answers: object) -> Self:
        """Add an expert at the end from a few answers, shrunk toward the average expert; drops an earlier panel.

        Their head is learned from these rows alone; with few of them it is little but the average expert's. A newcomer
        with fewer than `min_answers` answers is not asked alone. The rows count as used: no later stage takes them.
        Rows of `calibrate` may be used, if it is not run again on them.

        Parameters
        ----------
        name : str
        X : (m, d) array or DataFrame
        y : (m,)
            The truth.
        answers : (m,)
            What they answered; rows without an answer are left out. None: nothing but the average expert is known.

        Returns
        -------
        self
        """
        return self._become(roster.add_expert(self, name, X, y, answers))

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
        """Write the model folder: model.json and weights.safetensors, no pickle."""
        write_team(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path, *, text_encoder: Encoder = None) -> Any:
        """Read a model folder: a `Team`, or the `PoolRouter` of a pool; a damaged one gives a clear error.

        Parameters
        ----------
        folder : path
        text_encoder : str, path or callable, optional
            The encoder of the texts, as it was given to `fit`; it is not saved. A folder only names it, and nothing
            is downloaded or run because of that: an encoder of an installed package is found by its name, others
            must be given again before texts can be read.
        """
        return with_encoder(read_team(Path(folder), cls), text_encoder)
