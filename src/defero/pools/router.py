"""PoolRouter: a fitted pool, what is saved, loaded and served. No torch, scikit-learn or pandas."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, availability, by_name
from defero.core.checks.scores import score_matrix
from defero.core.codec import Packed
from defero.core.errors import Argument, InputError, ModelFolderError
from defero.core.results import MODEL as NOBODY
from defero.core.wording import join_names
from defero.data.fingerprint import row_fingerprints
from defero.data.model_folder import MANIFEST, files_of, fitted_of, read_folder, write_folder
from defero.data.recipes.inputs import feature_matrix, input_columns
from defero.decide.cascade import CascadeStep, Marking, cascade_step, check_marks, heard_marks
from defero.decide.curve import Curve, curve_of
from defero.decide.terms import Capacity
from defero.judge.marks import Judge
from defero.pools.choosing import (
    PoolChoice,
    RouteRule,
    by_budget,
    by_capacity,
    by_floor,
    by_product,
    by_trade_off,
    rule_of,
)
from defero.pools.decision import PoolDecision
from defero.pools.inputs import price_matrix
from defero.pools.members import with_member, without_member
from defero.pools.parts import PoolFacts, PoolParts, training_hull


class PoolRouter(PoolParts):
    """Which member of a pool answers: features in, decisions out.

    `ExpertPool.fit` builds one; `PoolRouter.load` and `Team.load` read one from a folder. Its parts are those of
    `PoolParts`.
    """

    def __repr__(self) -> str:
        return f"PoolRouter: {join_names(self.expert_names, most=6)}."

    def copy(self) -> "PoolRouter":
        """Return a second team with the same parts; what changes one leaves the other as it is."""
        return replace(self)

    # What it believes.

    def features(self, X: Any, **where: Any) -> Any:
        """Return the features of n items as the model reads them, (n, d)."""
        return feature_matrix(X, self.recipe, self.model.n_features, **where)

    def scores(self, X: Any) -> FloatArray:
        """Return the expected score of every member for n items, (n, J)."""
        features = self.features(X)
        _check_finite(features)
        return self.model.predict(features.astype(np.float64, copy=False))

    def prices(self, X: Any, prices: Any = None) -> FloatArray:
        """Return the price of every member for n items, (n, J): as given, else as learned in `fit`; nan if unknown."""
        return self._price_matrix(self.features(X), prices)

    def _price_matrix(self, features: Any, prices: Any) -> FloatArray:
        n_items = len(features)
        own_prices = None if prices is None else price_matrix(prices, self.expert_names, n_items=n_items, partial=True)
        if own_prices is not None and not np.isnan(own_prices).any():
            return own_prices
        expected = np.full((n_items, len(self.expert_names)), np.nan)
        if self.prices_learned is not None:
            expected = self.prices_learned.predict(features)
        return expected if own_prices is None else np.where(np.isnan(own_prices), expected, own_prices)

    # What it does.

    def route(
        self,
        X: Any,
        *,
        prices: Any = None,
        trade_off: float | None = None,
        budget: float | None = None,
        floor: float | None = None,
        available: Mapping[str, bool] | ArrayLike | None = None,
        capacity: Capacity | None = None,
    ) -> PoolDecision:
        """Choose who answers each item.

        Pass at most one of `trade_off`, `budget` and `floor`; with none of them the highest expected score is chosen.

        Parameters
        ----------
        X : (n, d), (d,), DataFrame, {column: value} or texts
            Items as in `fit`; a single embedding, record or text is one item.
        prices : {name: price or (n,) prices}, DataFrame, (J,) or (n, J), optional
            What a call costs. Unknown prices, NaN, None or not named, and all of them by default, are those expected
            from `fit`.
        trade_off : float, optional
            Money that a point of quality is worth (a score of 1 in place of 0): the largest trade_off * score - price
            is chosen.
        budget : float, optional
            The most that all items together may cost.
        floor : float, optional
            The cheapest member whose expected score reaches the floor is chosen; where nobody does, the highest score.
        available : {name: bool}, (J,) or (n, J) bool, optional
            Who can be asked; everybody by default.
        capacity : {name: most} or {name: (fewest, most)}, optional
            Limits on the items of each member in this batch.

        Returns
        -------
        PoolDecision
            A member without a known price is chosen only where money plays no part.
        """
        rule = RouteRule(prices, trade_off, budget, floor, available, capacity)
        return self.route_features(self.features(X), rule)

    def route_features(self, features: Any, rule: RouteRule) -> PoolDecision:
        """Choose as `route` does, from what `features` returned."""
        can, v, prices, capacity = self._can(rule.available, len(features)), rule.worth, rule.prices, rule.capacity
        if can is None and rule.paid in (None, "trade_off") and capacity is None and v > 0:
            fast = self._route_by_product(features, prices, v)
            if fast is not None:
                return fast
        _check_finite(features)
        features = features.astype(np.float64, copy=False)
        score, price = self.model.predict(features), self._price_matrix(features, prices)
        can = np.ones(score.shape, dtype=np.bool_) if can is None else can
        if rule.paid is not None:
            self._check_some_price(price, rule.paid)
            can = can & np.isfinite(price)
        if capacity is not None:
            names = self.expert_names
            chosen = by_capacity(score, price, can, v, capacity=capacity, expert_names=names, budget=rule.budget)
        elif rule.budget is not None:
            chosen = by_budget(score, price, can, rule.budget)
        elif rule.floor is not None:
            chosen = by_floor(score, price, can, rule.floor)
        else:
            chosen = by_trade_off(score, price, can, v)
        return self._decision(chosen, score, price)

    def _route_by_product(self, features: Any, prices: Any, trade_off: float) -> PoolDecision | None:
        """Decide without a matrix of scores, where the model is linear and every price is known or plays no part."""
        product = self.model.product
        if product is None:
            return None
        learned = self.prices_learned
        price: FloatArray | None
        if prices is None and learned is not None and learned.known.all() and not learned.weights.any():
            price = np.maximum(learned.intercept, 0.0)
        elif prices is None and (learned is None or not learned.known.any()):
            price = None
        else:
            price = self._price_matrix(features, prices)
        if trade_off < np.inf and (price is None or np.isnan(price).any()):
            return None
        expert, score, highest = by_product(features, *product, price, trade_off)
        rows = np.arange(len(expert))
        cost = (
            np.full(len(expert), np.nan)
            if price is None
            else (price[expert] if price.ndim == 1 else price[rows, expert])
        )
        promised = self._promised(score, highest)
        return PoolDecision(expert, self.expert_names, promised, cost, rule_of(trade_off), trade_off)

    def _decision(self, chosen: PoolChoice, score: FloatArray, price: FloatArray) -> PoolDecision:
        rows, nobody = np.arange(len(score)), chosen.expert == NOBODY
        own = score[rows, chosen.expert]
        promised = np.where(nobody, np.nan, self._promised(own, own >= score.max(axis=1)))
        cost = np.where(nobody, 0.0, price[rows, chosen.expert])
        return PoolDecision(
            chosen.expert, self.expert_names, promised, cost, chosen.rule, chosen.trade_off, chosen.exception
        )

    def _promised(self, score: FloatArray, highest: BoolArray) -> FloatArray:
        """Return what is promised: corrected for the choice where the highest of all expectations was chosen."""
        a, b = self.chosen_map
        score = np.clip(score, 0.0, 1.0)
        return np.clip(np.where(highest, a + b * score, score), 0.0, 1.0)

    def curve(
        self, X: Any, scores: Any = None, *, prices: Any = None, available: Mapping[str, bool] | ArrayLike | None = None
    ) -> Curve:
        """Return quality against cost at every trade-off, beside the zero router.

        Parameters
        ----------
        X : as in `route`
        scores : (n, J) or DataFrame, optional
            The scores that came, NaN where there are none: the curve is what was kept. By default what is expected.
        prices, available
            As in `route`.
        """
        features = self.features(X)
        expected, price = self.scores(X), self._price_matrix(features, prices)
        self._check_some_price(price, "prices")
        real = None if scores is None else score_matrix(scores, self.expert_names)[0]
        if real is not None and real.shape != expected.shape:
            raise InputError(f"must have shape {expected.shape}, got {real.shape}.", argument="scores")
        can = self._can(available, len(features))
        hull = training_hull(self, None if can is None else np.asarray(can.any(axis=0)))
        return curve_of(expected, price, expert_names=self.expert_names, scores=real, can=can, hull=hull)

    def next_step(
        self,
        X: Any,
        *,
        marks: Mapping[str, Any] | ArrayLike | None = None,
        asked: Mapping[str, Any] | ArrayLike | None = None,
        judge: Any,
        trade_off: float,
        judge_price: float = 0.0,
        prices: Any = None,
        available: Mapping[str, bool] | ArrayLike | None = None,
    ) -> CascadeStep:
        """Return the next step of a cascade: whom to ask, or that the best answer so far stands.

        Parameters
        ----------
        X : as in `route`
        marks : {name: mark or (n,) marks} or (n, J), optional
            The judge's marks of the answers so far, 1 or 0; NaN where an answer was not judged, or there is none.
        asked : {name: bool or (n,) bool} or (n, J) bool, optional
            Who has answered, judged or not; by default whose answer has a mark.
        judge : Judge
            Anything with `sensitivity` and `specificity`.
        trade_off : float
            Money that a point of quality is worth, finite.
        judge_price : float
            What a mark costs.
        prices, available
            As in `route`.
        """
        marking = Marking.of(judge, judge_price)
        if not 0 <= trade_off < np.inf:
            raise InputError(f"must be a finite number of at least 0, got {trade_off}.", argument="trade_off")
        features, expected = self.features(X), self.scores(X)
        marked, answered = check_marks(marks, asked, expected.shape, self.expert_names)
        price = self._price_matrix(features, prices)
        self._check_some_price(price, "trade_off")
        can = self._can(available, len(features))
        can = np.isfinite(price) if can is None else can & np.isfinite(price)
        right = heard_marks(expected, marked, marking, self.covariance)
        return cascade_step(
            right,
            np.nan_to_num(price),
            answered,
            can,
            marking=marking,
            covariance=self.covariance,
            error_cost=trade_off,
        )

    def _can(self, available: Any, n_items: int) -> BoolArray | None:
        if available is None:
            return None
        mask = by_name("available", available, self.expert_names, default=True)
        return availability(mask, n_items=n_items, n_experts=len(self.expert_names))

    def _check_some_price(self, price: FloatArray, argument: str) -> None:
        if not np.isfinite(price).any():
            raise InputError(
                "needs ",
                Argument("prices"),
                ": no price of any member is known, neither from fit nor now.",
                argument=argument,
            )

    # Members come and go.

    def add_member(
        self,
        name: str,
        X: Any = None,
        scores: ArrayLike | None = None,
        *,
        price: float | None = None,
        like: str | Sequence[str] | None = None,
        judge: Judge | None = None,
    ) -> Self:
        """Add a member of whom few scores are known, or none.

        They are predicted as a mix of the members who are there: with no scores the average member, or those named by
        `like`; with each score more as the scores say. From a few hundred scores on, fit the pool again. The items
        are remembered as those of `fit` are, and the member is no baseline of an evaluation.

        Parameters
        ----------
        name : str
        X, scores : m items and (m,), optional
            What they have been scored on.
        price : float, optional
            What a call costs; None: unknown.
        like : name or names, optional
            Members they are expected to resemble, such as an earlier version.
        judge : Judge, optional
            Who marked these items; by default the judge of `fit`, if it had one.

        Returns
        -------
        self
        """
        features, fingerprints = None, None
        if X is not None:
            features = self.features(X)
            _check_finite(features)
            features = features.astype(np.float64, copy=False)
            # Fingerprints with another user's key, or forgotten ones, cannot be added to.
            if self.rows_key is None and len(self.seen):
                fingerprints = row_fingerprints(input_columns(X, self.recipe))
        changed = with_member(
            self, name, features, scores, price=price, like=like, judge=judge, fingerprints=fingerprints
        )
        return self._become(changed)

    def remove_member(self, name: str) -> Self:
        """Remove a member and return the team."""
        return self._become(without_member(self, name))

    def _become(self, changed: "PoolParts") -> Self:
        for part in fields(PoolParts):
            setattr(self, part.name, getattr(changed, part.name))
        return self

    # On disk.

    def save(self, folder: str | Path) -> None:
        """Write the model folder: model.json and weights.safetensors, no pickle."""
        write_folder(Path(folder), files_of(self))

    @classmethod
    def load(cls, folder: str | Path) -> "PoolRouter":
        """Read a model folder; the folder of another model, a damaged or an older one gives a clear error."""
        model = read_folder(Path(folder))
        if model.manifest.get("kind") != cls.kind:
            raise ModelFolderError(f"{folder}: is not a pool but a team with classes; load it with Team.load.")
        return read_pool(Path(folder), model)


def router_of(team: Any, facts: PoolFacts) -> PoolRouter:
    """Return a team without classes as a router, with what is remembered of its table."""
    scores = team.score_facts
    return PoolRouter(
        team.scorer,
        team.expert_names,
        team.answer_counts,
        scores.train_score,
        scores.train_price,
        scores.covariance,
        scores.chosen_map,
        team.prices,
        team.recipe,
        team.seen["fit"],
        team.rows_key,
        facts,
    )


def is_pool_folder(folder: Path) -> bool:
    """Tell whether a folder's model.json says that it is a pool; False for whatever cannot be read."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == PoolRouter.kind


def read_pool(folder: Path, model: Packed) -> PoolRouter:
    """Build the team of a pool from what its folder holds."""
    return fitted_of(folder, model, PoolRouter, _try)


def _try(pool: PoolRouter) -> None:
    """Send an item of zeros through the pool, so that parts that do not fit together raise."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pool.model.predict(np.zeros((1, pool.model.n_features)))


def _check_finite(features: Any) -> None:
    if not np.isfinite(features.sum()) and not np.isfinite(features).all():
        row, column = np.argwhere(~np.isfinite(features))[0]
        raise InputError(f"must be finite, got {features[row, column]} at row {row}, column {column}.", argument="X")
