"""Rows and columns of a cost matrix that have names: put in the order of the classes, or refused."""

from collections.abc import Mapping, Sequence
from typing import Any

from defero.core.errors import Argument, InputError
from defero.core.labels import Labels
from defero.core.wording import did_you_mean, join_names


def in_class_order(cost_matrix: Any, classes: Labels) -> Any:
    """Return a cost matrix in the order of the classes; an array, which has no names, unchanged.

    Parameters
    ----------
    cost_matrix : (K, K), DataFrame or {truth: {decision: cost}}, optional
    classes : (K,)

    Examples
    --------
    >>> import numpy as np
    >>> costs = {"malign": {"malign": 0, "benign": 100}, "benign": {"malign": 10, "benign": 0}}
    >>> in_class_order(costs, np.array(["benign", "malign"], dtype=object))
    [[0, 10], [100, 0]]
    """
    names, argument = [_text(label) for label in classes.tolist()], Argument("cost_matrix")
    if hasattr(cost_matrix, "iloc") and hasattr(cost_matrix, "columns"):
        cells, columns = cost_matrix.to_numpy().tolist(), list(map(_text, cost_matrix.columns))
        truths, decisions = list(map(_text, cost_matrix.index)), [columns] * len(cells)
    elif isinstance(cost_matrix, Mapping):
        for truth, row in cost_matrix.items():
            if not isinstance(row, Mapping):
                raise InputError(argument, f": row {truth}: expected {{decision: cost}}, got {row!r}.")
        cells = [list(row.values()) for row in cost_matrix.values()]
        truths, decisions = list(map(_text, cost_matrix)), [list(map(_text, row)) for row in cost_matrix.values()]
    else:
        return cost_matrix
    places = [class_places(one, names, what="column", named=argument) for one in decisions]
    order = class_places(truths, names, what="row", named=argument)
    return [[cells[k][a] for a in places[k]] for k in order]


def class_places(texts: Sequence[str], names: Sequence[str], *, what: str, named: Argument) -> list[int]:
    """Return at which place of `texts` each class stands; refuse a class that is missing, unknown, or there twice.

    Parameters
    ----------
    texts : what the rows or columns are called
    names : of the classes
    what : "row" or "column"
    named : Argument
        The cost matrix, as a message calls it.

    Examples
    --------
    >>> class_places(["b", "a"], ["a", "b"], what="row", named=Argument("cost_matrix"))
    [1, 0]
    """
    absent = [name for name in names if name not in texts]
    unknown = [name for name in texts if name not in names]
    if absent:
        other = f", but one for {join_names(unknown)}, which is no class" if unknown else ""
        raise InputError(named, f": no {what} for the class {join_names(absent)}{other}.")
    if unknown:
        hint = did_you_mean(unknown[0], names)
        raise InputError(named, f": {what} {join_names(unknown)} is no class{hint} There are {join_names(names)}.")
    if len(texts) != len(names):
        raise InputError(named, f": a class has more than one {what}; leave one of them out.")
    return [texts.index(name) for name in names]


def _text(label: object) -> str:
    """Write a label, 1.0 as 1: tables read class numbers as either."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
