"""ExpertPool: learn who of a pool should answer from scores and prices alone."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from defero.core.checks.arrays import FloatArray, IntArray, refuse
from defero.core.checks.scores import price_matrix, score_matrix
from defero.core.errors import InputError
from defero.core.order import in_order_of_appearance, row_order
from defero.core.wording import join_names
from defero.data.copies import equal_rows
from defero.data.fingerprint import row_fingerprints
from defero.data.recipes.inputs import as_matrix
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.recipes.text_encoder import find_encoder
from defero.decide.curve import member_means
from defero.estimators.base import of_team
from defero.estimators.pool.pool_data import pool_table
from defero.estimators.training_data import with_sorted_columns
from defero.judge.marks import Judge, corrected_marks
from defero.learn.fit_scores import ScoreColumns, chosen_map, fit_prices, fit_scores, score_covariance
from defero.team import FitFacts, ScoreFacts, Team

N_FOLDS = 5
MANY_NUMBERS = 20_000_000
"""Pools of fewer numbers are fitted by one thread. Several wait busily for each other: on a busy machine with two cores
a ridge of 3,000 x 384 took 67 CPU seconds instead of 2.5."""


FEWEST_SCORES = 30
"""With fewer, a member's expected scores are uncertain, and a note says so."""


def score_notes(n_scores: IntArray, expert_names: tuple[str, ...], *, n_folds: int = 2) -> list[str]:
    """Return a sentence on the members without a score, one on those with few, and one where nothing was held out.

    >>> score_notes(np.array([200, 12, 0]), ("gpt", "phi", "qwen"))[1]
    'few scores to learn from: phi 12. Their expected scores are shrunk toward the average and are uncertain.'
    """
    counts = dict(zip(expert_names, n_scores.tolist(), strict=True))
    none = [name for name, count in counts.items() if not count]
    few = [f"{name} {count}" for name, count in counts.items() if 0 < count < FEWEST_SCORES]
    verb, counted = ("have", "count as average members") if len(none) > 1 else ("has", "counts as the average member")
    notes = []
    if none:
        notes.append(
            f"{join_names(none)} {verb} no score to learn from and {counted}: only a lower price speaks for them."
        )
    if few:
        notes.append(
            f"few scores to learn from: {join_names(few)}. Their expected scores are shrunk toward the average and are "
            "uncertain."
        )
    if n_folds < 2:
        notes.append(
            "all items are in one group, so that none could be held out: what is promised is read off the items that "
            "were learned from, and is too high."
        )
    return notes


class ExpertPool(BaseEstimator):
    """A pool of experts of whom scores are known: language models, programs, people.

    No classes and no model of its own: whether a member was right, 0, 1 or between, is all that is learned from. The
    expected scores, E[score | x], are one regression of all members: what they have in common, and how each differs,
    both shrunk as much as the scores say. Prices decide later, in `decide`.

    Parameters
    ----------
    text : name or names, optional
        Columns of a table that are texts. They are read as words weighted by TF-IDF, in 64 directions.
    text_encoder : str, path or callable, optional
        Reads the texts in place of TF-IDF: a model's name, its folder, or a function from texts to vectors. It is not
        saved; pass it again to `Team.load`.
    judge : Judge, optional
        The scores are the marks, 0 or 1, of a judge who errs: expected scores are corrected for it.
    random_state : int
        Deals the items to the folds.

    Attributes
    ----------
    team_ : Team
        What is saved and served.
    notes_ : sentences
        Members without a score, who count as the average member, and members with few.

    Examples
    --------
    >>> from defero import Terms
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> small = (rng.random(400) < np.where(X[:, 0] > 0, 0.9, 0.3)).astype(float)
    >>> large = (rng.random(400) < 0.85).astype(float)
    >>> pool = ExpertPool().fit(
    ...     X, np.column_stack([small, large]), prices=[0.1, 1.0], expert_names=["small", "large"]
    ... )
    >>> pool.decide([[1.5, 0.0], [-1.5, 0.0]], terms=Terms(error_cost=20)).name.tolist()
    ['small', 'large']
    """

    team_: Team
    notes_: list[str]

    def __init__(
        self,
        *,
        text: str | Sequence[str] | None = None,
        text_encoder: Any = None,
        judge: Judge | None = None,
        random_state: int = 0,
    ) -> None:
        self.text = text
        self.text_encoder = text_encoder
        self.judge = judge
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        scores: Any,
        *,
        prices: Any = None,
        expert_names: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn the expected score of each member, and what a call costs.

        Parameters
        ----------
        X : (n, d), DataFrame or texts
            Items: numbers such as embeddings, a table, or a list of texts.
        scores : (n, J) or DataFrame
            In [0, 1]; NaN where a member was not scored. A member without any score counts as the average member.
        prices : {name: price or (n,) prices}, DataFrame, (J,) or (n, J), optional
            What each call costs; expected prices are learned from it. NaN or None is unknown.
        expert_names : J names, optional
            By default the columns of the scores.
        groups : (n,), optional
            Items that belong together are held out together; by default equal rows are.
        """
        with threads_for(X):
            matrix, given = score_matrix(scores, expert_names)
            if not np.isfinite(matrix).any():
                raise InputError("must hold some scores, got none.", argument="scores")
            features, recipe, rows = self._features(with_sorted_columns(X))
            if len(features) != len(matrix):
                raise InputError(f"must have {len(features)} rows like X, got {len(matrix)}.", argument="scores")
            if groups is not None and len(np.asarray(groups)) != len(matrix):
                n_groups = len(np.asarray(groups))
                raise InputError(f"must have {len(matrix)} items like X, got {n_groups}.", argument="groups")
            together = (
                equal_rows(rows, text=() if recipe is None else recipe.text) if groups is None else np.asarray(groups)
            )
            price = None if prices is None else price_matrix(prices, given, n_items=len(matrix))
            # What is drawn by position, and sums of floats, must not depend on the order of items and members.
            by_name = np.argsort(given, kind="stable")
            matrix = matrix[:, by_name]
            price = None if price is None else price[:, by_name]
            group = np.unique(together, return_inverse=True)[1]
            no_labels = np.zeros(len(matrix), dtype=np.int64)
            order = row_order(rows, no_labels, scores=matrix, prices=price, group=group if groups is not None else None)
            features, matrix, price = features[order], matrix[order], None if price is None else price[order]
            fold = _folds(in_order_of_appearance(group[order]), seed=self.random_state)
            learned = matrix if self.judge is None else corrected_marks(matrix, self.judge)
            columns = ScoreColumns.of(features, recipe)
            learned_scores = fit_scores(features, learned, columns=columns, fold=fold)
            cost, quality = member_means(np.full(matrix.shape, np.nan) if price is None else price, learned)
            n_scores = np.isfinite(matrix).sum(axis=0)
            self.notes_ = score_notes(n_scores[np.argsort(by_name)], given, n_folds=len(np.unique(fold)))
            held_out = learned_scores.held_out
            gained = learned[np.arange(len(learned)), np.where(np.isfinite(learned), held_out, -1.0).argmax(axis=1)]
            as_given = np.argsort(by_name)
            score_facts = ScoreFacts(
                np.clip(quality, 0.0, 1.0),
                cost,
                score_covariance(held_out, learned),
                chosen_map(held_out, learned),
                float(np.nanmean(gained)),
            )
            learned_prices = fit_prices(features, price, columns=columns)
            self.team_ = Team(
                learned_scores.scorer.take(as_given),
                np.empty(0, dtype=object),
                given,
                n_scores[as_given],
                recipe=recipe,
                n_features=features.shape[1],
                prices=learned_prices and learned_prices.take(as_given),
                score_facts=score_facts.take(as_given),
                seen={"fit": row_fingerprints(rows)},
                facts=FitFacts(
                    estimator=type(self).__name__,
                    columns=tuple(map(str, X.columns)) if hasattr(X, "columns") else None,
                    random_state=self.random_state,
                    judge=None if self.judge is None else (self.judge.sensitivity, self.judge.specificity),
                ),
            )
            return self

    def _features(self, X: Any) -> tuple[FloatArray, FeatureRecipe | None, Any]:
        """Return the features (n, d), the recipe of a table, and what tells rows apart."""
        table, recipe = pool_table(X, text=self.text, encoder=find_encoder(self.text_encoder))
        if recipe is not None:
            return recipe.apply(table), recipe, table[list(recipe.inputs)]
        matrix = as_matrix(X).astype(np.float64)
        refuse("X", matrix, ~np.isfinite(matrix), "must be finite")
        return matrix, None, matrix

    # What a fitted pool does is what its team does.

    decide = of_team(Team.decide)
    assign = of_team(Team.assign)
    curve = of_team(Team.curve)
    next_step = of_team(Team.next_step)

    def predict_expert_proba(self, X: Any) -> FloatArray:
        """Return the expected score of each member, (n, J)."""
        return np.array(self._ready().scores(X).expert_proba)

    def add_expert(
        self,
        name: str,
        X: Any = None,
        scores: ArrayLike | None = None,
        *,
        like: str | Sequence[str] | None = None,
        price: float | None = None,
    ) -> Self:
        """Add a member of whom few scores are known, or none, as `Team.add_expert`."""
        self.team_ = self._ready().copy().add_expert(name, X, scores, like=like, price=price)
        return self

    def save(self, folder: str | Path) -> None:
        """Write the team to a model folder; `Team.load` reads it."""
        self._ready().save(folder)

    def _ready(self) -> Team:
        check_is_fitted(self, "team_")
        return self.team_

    def _checked(self, X: Any) -> Any:
        return X  # the team reads arrays, tables and texts alike


def threads_for(X: Any) -> AbstractContextManager[Any]:
    """Keep BLAS to one thread for pools that are not large."""
    return nullcontext() if np.size(X) >= MANY_NUMBERS else threadpool_limits(1)


def _folds(group: IntArray, *, seed: int) -> IntArray:
    """Return the fold of each item: groups are dealt whole, and as evenly as they come."""
    n_groups = int(group.max(initial=-1)) + 1
    deal = np.random.default_rng(seed).permutation(np.arange(n_groups) % min(N_FOLDS, max(n_groups, 1)))
    return np.asarray(deal[group], dtype=np.int64)
