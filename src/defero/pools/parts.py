"""PoolParts: what the team of a pool consists of, and whom the pool is compared with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, names
from defero.core.codec import Within
from defero.core.display import Preformatted
from defero.core.errors import InputError
from defero.core.order import HashArray
from defero.data.recipes.recipe import FeatureRecipe
from defero.decide.frontier import upper_hull
from defero.learn.scores import LearnedPrices, ScoreScorer

NotNegative = Annotated[float, Within(0)]


@dataclass(frozen=True)
class PoolFacts:
    """What a pool remembers of its making: the held-out score of those chosen, and the columns of its table."""

    held_out: float | None = None
    n_items: Annotated[int, Within(0)] = 0
    fees: Mapping[str, str | NotNegative] | None = None
    error_cost: NotNegative | None = None
    judge: tuple[NotNegative, NotNegative] | None = None
    joined: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()
    key: str | None = None
    groups: str | None = None
    split: str | None = None


@dataclass(eq=False, repr=False)
class PoolParts(Preformatted):
    """What the team of a pool consists of.

    Attributes
    ----------
    model : ScoreScorer
        Expected scores.
    expert_names : J names
    n_scores : (J,) int
        How many scores each member was learned from.
    train_score, train_price : (J,)
        Mean score and mean price of each member in training; nan where not known.
    covariance : (J, J)
        Of the members' scores around their expectations.
    chosen_map : (a, b)
        The expected score s of the one who is chosen is a + b s: the best of several estimates is too high.
    prices_learned : LearnedPrices, optional
        Expected prices; None where no price is known.
    recipe : FeatureRecipe, optional
        How a table becomes features.
    seen : (m,) uint64
        Fingerprints of the training rows.
    rows_key : str, optional
        The key of the fingerprints, where it is not this user's.
    facts : dict
        What `fit` chose, and the columns of its table.
    """

    kind: ClassVar[str] = "pool"
    model: ScoreScorer
    expert_names: Annotated[tuple[str, ...], Within(1)]
    n_scores: Annotated[IntArray, Within(0)]
    train_score: Annotated[FloatArray, Within(finite=False)]
    train_price: Annotated[FloatArray, Within(finite=False)]
    covariance: FloatArray
    chosen_map: tuple[float, float] = (0.0, 1.0)
    prices_learned: LearnedPrices | None = None
    recipe: FeatureRecipe | None = None
    seen: HashArray = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    rows_key: str | None = None
    facts: PoolFacts = field(default_factory=PoolFacts)

    def __post_init__(self) -> None:
        n_members = self.model.n_experts
        self.expert_names = names("expert_names", self.expert_names, count=n_members)
        shapes = dict.fromkeys(("n_scores", "train_score", "train_price"), (n_members,))
        for name, shape in {**shapes, "covariance": (n_members, n_members)}.items():
            if getattr(self, name).shape != shape:
                raise InputError(f"must have shape {shape}, got {getattr(self, name).shape}.", argument=name)
        width = self.model.n_features
        if self.prices_learned is not None and self.prices_learned.weights.shape != (width, n_members):
            raise InputError(f"must be of {width} features and {n_members} members.", argument="prices_learned")
        if self.recipe is not None and len(self.recipe.names) != width:
            raise InputError(f"must make {width} features, not {len(self.recipe.names)}.", argument="recipe")


def compared_members(pool: PoolParts, present: BoolArray | None = None) -> IntArray:
    """Return the members that may be a baseline.

    These have scores in training and can be asked. Members who joined later have few scores, so that the best of them
    is best by luck: they count only where nobody else is left.

    Parameters
    ----------
    pool : PoolParts
    present : (J,) bool, optional
        Who can be asked at all.
    """
    here = np.ones(len(pool.expert_names), dtype=np.bool_) if present is None else present
    scored = here & (pool.n_scores > 0) & np.isfinite(pool.train_score)
    learned = scored & ~np.isin(pool.expert_names, pool.facts.joined)
    for members in (learned, scored, here):
        if members.any():
            return np.flatnonzero(members)
    return np.empty(0, dtype=np.int64)


def best_single(pool: PoolParts, present: BoolArray | None = None) -> int:
    """Return the member with the highest mean score in training."""
    members = compared_members(pool, present)
    return int(members[np.nan_to_num(pool.train_score[members], nan=-1.0).argmax()])


def best_at_trade_off(
    pool: PoolParts, trade_off: float, price: FloatArray, present: BoolArray | None = None
) -> int | None:
    """Return the member with the highest score times trade-off less price in training; None where no price counts.

    Where no price was known in training, the mean of prices (n, J) stands for it.
    """
    if not np.isfinite(trade_off):
        return None
    members = compared_members(pool, present)
    known = np.isfinite(price)
    now = np.where(known, price, 0.0).sum(axis=0) / np.where(known.any(axis=0), known.sum(axis=0), np.nan)
    cost = np.where(np.isfinite(pool.train_price), pool.train_price, now)[members]
    value = trade_off * pool.train_score[members] - cost
    return int(members[np.nanargmax(value)]) if np.isfinite(value).any() else None


def training_hull(pool: PoolParts, present: BoolArray | None = None) -> IntArray | None:
    """Return the zero router's members by prices and scores of the training rows; None where prices are not known."""
    members = compared_members(pool, present)
    members = members[np.isfinite(pool.train_price[members]) & np.isfinite(pool.train_score[members])]
    return members[upper_hull(pool.train_price[members], pool.train_score[members])] if members.size else None
