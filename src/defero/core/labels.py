"""Labels of any type, and experts' answers among them, as class numbers 0..K-1 and as arguments; missing is -1."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from defero.core.answers import MISSING as MISSING
from defero.core.answers import NO_CLASS, Answers, Codes, class_numbers, code_type, column_numbers, minus_one_is_missing
from defero.core.answers import is_missing as is_missing
from defero.core.checks.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    check_length,
    check_shape,
    class_probabilities,
    expert_rows,
    probabilities,
    refuse,
)
from defero.core.errors import InputError
from defero.core.wording import did_you_mean, join_names

Labels = NDArray[np.generic]


def find_classes(labels: ArrayLike, *, name: str = "y") -> Labels:
    """Return the distinct labels in sorted order, (K,).

    >>> find_classes(["malign", "benign", "malign"]).tolist()
    ['benign', 'malign']
    """
    array = as_column(labels, name=name)
    refuse_gaps(array, name=name)
    try:
        return np.unique(_distinct(array))
    except TypeError as error:
        raise InputError(
            "must hold labels of one type (all text or all numbers), got a mixture.", argument=name
        ) from error


def refuse_gaps(labels: ArrayLike, *, name: str = "y") -> None:
    """Raise if a label, or another value of a row, is missing; other shapes are checked elsewhere.

    >>> refuse_gaps(["malign", None])
    Traceback (most recent call last):
        ...
    defero.core.errors.InputError: y must be given in every row, got none in row 1; fill it in or drop the row.
    """
    array = _one_column(labels, name=name)
    if array.ndim != 1:
        return
    gaps = ~np.isfinite(array) if array.dtype.kind in "fmM" else missing_cells(array) & (array.dtype.kind != "i")
    if gaps.any():
        row = int(np.argmax(gaps))
        got = f"{array[row]} in row {row}" if array.dtype.kind == "f" else f"none in row {row}"
        raise InputError(f"must be given in every row, got {got}; fill it in or drop the row.", argument=name)


def missing_cells(array: Labels) -> BoolArray:
    """Return where no answer is recorded, (n,): -1 in integer arrays, NaN in floats, None and the like in objects.

    >>> missing_cells(np.array([0, -1])).tolist(), missing_cells(np.array(["a", None], dtype=object)).tolist()
    ([False, True], [False, True])
    """
    if array.dtype.kind == "O":
        return np.array([is_missing(value) for value in array.tolist()], dtype=np.bool_)
    if array.dtype.kind == "i":
        return np.asarray(array == MISSING)
    return np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, dtype=np.bool_)


def as_column(labels: ArrayLike, *, name: str) -> Labels:
    """Return labels as a one-dimensional array, text as objects."""
    array = _one_column(labels, name=name)
    check_shape(name, array, ("n",), like=", one label per item")
    return array


def encode_labels(labels: ArrayLike, classes: Labels, *, name: str = "y") -> IntArray:
    """Return each label's class number, (n,).

    >>> encode_labels(["b", "a"], np.array(["a", "b"], dtype=object)).tolist()
    [1, 0]
    """
    array = as_column(labels, name=name)
    codes: IntArray = class_numbers(array, classes).astype(np.int64)
    wrong = np.flatnonzero(codes < 0)
    if wrong.size:
        row = int(wrong[0])
        raise InputError(
            f": row {row}: label {_shown(array[row])} is not one of {join_names(classes.tolist())}.",
            argument=name,
        )
    return codes


def encode_answers(answers: object, classes: Labels, *, name: str = "experts") -> IntArray:
    """Return the class index of each answer, (n, J), -1 where it is missing.

    Missing is None, NaN or pandas' NA; -1 in integer arrays if -1 is not a class; in a scipy.sparse
    matrix the cells that are not stored (a stored value is the class index + 1).

    >>> encode_answers([["a", None], ["b", "a"]], np.array(["a", "b"], dtype=object)).tolist()
    [[0, -1], [1, 0]]
    >>> encode_answers(np.array([[0, -1]]), np.array([0, 1])).tolist()
    [[0, -1]]
    """
    return code_answers(answers, classes, name=name).dense()


def code_answers(answers: Any, classes: Labels, *, name: str = "experts") -> Answers:
    """Return the class indices of answers as in `encode_answers`; sparse answers stay sparse.

    `Answers` and logs of answers recode themselves by their method `among`.

    >>> code_answers([["a", None], ["b", "a"]], np.array(["a", "b"], dtype=object)).per_expert().tolist()
    [2, 1]
    """
    framed = is_frame(answers)
    if not framed and hasattr(answers, "among"):
        return _recode(answers, classes, name=name)
    if not framed and hasattr(answers, "tocsr"):
        return Answers.from_matrix(answers, classes=classes, name=name)
    if framed:
        for column in range(answers.shape[1]):
            _refuse_right_or_wrong(answers.iloc[:, column].dropna().iloc[:1].to_numpy(), classes, name=name)
        codes = _frame_codes(answers, classes)
        cells: Any = answers.iloc
    else:
        cells = answers if is_text_array(answers) else answer_matrix(answers, name=name)
        _refuse_right_or_wrong(cells, classes, name=name)
        codes = minus_one_is_missing(class_numbers(cells, classes), cells)
    if codes.size and codes.min() == NO_CLASS:
        row, column = np.argwhere(codes == NO_CLASS)[0]
        columns = names_in(answers) or range(codes.shape[1])
        raise _no_class(name, row, columns[column], cells[row, column], classes)
    return Answers.from_cells(codes, classes=classes)


def _refuse_right_or_wrong(cells: Any, classes: Labels, *, name: str) -> None:
    """Refuse True and False where the classes are others: they would be read as the classes 1 and 0."""
    if classes.dtype.kind == "b" or cells.dtype.kind not in "bO" or any(isinstance(one, bool) for one in classes):
        return
    first = next((cell for cell in cells.flat if not is_missing(cell)), None)
    if isinstance(first, bool | np.bool_):
        raise InputError(
            "must be answers, each one of the classes, got True and False; for right or wrong alone use ExpertPool or "
            "CorrectnessTable.",
            argument=name,
        )


def _recode(answers: Any, classes: Labels, *, name: str) -> Answers:
    coded: Answers = answers.among(classes)
    if coded.codes.size and coded.codes.min() == NO_CLASS:
        items, experts, codes = coded.triplets()
        first = int(np.argmax(codes == NO_CLASS))
        columns = names_in(answers) or range(coded.n_experts)
        answer = answers.classes[answers.triplets().codes[first]]
        raise _no_class(name, int(items[first]), columns[experts[first]], answer, classes)
    return coded


def _no_class(name: str, row: int, column: object, answer: object, classes: Labels) -> InputError:
    return InputError(
        f": row {row}, column {column}: answer {_shown(answer)} is not one of {join_names(classes.tolist())}.",
        argument=name,
    )


def encode_recorded(
    answers: object, classes: Labels, *, expert_names: tuple[str, ...], n_items: int, name: str = "experts"
) -> IntArray:
    """Return recorded answers of known experts as class numbers (n, J), columns in the order of `expert_names`.

    The columns of a data frame are matched by name, in any order; they must be exactly those experts. A mapping from
    name to n answers may leave experts out: they were not asked.
    """
    if isinstance(answers, Mapping):
        answers = _mapped_answers(answers, expert_names=expert_names, n_items=n_items, name=name)
    columns = names_in(answers)
    if columns is not None and sorted(columns) != sorted(expert_names):
        _refuse_unknown(columns, expert_names, name=name)
        raise InputError(
            f": expected the experts of fit ({join_names(expert_names)}), got {join_names(columns)}; "
            "leave a column blank for an expert who was not asked.",
            argument=name,
        )
    answer_idx = encode_answers(answers, classes, name=name)
    if columns is not None:
        answer_idx = answer_idx[:, [columns.index(expert) for expert in expert_names]]
    why = ", one row per item and one column for each expert of fit"
    check_shape(name, answer_idx, (n_items, len(expert_names)), like=why)
    return answer_idx


def _mapped_answers(
    answers: Mapping[Any, Any], *, expert_names: tuple[str, ...], n_items: int, name: str
) -> NDArray[np.object_]:
    """Return answers by name as an array (n, J), None where nobody was asked."""
    _refuse_unknown([str(expert) for expert in answers], expert_names, name=name)
    cells = np.full((n_items, len(expert_names)), None, dtype=object)
    for expert, column in answers.items():
        values = as_column(column, name=f"{name}[{expert!r}]")
        if len(values) != n_items:
            raise InputError(
                f": {expert!r} must have {n_items} answers, one per item, got {len(values)}.", argument=name
            )
        cells[:, expert_names.index(str(expert))] = values
    return cells


def _refuse_unknown(names: Sequence[str], expert_names: tuple[str, ...], *, name: str) -> None:
    unknown = [one for one in names if one not in expert_names]
    if unknown:
        raise InputError(
            f": no expert {unknown[0]!r}{did_you_mean(unknown[0], expert_names)} Expected the experts of fit "
            f"({join_names(expert_names)}), got {join_names(names)}; "
            "leave a column blank for an expert who was not asked.",
            argument=name,
        )


def names_in(answers: Any) -> tuple[str, ...] | None:
    """Return the column names of a data frame, or the expert names of `Answers`; None without names."""
    columns = answers.columns if is_frame(answers) else getattr(answers, "expert_names", None)
    return None if columns is None else tuple(str(column) for column in columns)


def answer_matrix(answers: object, *, name: str) -> Labels:
    """Return answers as an array (n, J), text as objects, masked cells as None.

    >>> answer_matrix(np.ma.array([[1, 2]], mask=[[False, True]]), name="answers").tolist()
    [[1, None]]
    """
    if isinstance(answers, np.ma.MaskedArray):
        filled = answers.data.astype(object)
        filled[np.ma.getmaskarray(answers)] = None
        answers = filled
    array = _cells(answers, name=name)
    if array.ndim == 1:
        raise InputError(
            f"must have two axes (n, J), one column per expert, got shape {array.shape}; for one expert pass a column: "
            "answers.reshape(-1, 1).",
            argument=name,
        )
    check_shape(name, array, ("n", "J"), like=", one column per expert")
    return array


def _one_column(values: object, *, name: str) -> Labels:
    array = _cells(values, name=name)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _cells(values: object, *, name: str) -> Labels:
    """Return an array in which each cell has its own type; numpy would turn ["a", nan] into two texts."""
    try:
        array = np.asarray(values)
        return np.asarray(values, dtype=object) if array.dtype.kind in "US" else array
    except ValueError as error:
        raise InputError(
            "must have as many cells in each row as in the first, got rows that differ.", argument=name
        ) from error


def is_frame(answers: Any) -> bool:
    """Return whether this is a data frame."""
    return hasattr(answers, "iloc") and hasattr(answers, "columns")


def is_text_array(answers: object) -> bool:
    """Return whether this is an (n, J) array of numpy's text type, which needs no conversion to objects."""
    return (
        isinstance(answers, np.ndarray)
        and not isinstance(answers, np.ma.MaskedArray)
        and answers.ndim == 2
        and answers.dtype.kind in "US"
    )


def _frame_codes(frame: Any, classes: Labels) -> Codes:
    n_items, n_experts = frame.shape
    codes: Codes = np.empty((n_items, n_experts), code_type(len(classes)))
    for j in range(n_experts):
        codes[:, j] = column_numbers(frame.iloc[:, j], classes)
    return codes


def _distinct(array: Labels) -> Labels:
    """Return the distinct objects, since hashing is faster than sorting; other arrays unchanged."""
    if array.dtype.kind != "O":
        return array
    try:
        values = list(dict.fromkeys(array.tolist()))
    except TypeError:
        return array
    distinct = np.empty(len(values), dtype=object)
    distinct[:] = values
    return distinct


def _shown(value: object) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)


def named(label_idx: IntArray, classes: ArrayLike | None, *, n_classes: int) -> Labels:
    """Return labels in their own type where the classes are given, else class numbers.

    >>> named(np.array([1, 0]), ["benign", "malign"], n_classes=2).tolist()
    ['malign', 'benign']
    """
    if classes is None:
        return label_idx
    own = as_column(classes, name="classes")
    if len(own) != n_classes:
        raise InputError(f"must be {n_classes} labels, one per class number, got {len(own)}.", argument="classes")
    return own[label_idx]


Stratum = str | bool | int | float | None
"""Name of a stratum: text or a number. None without strata."""


def answer_numbers(answers: ArrayLike, *, n_classes: int | None = None, name: str = "answers") -> IntArray:
    """Return answers as class numbers (n, J), -1 where missing; by default of any number of classes.

    >>> answer_numbers([[0, -1]], n_classes=2).tolist()
    [[0, -1]]
    """
    array = np.asarray(answers)
    check_shape(name, array, ("n", "J"), like=", one column per expert")
    if array.size and array.dtype.kind not in "iu":
        raise InputError(
            f"must be class numbers, -1 where missing, got dtype {array.dtype}; "
            "encode labels first (ExpertTable.answer_idx).",
            argument=name,
        )
    wrong = (array < MISSING) | (array >= (np.inf if n_classes is None else n_classes))
    allowed = "" if n_classes is None else n_classes - 1
    refuse(name, array, wrong, f"must be class numbers 0..{allowed}, or -1 where missing")
    return array.astype(np.int64)


def heard_answers(answers: IntArray, mask: ArrayLike) -> BoolArray:
    """Return whose answer is heard, (n, J): in the mask, and recorded."""
    array = np.asarray(mask)
    check_shape("mask", array, answers.shape, like=" of answers")
    if array.dtype != np.bool_:
        raise InputError(f"must be True or False for each answer, got dtype {array.dtype}.", argument="mask")
    return array & (answers != MISSING)


def expert_probabilities(value: ArrayLike, *, n_items: int, n_experts: int) -> FloatArray:
    """Return P(expert j is right), (n, J), from (J,) or (n, J)."""
    spread = expert_rows("expert_proba", value, n_items=n_items, n_experts=n_experts)
    return probabilities("expert_proba", spread)


def answers_and_model(answers: ArrayLike, class_proba: ArrayLike) -> tuple[IntArray, FloatArray]:
    """Return answers (n, J) and the model's probabilities (n, K) of the same items."""
    model = class_probabilities(class_proba)
    answer_idx = answer_numbers(answers, n_classes=model.shape[1])
    check_shape("class_proba", model, (len(answer_idx), "K"), like=" like answers")
    return answer_idx, model


def complete_labels(name: str, value: ArrayLike, *, n_items: int) -> Labels:
    """Return (n,) labels of any type, one for each item.

    >>> complete_labels("labels", ["a", "b"], n_items=2).tolist()
    ['a', 'b']
    """
    labels = as_column(value, name=name)
    check_length(name, labels, n_items=n_items)
    refuse_gaps(labels, name=name)
    return labels


def stratum_names(strata: ArrayLike, *, n_items: int) -> list[Stratum]:
    """Return the stratum of each item, n names.

    >>> stratum_names(np.array([1, 2]), n_items=2)
    [1, 2]
    """
    array = np.asarray(strata)
    check_shape("strata", array, (n_items,), like=", one stratum per item")
    refuse_gaps(array, name="strata")
    return [one.item() if isinstance(one, np.generic) else one for one in array.tolist()]


def check_same_form(name: str, values: Labels, other_name: str, others: Labels) -> None:
    """Refuse names beside numbers: they would compare as different without a word."""
    if values.size and others.size and isinstance(values[0], str) != isinstance(others[0], str):
        raise InputError(
            f"must have the form of {other_name}, got {values[0]!r} beside {others[0]!r}; "
            "pass class names everywhere or class numbers everywhere.",
            argument=name,
        )
