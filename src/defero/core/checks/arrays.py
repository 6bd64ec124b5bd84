"""Checks of arguments: each returns a clean value or raises an error that names the argument."""

import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from defero.core.errors import Argument, InputError
from defero.core.wording import did_you_mean, join_names

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Array = TypeVar("Array", bound=NDArray[Any])


def frozen(array: Array) -> Array:
    """Return a read-only copy, so that a checked value cannot change; a read-only array is not copied."""
    return read_only(array.copy() if array.flags.writeable else array)


def read_only(array: Array) -> Array:
    """Return a view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def set_frozen(value: object, **arrays: NDArray[Any]) -> None:
    """Set fields of a frozen dataclass to read-only arrays, when it is built."""
    for name, array in arrays.items():
        object.__setattr__(value, name, frozen(array))


def check_shape(name: str, array: ArrayLike, shape: tuple[int | str, ...], *, like: str = "") -> None:
    """Raise if an array has another shape; names such as "n" stand for any size, `like` says why it must be this one.

    >>> check_shape("answers", np.zeros((3, 2)), ("n", 2))
    >>> check_shape("answers", np.zeros(3), ("n", "J"), like=", one column per expert")
    Traceback (most recent call last):
    defero.core.errors.InputError: answers must have two axes (n, J), one column per expert, got shape (3,).
    """
    actual = np.shape(array)
    sizes = [n if isinstance(one, str) else one for one, n in zip(shape, actual, strict=False)]
    if len(actual) != len(shape) or actual != tuple(sizes):
        wanted = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''}){like}"
        if all(isinstance(one, str) for one in shape):
            axes = "one axis" if len(shape) == 1 else "two axes"
            raise InputError(f"must have {axes} {wanted}, got shape {actual}.", argument=name)
        raise InputError(f"must have shape {wanted}, got {actual}.", argument=name)


def set_numbers(value: object, /, **shapes: tuple[int | str, ...]) -> None:
    """Set fields of a frozen dataclass to read-only arrays; raise where one has another shape or is not finite."""
    for name, shape in shapes.items():
        array = getattr(value, name)
        check_shape(name, array, shape)
        if not np.isfinite(array).all():
            raise InputError("must be finite numbers.", argument=name)
        object.__setattr__(value, name, frozen(array))


def set_columns(value: object, *names: str, like: str, dtype: Any = None) -> None:
    """Set fields of a frozen dataclass to read-only arrays, each with one entry for each item of the field `like`.

    A field that is None stays so.
    """
    for name in names:
        if getattr(value, name) is not None:
            array = np.asarray(getattr(value, name), dtype=dtype)
            check_shape(name, array, (len(getattr(value, like)),), like=f" like {like}")
            object.__setattr__(value, name, frozen(array))


def refuse_text(name: str, value: Any) -> None:
    """Raise where a cell of an array (n, d) holds a text that is not a number; features X may be a DataFrame instead.

    >>> refuse_text("X", np.array([[1.5, "2"]], dtype=object))
    """
    cells = value if isinstance(value, np.ndarray) else np.asarray(value, dtype=object)
    if cells.ndim != 2 or cells.dtype.kind not in "OUS":
        return
    advice = "pass a DataFrame, whose columns of text are read as categories." if name == "X" else "pass numbers."
    for (row, column), cell in np.ndenumerate(cells):
        if isinstance(cell, str | bytes):
            try:
                float(cell)
            except ValueError:
                raise InputError(
                    f": row {row}, column {column}: {cell!r} is not a number; {advice}", argument=name
                ) from None


def float_matrix(name: str, value: ArrayLike, *, gaps: bool = False) -> FloatArray:
    """Return a two-dimensional float array without infinity, and without NaN unless there may be `gaps`."""
    try:
        matrix = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        refuse_text(name, value)
        raise InputError(f"must be numbers of shape (n, columns): {error}.", argument=name) from error
    check_shape(name, matrix, ("n", "columns"))
    wrong = np.isinf(matrix) if gaps else ~np.isfinite(matrix)
    remedy = ", or pass a DataFrame, whose missing cells are filled" if name == "X" else " first"
    refuse(name, matrix, wrong, "must be finite", f"fill or drop such cells{remedy}")
    return matrix


def probabilities(name: str, value: ArrayLike) -> FloatArray:
    """Return a two-dimensional array of numbers in [0, 1]."""
    matrix = float_matrix(name, value)
    refuse(name, matrix, (matrix < 0) | (matrix > 1), "must lie in [0, 1]", "pass probabilities, not logits")
    return matrix


def class_probabilities(value: ArrayLike) -> FloatArray:
    """Return the model's P(y = k), (n, K), rows sum to 1."""
    matrix = probabilities("class_proba", value)
    if matrix.shape[1] == 0:
        raise InputError("must have at least one class, got no column.", argument="class_proba")
    total = matrix.sum(axis=1)
    off = np.abs(total - 1) > 1e-6
    refuse("class_proba", total, off, "must sum to 1 in each row", "leave out columns that are no classes")
    return matrix


def expert_rows(name: str, value: ArrayLike, *, n_items: int, n_experts: int) -> NDArray[np.generic]:
    """Broadcast values per expert (J,), or per item and expert (n, J), to (n, J)."""
    array = np.asarray(value)
    if array.shape not in {(n_experts,), (n_items, n_experts)}:
        raise InputError(
            f"must have shape ({n_experts},) or ({n_items}, {n_experts}), one column per expert, got {array.shape}.",
            argument=name,
        )
    return np.broadcast_to(array, (n_items, n_experts))


def availability(value: ArrayLike | None, *, n_items: int, n_experts: int) -> BoolArray:
    """Return which experts can be asked, (n, J); all by default."""
    if value is None:
        return np.ones((n_items, n_experts), dtype=np.bool_)
    spread = expert_rows("available", value, n_items=n_items, n_experts=n_experts)
    if spread.dtype != np.bool_:
        raise InputError(f"must be True or False for each expert, got dtype {spread.dtype}.", argument="available")
    return spread.astype(np.bool_)


def fee_matrix(
    value: ArrayLike | None, /, *, n_items: int, n_experts: int, expert_names: tuple[str, ...] | None = None
) -> FloatArray:
    """Return the fees, (n, J), none negative, in the unit of the costs; 0 by default."""
    fees = price_matrix("fees", value, n_items=n_items, n_experts=n_experts)
    if value is not None:
        given = np.asarray(value, dtype=np.float64)
        who = expert_names or [f"expert {expert}" for expert in range(n_experts)]
        refuse("fees", given, given < 0, "must not be negative", who=who)
    return fees


def price_matrix(name: str, value: ArrayLike | None, *, n_items: int, n_experts: int) -> FloatArray:
    """Return what is charged for questions, (n, J), in the unit of the costs; 0 by default. It may be negative."""
    if value is None:
        return np.zeros((n_items, n_experts))
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be numbers in the unit of the error costs: {error}.", argument=name) from error
    spread = expert_rows(name, numbers, n_items=n_items, n_experts=n_experts)
    if not np.isfinite(numbers).all():
        raise InputError(
            f"must be finite; to exclude an expert pass {Argument('available', False)} for them.", argument=name
        )
    return spread.astype(np.float64)


def names(name: str, value: object, *, count: int) -> tuple[str, ...]:
    """Return distinct, non-empty names; by default `expert_0`, `expert_1`, ..."""
    if value is None:
        return tuple(f"expert_{j}" for j in range(count))
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(f"must be a list of {count} names, got {value!r}.", argument=name)
    texts = tuple(str(text) for text in value)
    if len(texts) != count:
        raise InputError(f"must be {count} names, one per column, got {len(texts)}.", argument=name)
    duplicates = sorted(text for text, times in Counter(texts).items() if times > 1)
    if duplicates:
        raise InputError(
            f"must be distinct, got {', '.join(duplicates)} more than once; rename one of them.", argument=name
        )
    for own, what in (("model", "names the model"), ("settled", "marks a case that answers have settled")):
        if own in texts:
            raise InputError(f"must not contain {own!r}, which {what} in decisions.", argument=name)
    if "" in texts:
        raise InputError(f"must not be empty, got an empty name in column {texts.index('')}.", argument=name)
    return texts


def true_or_false(
    name: str, value: ArrayLike, *, shape: tuple[int, ...] | None = None, seen: BoolArray | None = None
) -> BoolArray:
    """Return booleans; 0 and 1 are accepted too, and anything in cells where `seen` is False.

    >>> true_or_false("observed", [[1, 0]], shape=(1, 2)).tolist()
    [[True, False]]
    >>> true_or_false("correct", [[1, 7]], seen=np.array([[True, False]])).tolist()
    [[True, False]]
    """
    array = np.asarray(value)
    if shape is not None:
        check_shape(name, array, shape, like=" of the other arguments")
    if array.dtype == np.bool_:
        return np.asarray(array, dtype=np.bool_)
    invalid = np.asarray((array != 0) & (array != 1), dtype=np.bool_)
    if seen is not None:
        invalid &= seen
    refuse(name, array, invalid, "must be True or False (or 1 or 0) in each cell")
    return np.asarray(array == 1, dtype=np.bool_)


def flags(name: str, value: ArrayLike, *, n_items: int | None = None) -> BoolArray:
    """Return (n,) booleans; 0 and 1 are accepted too.

    >>> flags("correct", [1, 0]).tolist()
    [True, False]
    """
    array = np.asarray(value)
    check_length(name, array, n_items=n_items)
    return true_or_false(name, array)


def place(array: NDArray[Any], invalid: BoolArray, who: Sequence[str] = ()) -> str:
    """Write the first invalid value of (n,) or (n, columns), and its position; `who` names what the last axis is.

    >>> place(np.array([[1, 7]]), np.array([[False, True]]))
    '7 at row 0, column 1'
    """
    cell = tuple(np.argwhere(invalid)[0])
    value = array[cell]
    text = f"{value:g}" if isinstance(value, np.floating) else str(value)
    if who:
        return f"{text} for {who[cell[-1]]}" + (f" in row {cell[0]}" if len(cell) == 2 else "")
    return f"{text} for item {cell[0]}" if len(cell) == 1 else f"{text} at row {cell[0]}, column {cell[1]}"


def refuse(
    name: str, array: NDArray[Any], invalid: BoolArray, rule: str, remedy: str = "", *, who: Sequence[str] = ()
) -> None:
    """Raise if any cell of (n,) or (n, columns) is invalid; `who` names what the last axis is.

    >>> refuse("gain", np.array([1.0, np.nan]), np.array([False, True]), "must be a number", "drop the item")
    Traceback (most recent call last):
    defero.core.errors.InputError: gain must be a number, got nan for item 1; drop the item.
    """
    if invalid.any():
        raise InputError(f"{rule}, got {place(array, invalid, who)}{'; ' * bool(remedy)}{remedy}.", argument=name)


def numbers(name: str, value: ArrayLike, *, n_items: int | None = None) -> FloatArray:
    """Return (n,) floats without NaN; infinity is allowed.

    >>> numbers("gain", [1, 2]).tolist()
    [1.0, 2.0]
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be numbers, one per item: {error}.", argument=name) from error
    check_length(name, array, n_items=n_items)
    refuse(name, array, np.isnan(array), "must be a number for each item")
    return array


def item_weights(name: str, value: ArrayLike | None, *, n_items: int) -> FloatArray:
    """Return sample weights, (n,); 1 by default.

    >>> item_weights("weight", None, n_items=2).tolist()
    [1.0, 1.0]
    """
    if value is None:
        return np.ones(n_items)
    array = numbers(name, value, n_items=n_items)
    bad = ~(np.isfinite(array) & (array >= 0))
    refuse(name, array, bad, "must be finite and not negative", "pass 0 to exclude an item")
    return array


def index_numbers(name: str, value: ArrayLike, *, below: int | None = None, n_items: int | None = None) -> IntArray:
    """Return (n,) indices from 0, such as class or expert indices; less than `below` if given.

    >>> index_numbers("label_idx", [1, 0], below=2).tolist()
    [1, 0]
    """
    array = np.asarray(value)
    check_length(name, array, n_items=n_items)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(
            f"must be whole numbers, got dtype {array.dtype}; encode other values first, for example with "
            "np.unique(..., return_inverse=True) or as ExpertTable.label_idx.",
            argument=name,
        )
    outside = (array < 0) | (array >= below) if below is not None else array < 0
    refuse(name, array, outside, "must be 0 or more" if below is None else f"must lie in 0..{below - 1}")
    return array.astype(np.int64)


def check_length(name: str, array: NDArray[Any], *, n_items: int | None = None) -> None:
    """Raise if an array is not (n,)."""
    check_shape(name, array, ("n",), like=", one value per item")
    if n_items is not None and len(array) != n_items:
        raise InputError(f"must have {n_items} items like the other arguments, got {len(array)}.", argument=name)


def by_name(name: str, value: object, experts: tuple[str, ...], *, default: float | bool | None) -> Any:
    """Return a mapping by expert name as a list in the order of the experts; other values unchanged.

    >>> by_name("fees", {"bob": 0.1}, ("ann", "bob"), default=0.0)
    [0.0, 0.1]
    """
    if not isinstance(value, Mapping):
        return value
    unknown = [str(who) for who in value if who not in experts]
    if unknown:
        hint = did_you_mean(unknown[0], experts)
        raise InputError(f": no expert {join_names(unknown)}{hint} There are {join_names(experts)}.", argument=name)
    return [value.get(expert, default) for expert in experts]


def whole_number(name: str, value: Any, *, least: int) -> int:
    """Return an int of at least `least`; 20.0 is taken as 20.

    >>> whole_number("n_bins", 20, least=1)
    20
    """
    try:
        number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except TypeError as error:
        raise InputError(f"must be a whole number of at least {least}, got {value!r}.", argument=name) from error
    if number < least:
        raise InputError(f"must be a whole number of at least {least}, got {value}.", argument=name)
    return number


def probability(name: str, value: float) -> float:
    """Return a number in [0, 1].

    >>> probability("p_in", 0.7)
    0.7
    """
    if not 0 <= value <= 1:
        raise InputError(f"must be a probability in [0, 1], got {value}.", argument=name)
    return float(value)


def share(name: str, value: float, *, example: str) -> float:
    """Return a number inside (0, 1); `example` says what to pass, such as "for a 95% interval pass 0.95".

    >>> share("level", 0.95, example="for a 95% interval pass 0.95")
    0.95
    """
    if not 0 < value < 1:
        raise InputError(f"must lie in (0, 1), got {value}; {example}.", argument=name)
    return float(value)


def one_of(name: str, value: object, choices: Iterable[object]) -> None:
    """Raise if a value is not one of the choices.

    >>> one_of("method", "plat", ("platt", "none"))
    Traceback (most recent call last):
    defero.core.errors.InputError: method must be one of platt, none, got 'plat'; did you mean 'platt'?
    """
    known = tuple(choices)
    if value not in known:
        guess = did_you_mean(str(value), [str(choice) for choice in known])
        raise InputError(f"must be one of {join_names(known, most=30)}, got {value!r}{guess}", argument=name)


def check_generator(rng: np.random.Generator) -> None:
    """Raise if this is not a generator: a seed would repeat the same draws for every expert."""
    if not isinstance(rng, np.random.Generator):
        raise InputError(
            f"must be a numpy.random.Generator, got {type(rng).__name__}; pass np.random.default_rng(seed).",
            argument="rng",
        )
