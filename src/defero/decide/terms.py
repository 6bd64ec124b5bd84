"""Terms: what questions and errors cost, who is there and how much may be asked; as a person says it, and checked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    availability,
    by_name,
    fee_matrix,
    price_matrix,
    probability,
)
from defero.core.errors import Argument, InputError, Message
from defero.core.labels import Labels
from defero.core.wording import did_you_mean, join_names
from defero.decide.cascade import Marking
from defero.decide.costs import ErrorCosts, in_class_order

DEFAULT_FEE = 0.01
"""Fee of a question where none is given, in units of the dearest error: free questions are asked without end."""
Fees = Mapping[str, float | str] | ArrayLike | PathLike[str]
"""One number for everybody; by expert name (a number, or "@column" for a price for each case; "all": whoever is not
named), in the experts' order (J,), for each item (n, J), or a file with the columns expert and fee."""
Capacity = Mapping[str, Any] | ArrayLike
"""Of each expert, by name or in their order: the most questions N, or (fewest, most); None: no limit. The name "all"
stands for every expert who has no entry."""
LIMITS = ("capacity", "budget", "at_most_asked")


@dataclass(frozen=True, eq=False, kw_only=True)
class Terms:
    """On what terms cases are decided. Nothing of it is learned: other terms need no new training.

    Attributes
    ----------
    fees : number, {name: fee}, (J,), (n, J) or path, optional
        What a question to an expert costs, in a unit of money that you choose. A fee is a number, or @column for a
        price for each case of a table; the name all stands for everybody who is not named. A file, which a `Study`
        reads, has the columns expert and fee. A fee that is NaN or not given is the price that `fit` learned, if it
        learned one.
    error_cost : float, optional
        What any error costs, in the unit of `fees`. Default: as in `fit`, else 1. Experts who have only scores are by
        default chosen by these alone, and fees settle ties.
    cost_matrix : path, (K, K), DataFrame or {truth: {answer: cost}}, optional
        What each error costs, in place of `error_cost`: a row for each true class, whose name is in the first column
        of a file, and a column for each answer. Names may stand in any order, an array is in the order of the classes.
    absent : names
        Name of an expert who cannot be asked.
    available : (J,) or (n, J) bool, or {name: bool}, optional
        Who can be asked, where it is not enough to name those who are absent.
    capacity : {name: most}, {name: (fewest, most)} or J such entries, optional
        Limits on the questions to an expert, of all cases together; the name all stands for everybody who is not named.
    budget : float, optional
        The most that all questions may cost in total. Needs `fees`.
    at_most_asked : float, optional
        Largest share of the cases that experts may be asked about, such as 0.3.
    prices : (J,), (n, J) or {name: price}, optional
        Charged beyond the fees where somebody's time is scarce: `Assignment.prices`. May be negative.
    floor : float, optional
        The cheapest whose P(right) reaches it decides, the model at no cost; where nobody does, the highest P(right).
    judge : Judge, optional
        Marks answers as right or wrong, for `next_step`: anything with a `sensitivity` and a `specificity`.
    judge_price : float
        What a mark costs.

    Examples
    --------
    >>> terms = Terms(fees={"ann": 2.0, "all": 4.0}, error_cost=40, absent=["bob"])
    >>> checked = terms.of(("ann", "bob"), np.array(["ill", "well"]))
    >>> checked.fees_in_errors.tolist(), checked.available.tolist()
    ([0.05, 0.1], [True, False])
    """

    fees: Any = None
    error_cost: float | None = None
    cost_matrix: Any = None
    absent: Sequence[str] = ()
    available: Any = None
    capacity: Capacity | None = None
    budget: float | None = None
    at_most_asked: float | None = None
    prices: Any = None
    floor: float | None = None
    judge: Any = None
    judge_price: float = 0.0

    def __post_init__(self) -> None:
        if self.error_cost is not None and self.cost_matrix is not None:
            raise InputError(f"and {Argument('cost_matrix')} exclude each other; leave one out.", argument="error_cost")

    def given(self) -> dict[str, Any]:
        """Return by name whatever was said.

        >>> Terms(error_cost=40).given()
        {'error_cost': 40}
        """
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: one
            for name, one in values.items()
            if one is not None and not (name in _DEFAULTS and one == _DEFAULTS[name])
        }

    def known_to(self, expert_names: tuple[str, ...]) -> "Terms":
        """Return the costs for another team, without the people who are not in it, and without limits."""
        fees = self.fees
        if isinstance(fees, Mapping):
            fees = {name: fee for name, fee in fees.items() if name == "all" or name in expert_names} or None
        absent = tuple(name for name in self.absent if name in expert_names)
        return Terms(fees=fees, error_cost=self.error_cost, cost_matrix=self.cost_matrix, absent=absent)

    def of(
        self,
        expert_names: tuple[str, ...],
        classes: Labels,
        *,
        before: "TeamTerms | None" = None,
        learned: BoolArray | None = None,
    ) -> "TeamTerms":
        """Check everything against J experts and K classes; costs that are not given are as `before`.

        `learned` (J,) says of whom `fit` learned a price: theirs where no fee is named.
        """
        fees, columns, unnamed = _fees_of(self.fees, expert_names, learned, scored_only=not len(classes))
        error_cost = 1.0 if self.error_cost is None else self.error_cost
        matrix = in_class_order(self.cost_matrix, classes)
        costs = ErrorCosts.of(matrix, n_classes=len(classes), error_cost=error_cost)
        costs_given = self.error_cost is not None or self.cost_matrix is not None
        if before is not None:
            fees = before.fees if fees is None else fees
            costs, costs_given = (costs, costs_given) if costs_given else (before.costs, before.costs_given)
        prices = by_name("prices", self.prices, expert_names, default=0.0)
        shape = _shape(prices, expert_names)
        return TeamTerms(
            expert_names,
            fees,
            costs,
            costs_given=costs_given,
            available=_available(self.available, self.absent, expert_names),
            absent=tuple(self.absent),
            prices=None if prices is None else _as_given(price_matrix("prices", prices, **shape), prices),
            capacity=_with_everybody(self.capacity, expert_names),
            budget=self.budget,
            at_most_asked=self.at_most_asked,
            columns=columns,
            unnamed=unnamed,
            floor=None if self.floor is None else probability("floor", self.floor),
            marking=None if self.judge is None else Marking.of(self.judge, self.judge_price),
        )


_DEFAULTS: Mapping[str, object] = {"absent": Terms.absent, "judge_price": Terms.judge_price}


@dataclass(frozen=True, eq=False)
class TeamTerms:
    """The terms of one team, checked, as arrays.

    Attributes
    ----------
    expert_names : J names
    fees : (J,) or (n, J), optional
        0 where a fee stands in a column. None: not given; one expert is then asked for free, and questions to several
        cost 0.01 of the dearest error each.
    costs : ErrorCosts
    costs_given : bool
        Whether the costs of errors were given; else an error costs 1.
    absent : names
        Experts who are absent by name.
    available : (J,) or (n, J) bool, optional
        Who can be asked; None: everybody.
    prices : (J,) or (n, J), optional
    capacity, budget, at_most_asked : optional
        As in `Terms`.
    columns : mapping
        From an expert's index to the column of their prices.
    unnamed : names
        Experts without a fee, where others have one.
    floor : float, optional
        The least P(right) that is enough.
    marking : Marking, optional
        How good a judge's marks are, and what one costs.
    """

    expert_names: tuple[str, ...]
    fees: FloatArray | None
    costs: ErrorCosts
    costs_given: bool = False
    absent: tuple[str, ...] = ()
    available: BoolArray | None = None
    prices: FloatArray | None = None
    capacity: Capacity | None = None
    budget: float | None = None
    at_most_asked: float | None = None
    columns: Mapping[int, str] = field(default_factory=dict)
    unnamed: tuple[str, ...] = ()
    floor: float | None = None
    marking: Marking | None = None

    @property
    def given(self) -> bool:
        """Whether fees or costs of errors were given."""
        return (self.fees is not None and not self.by_score) or self.costs_given

    @property
    def by_score(self) -> bool:
        """Whether experts are compared by their scores alone: there is no model, and no cost of an error is given."""
        return not self.costs.matrix.size and not self.costs_given

    @property
    def limited(self) -> bool:
        """Whether there is any limit on all cases together."""
        return any(getattr(self, name) is not None for name in LIMITS)

    @property
    def unit(self) -> float:
        """What the dearest error costs; 1 where no error costs anything."""
        return self.costs.largest or 1.0

    @property
    def fees_in_errors(self) -> FloatArray | None:
        """The fees in units of the dearest error; None where they play no part in who is better."""
        return None if self.fees is None or self.by_score else self.fees / self.unit

    @property
    def matrix(self) -> FloatArray | None:
        """What errors cost, (K, K), where they cost differently."""
        return None if self.costs.symmetric else self.costs.matrix

    @property
    def free(self) -> bool:
        """Whether no question costs anything."""
        return not self.columns and (self.fees is None or not self.fees.any())

    def paid(self, n_items: int) -> FloatArray:
        """Return the fee of each question, (n, J); 0 where none is given."""
        return fee_matrix(self.fees, n_items=n_items, n_experts=len(self.expert_names), expert_names=self.expert_names)

    def charged(self, n_items: int) -> FloatArray:
        """Return what each question costs where several are asked, (n, J): 0.01 of the dearest error by default."""
        if self.fees is not None:
            return self.paid(n_items)
        return np.full((n_items, len(self.expert_names)), DEFAULT_FEE * self.costs.largest)

    def can_ask(self, n_items: int) -> BoolArray:
        """Return who can be asked, (n, J)."""
        return availability(self.available, n_items=n_items, n_experts=len(self.expert_names))

    def among(self, available: BoolArray) -> "TeamTerms":
        """Return the same terms where these experts, (J,) or (n, J), can be asked."""
        return replace(self, available=available)

    def spread(self, n_items: int) -> "TeamTerms":
        """Return the terms with a row for each of n items, whose shapes have been checked."""
        prices = price_matrix("prices", self.prices, n_items=n_items, n_experts=len(self.expert_names))
        fees = None if self.fees is None else self.paid(n_items)
        return replace(self, fees=fees, prices=prices, available=self.can_ask(n_items))

    def take(self, rows: BoolArray | IntArray | slice) -> "TeamTerms":
        """Return the terms of some of n items."""
        own = {name: getattr(self, name) for name in ("fees", "prices", "available")}
        return replace(self, **{name: one[rows] for name, one in own.items() if one is not None and one.ndim == 2})

    def filled(self, learned: FloatArray | None) -> FloatArray | None:
        """Return the fees, with those that were learned, (J,) or (n, J), where none was given; NaN: not known."""
        if self.fees is None or learned is None:
            return learned if self.fees is None else self.fees
        return np.where(np.isnan(self.fees), learned, self.fees)

    def priced(self, learned: FloatArray | None) -> "TeamTerms":
        """Return the terms with fees that were learned, (J,) or (n, J), where none was given.

        Whose fee is known from nowhere (NaN) cannot be asked where money counts.
        """
        fees = self.filled(learned)
        if fees is None or self.columns:
            return self
        known = np.isfinite(fees)
        if (self.by_score and self.floor is None and self.budget is None) or known.all():
            return replace(self, fees=fees)
        available = known if self.available is None else known & self.available
        return replace(self, fees=np.nan_to_num(fees), available=available)

    def same_as(self, other: "TeamTerms") -> bool:
        """Whether both cost the same: the same fees and costs of errors, in units of the dearest error."""
        mine, others = (0.0 if one.fees_in_errors is None else one.fees_in_errors for one in (self, other))
        if np.ndim(mine) == 2 or np.ndim(others) == 2:
            return False
        matrix, others_matrix = (one.costs.matrix / one.unit for one in (self, other))
        return np.allclose(mine, others, rtol=1e-12) and np.allclose(matrix, others_matrix, rtol=1e-12)

    def same_fees(self) -> list[float]:
        """Return one fee for each expert (J,), in units of the dearest error; refuse prices for each case."""
        if self.columns:
            name, column = self.expert_names[next(iter(self.columns))], next(iter(self.columns.values()))
            raise InputError(
                f"{Argument('fees', {name: f'@{column}'})}: here every question to an expert costs the same; "
                "prices for each case enter when cases are routed or judged."
            )
        fees = self.fees_in_errors
        return [0.0] * len(self.expert_names) if fees is None else fees.tolist()

    def notes(self) -> tuple[Message, ...]:
        """Say who is free because nobody named their fee."""
        if not self.unnamed:
            return ()
        have = "has" if len(self.unnamed) == 1 else "have"
        return (
            Message(
                f"{join_names(self.unnamed, most=6)} {have} no fee, so questions to them are free; "
                f"{Argument('fees', {'all': 1.0})} would be a fee of 1 for everybody who is not named."
            ),
        )

    def unpayable(self) -> list[str]:
        """Say that every question costs at least as much as the dearest error, so that nobody is ever asked.

        >>> names, classes = ("ann", "bob"), np.array([0, 1])
        >>> Terms(fees=[12.0, 20.0], error_cost=40).of(names, classes).unpayable()
        []
        >>> Terms(fees=12.0).of(names, classes).unpayable()[0].split(":")[0]
        'A question costs 12 and an error 1, so no question can pay and the model decides every case'
        """
        if self.fees is None or not self.fees.size or self.fees.min() < self.unit:
            return []
        least = "" if self.fees.min() == self.fees.max() else "at least "
        error = "an error" if self.costs.symmetric else "the dearest error"
        remedy = "lower the fees, or raise" if self.costs_given else "pass"
        return [
            f"A question costs {least}{self.fees.min():g} and {error} {self.unit:g}, so no question can pay and the "
            f"model decides every case: {remedy} what an error costs (--error-cost; in Python error_cost), in the unit "
            "of the fees."
        ]


def checked(
    terms: Terms | TeamTerms | None,
    expert_names: tuple[str, ...],
    classes: Labels,
    *,
    unused: Sequence[str] = (),
    learned: BoolArray | None = None,
) -> TeamTerms:
    """Return checked terms; refuse those among them that a method has no use for.

    >>> checked(None, ("ann",), np.array([0, 1])).given
    False
    """
    if isinstance(terms, TeamTerms):
        return terms
    given = check_terms(terms, unused=unused)
    own = given.of(expert_names, classes, learned=learned)
    if own.columns:
        own.same_fees()  # raises: there is no table that has the prices
    return own


def check_terms(terms: Terms | None, *, unused: Sequence[str] = ()) -> Terms:
    """Return what was given, Terms() by default; refuse what a method has no use for."""
    given = Terms() if terms is None else terms
    if not isinstance(given, Terms):
        raise InputError(f"must be Terms(fees=..., error_cost=..., ...), got {given!r}.", argument="terms")
    for name in given.given():
        if name in unused:
            raise InputError(": has no effect here; leave it out of the terms.", argument=name)
    return given


def available_without(absent: Sequence[str], expert_names: tuple[str, ...]) -> list[bool]:
    """Return who can be asked, (J,); refuse names that nobody has.

    >>> available_without(["bob"], ("ann", "bob"))
    [True, False]
    """
    if isinstance(absent, str):  # it would be read letter by letter
        raise InputError(f"must be a list of names; pass {Argument('absent', [absent])}.", argument="absent")
    unknown = [name for name in absent if name not in expert_names]
    if unknown and not expert_names:
        raise InputError(f"{Argument('absent', unknown[:1])}: the model knows no experts; leave it out.")
    if unknown:
        hint = did_you_mean(unknown[0], expert_names)
        raise InputError(
            f"{Argument('absent', unknown[:1])}: no such expert{hint} The model knows {join_names(expert_names)}."
        )
    return [name not in absent for name in expert_names]


def _available(value: Any, absent: Sequence[str], expert_names: tuple[str, ...]) -> BoolArray | None:
    """Return who can be asked, (J,) or (n, J): those who are available and not absent; None for everybody."""
    given = by_name("available", value, expert_names, default=True)
    if given is not None:
        given = _as_given(availability(given, **_shape(given, expert_names)), given)
    named = available_without(absent, expert_names) if len(absent) else None
    both = [np.array(one, dtype=np.bool_) for one in (given, named) if one is not None]
    return np.logical_and(*both) if len(both) == 2 else both[0] if both else None


def _shape(value: Any, expert_names: tuple[str, ...]) -> dict[str, int]:
    """Return the shape that a check of (J,) or (n, J) needs, whatever n is."""
    return {"n_items": len(value) if np.ndim(value) == 2 else 1, "n_experts": len(expert_names)}


def _as_given(spread: Any, value: Any) -> Any:
    """Return the one row of an array (1, J) that was given as (J,)."""
    return spread if np.ndim(value) == 2 else spread[0]


def _with_everybody(capacity: Capacity | None, expert_names: tuple[str, ...]) -> Capacity | None:
    """Return the capacity with an entry for everybody for whom "all" stands; None where nothing is limited."""
    if not isinstance(capacity, Mapping):
        if isinstance(capacity, Real | str):
            one = {expert_names[0] if expert_names else "ann": 10}
            raise InputError(
                f"must be {{name: most}} or {{name: (fewest, most)}}, such as {one}, got {capacity!r}.",
                argument="capacity",
            )
        return capacity
    own = dict(capacity)
    everybody = own.pop("all", None) if "all" not in expert_names else None
    rest = {} if everybody is None else {name: everybody for name in expert_names if name not in own}
    return {**own, **rest} or None


def _fees_of(
    given: Any, expert_names: tuple[str, ...], learned: BoolArray | None = None, *, scored_only: bool = False
) -> tuple[FloatArray | None, dict[int, str], tuple[str, ...]]:
    """Return the fees (J,) or (n, J), the columns of those that stand in a table, and who has none beside others.

    NaN: as learned. Who is not named is free, but for those of whom a price was `learned`, and for whoever has only
    scores.

    >>> _fees_of({"ann": 2.5, "cem": "@price"}, ("ann", "bob", "cem"))
    (array([2.5, 0. , 0. ]), {2: 'price'}, ('bob',))
    """
    if given is None:
        return None, {}, ()
    if isinstance(given, str | PathLike):
        raise InputError(f": {given} is a file, which a Study reads; pass {{name: fee}} here.", argument="fees")
    if isinstance(given, Real) and not isinstance(given, bool):
        given = {"all": float(given)}
    values: Any = given
    if isinstance(given, bool) or not isinstance(given, Iterable):
        raise InputError(
            f"must be a number, {{name: fee}}, or one fee for each expert, got {given!r}.", argument="fees"
        )
    if hasattr(values, "columns"):
        values = {str(name): np.asarray(values[name], dtype=np.float64) for name in values.columns}
    if np.ndim(values) == 2:
        return _fees_of_cases(values, expert_names), {}, ()
    if len(values) and not expert_names and set(values) != {"all"}:
        raise InputError(": there are no experts to be paid; leave it out.", argument="fees")
    if not isinstance(values, Mapping) and len(values) != len(expert_names):
        raise InputError(
            f"must name a fee for each of {len(expert_names)} experts, got {len(values)}.", argument="fees"
        )
    own = dict(values) if isinstance(values, Mapping) else dict(zip(expert_names, values, strict=True))
    unnamed: tuple[str, ...] = ()
    if "all" in own and "all" not in expert_names:
        everybody = own.pop("all")
        _fee("all", everybody)
        own = {**own, **{name: everybody for name in expert_names if name not in own}}
    elif own:
        as_learned = np.full(len(expert_names), scored_only) if learned is None else learned | scored_only
        own |= {name: np.nan for name, one in zip(expert_names, as_learned, strict=True) if one and name not in own}
        unnamed = tuple(name for name in expert_names if name not in own)
    fees = by_name("fees", own, expert_names, default=0.0)
    lengths = {np.shape(fee) for fee in fees if np.ndim(fee) == 1}
    if lengths:
        if len(lengths) > 1:
            raise InputError(f"must be one number for each case, got {join_names(lengths)}.", argument="fees")
        return _fees_of_cases(np.column_stack([np.broadcast_to(fee, *lengths) for fee in fees]), expert_names), {}, ()
    columns = {j: fee[1:] for j, fee in enumerate(fees) if _is_column(fee)}
    amounts = [_fee(name, fee) for name, fee in zip(expert_names, fees, strict=True)]
    return np.array(amounts, dtype=np.float64), columns, unnamed


def _is_column(fee: Any) -> bool:
    return isinstance(fee, str) and fee[:1] == "@" and len(fee) > 1


def _fee(name: str, fee: Any) -> float:
    """Return one fee, 0 where it stands in a column and NaN where it is None; refuse what is none."""
    try:
        amount = 0.0 if _is_column(fee) else float(np.nan if fee is None else fee)
    except (TypeError, ValueError):
        raise InputError(
            f"{Argument('fees', {name: fee})}: expected a number, or @ and the name of a column."
        ) from None
    if amount < 0:
        raise InputError(f"{Argument('fees', {name: amount})}: a fee must not be negative.")
    if amount == np.inf:
        who = Argument("absent", [name])
        raise InputError(
            f"{Argument('fees', {name: amount})}: the fee must be finite; to rule an expert out pass {who}."
        )
    return amount


def _fees_of_cases(values: Any, expert_names: tuple[str, ...]) -> FloatArray:
    """Return fees (n, J), NaN where they are as learned; refuse those that are negative or infinite."""
    fees = np.asarray(values, dtype=np.float64)
    unknown = np.isnan(fees)
    known = fee_matrix(np.where(unknown, 0.0, fees), **_shape(fees, expert_names), expert_names=expert_names)
    return np.where(unknown, np.nan, known) if unknown.any() else known
