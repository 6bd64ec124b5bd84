"""What a method is: a class with `fit` and `decide`; and how one comes in from a file of the user's."""

import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from defero import InputError
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.wording import did_you_mean

GROUP = "defero.field"
Kind = Literal["one question", "several questions"]


@dataclass(frozen=True, eq=False)
class Choice:
    """Who decides each test case, at most one question each.

    Attributes
    ----------
    expert : (n,) int
        -1 where the model answers.
    label : (n,) int
        The class number that the model answers.
    p_right : (n,), optional
        The promise: P(the decider is right); None where a method has no probabilities.
    """

    expert: IntArray
    label: IntArray
    p_right: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Heard:
    """The answer to each test case after several questions: `label` (n,), whom it `heard` (n, J), and the promise."""

    label: IntArray
    heard: BoolArray
    p_right: FloatArray | None = None


class Method(Protocol):
    """A method. Its class is called without arguments, or with `random_state` if it has such an argument.

    One that asks more than one expert has `answer(X, answers, *, fees) -> Heard` in the place of `decide`.
    """

    def fit(self, X: FloatArray, y: IntArray, experts: IntArray) -> Any:
        """Learn from X (n, d), class numbers y (n,), and answers (n, J), which are -1 where there is none."""

    def decide(self, X: FloatArray, *, fees: FloatArray, available: BoolArray) -> Any:
        """Choose for each row: a `Choice`, or (expert, label) or (expert, label, p_right).

        `fees` (n, J) are what a question costs, in units of one error; `available` (n, J) says who can be asked.
        """


@dataclass(frozen=True)
class Entry:
    """A row of the table.

    Attributes
    ----------
    name : str
    make : random_state -> Method
    kind : "one question" or "several questions"
        Methods with one question at most are compared by accuracy; all of them by cost.
    ours : bool
        It changes with defero.
    source : str
        Where it comes from.
    """

    name: str
    make: Callable[[int], Any]
    kind: Kind = "one question"
    ours: bool = False
    source: str = ""


def as_choice(given: Any, *, name: str, available: BoolArray) -> Choice:
    """Return what `decide` returned as a checked `Choice`."""
    choice = given if isinstance(given, Choice) else Choice(*given) if isinstance(given, tuple) else None
    if choice is None:
        raise InputError(f"{name}: decide must return a Choice or a tuple (expert, label), got {type(given).__name__}.")
    n_items, n_experts = available.shape
    expert, label = np.asarray(choice.expert), np.asarray(choice.label)
    for what, array in (("expert", expert), ("label", label)):
        if array.shape != (n_items,) or array.dtype.kind not in "iu":
            raise InputError(f"{name}: {what} must be {n_items} whole numbers, got {array.dtype} {array.shape}.")
    if expert.min(initial=-1) < -1 or expert.max(initial=-1) >= n_experts:
        raise InputError(f"{name}: expert must lie between -1 (the model) and {n_experts - 1}.")
    asked = np.flatnonzero(expert >= 0)
    if not available[asked, expert[asked]].all():
        raise InputError(f"{name}: it asks an expert who cannot be asked; use `available`.")
    p_right = None if choice.p_right is None else np.asarray(choice.p_right, dtype=np.float64)
    return Choice(expert.astype(np.int64), label.astype(np.int64), p_right)


def from_file(spec: str) -> Entry:
    """Return the method "path/to/file.py:Class"."""
    path, _, class_name = spec.rpartition(":")
    file = Path(path)
    if not path or not class_name.isidentifier() or not file.is_file():
        raise InputError(f"must be path/to/file.py:Class with a file that exists, got {spec!r}.", argument="--method")
    module_spec = importlib.util.spec_from_file_location(f"field_method_{file.stem}", file)
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[module_spec.name] = module  # dataclasses look their module up
    module_spec.loader.exec_module(module)
    classes = [name for name, value in vars(module).items() if inspect.isclass(value)]
    if class_name not in classes:
        remedy = did_you_mean(class_name, classes)
        raise InputError(f"{file} has no class {class_name!r}{remedy}", argument="--method")
    return of_class(getattr(module, class_name))


def of_class(cls: type) -> Entry:
    """Return the entry of a class; its `name` is the class's attribute or its own name."""
    if not callable(getattr(cls, "fit", None)) or not (hasattr(cls, "decide") or hasattr(cls, "answer")):
        raise InputError(f"{cls.__name__} must have the methods fit and decide.", argument="--method")
    takes_state = "random_state" in inspect.signature(cls).parameters

    def make(random_state: int) -> Any:
        return cls(random_state=random_state) if takes_state else cls()

    kind: Kind = "one question" if hasattr(cls, "decide") else "several questions"
    return Entry(str(getattr(cls, "name", cls.__name__)), make, kind=kind, ours=True, source="yours")


def installed() -> list[Entry]:
    """Return the methods that installed packages add by the entry-point group `defero.field`."""
    return [of_class(point.load()) for point in entry_points(group=GROUP)]
