"""Registry: names of losses, votes, targets, formats and the like, and what each stands for.

One new file and one line of registration add a name, inside this package or outside of it. A package that is
installed adds names through the entry-point group of the registry, without being imported first.

The registry of targets is here because `decide.panels` makes the promises and `judge` judges them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.errors import InputError
from defero.core.wording import did_you_mean, join_names

Value = TypeVar("Value")


class Registry(Mapping[str, Value], Generic[Value]):
    """What is known under which name, in the order of registration.

    Parameters
    ----------
    argument : str
        The argument that takes the name, for messages: "loss", "vote", "target", "format".
    group : str, optional
        The entry-point group through which other packages add names, such as "defero.losses".
    kind : type, optional
        What every value must be an instance of.

    Examples
    --------
    >>> votes = Registry("vote")
    >>> votes.register("first", min)
    >>> votes.find("first") is min
    True
    >>> votes.find("frist")
    Traceback (most recent call last):
    defero.core.errors.InputError: vote must be one of first, got 'frist'; did you mean 'first'?
    """

    def __init__(self, argument: str, *, group: str | None = None, kind: type | None = None) -> None:
        self._argument = argument
        self._group = group
        self._kind = kind
        self._values: dict[str, Any] = {}
        self._lazy: dict[str, str] = {}
        self._asked_others = group is None

    def register(self, name: str, value: Value, *, replace: bool = False) -> None:
        """Add a name; a second registration of the same name is an error, unless it is the same value.

        With `replace` a name that was registered before, not one of this package, gets the new value: for a notebook
        whose cell is run again.
        """
        self._check(value)
        if replace and name not in self._lazy:
            self._values.pop(name, None)
        if (name in self._values or name in self._lazy) and self[name] is not value:
            raise InputError(
                f"{name!r} is registered already; choose another name, or pass replace=True for one of your own.",
                argument=self._argument,
            )
        self._values[name] = value

    def register_lazily(self, name: str, home: str) -> None:
        """Add a name whose value is loaded when it is first asked for; `home` is "module:attribute"."""
        self._lazy[name] = home

    def find(self, name: str, *, also: tuple[str, ...] = ()) -> Value:
        """Return the value of a name; an unknown one is an error that lists the known names, and those of `also`."""
        if name not in self._values and name not in self._lazy:
            self._ask_others()
        if name in self._values or name in self._lazy:
            self._check(self[name])
            return self[name]
        known = (*self, *also)
        raise InputError(
            f"must be one of {join_names(known, most=30)}, got {name!r}{did_you_mean(str(name), known)}",
            argument=self._argument,
        )

    def _check(self, value: Value) -> None:
        """Refuse a value of another kind, such as a function that stands alone."""
        if self._kind is None or isinstance(value, self._kind):
            return
        kind, name = self._kind.__name__, getattr(value, "__name__", None)
        got = f"the function {name}; pass {kind}({name}, ...)" if callable(value) and name else repr(value)
        raise InputError(f"must be a {kind}, got {got}.", argument=self._argument)

    def _ask_others(self) -> None:
        """Let installed packages add the names of their entry points."""
        if not self._asked_others:
            self._asked_others = True
            for point in entry_points(group=self._group or ""):
                if point.name not in self._values and point.name not in self._lazy:
                    self._values[point.name] = point.load()

    def __getitem__(self, name: str) -> Value:
        if name not in self._values and name in self._lazy:
            module, _, attribute = self._lazy[name].partition(":")
            self._values[name] = getattr(import_module(module), attribute)
        value: Value = self._values[name]
        return value

    def __iter__(self) -> Iterator[str]:
        self._ask_others()
        return iter(dict.fromkeys((*self._lazy, *self._values)))

    def __len__(self) -> int:
        return len(tuple(iter(self)))


@dataclass(frozen=True)
class Target:
    """A promise about sets {j: P(expert j is right) >= tau}, for items that some expert gets right.

    Attributes
    ----------
    threshold : callable
        (expert_proba (n, J), right (n, J), *, alpha) -> tau, the largest that keeps the promise; `right` says who is
        known to have been right, and each row has somebody.
    judge : callable
        (inside (m, J), right (m, J)) -> (m,): what each set achieves, in [0, 1]. The promise is about its mean.
    promise : str
        The promise in words, with the fields {level}, the share promised, and {expert}, "expert" or
        "observed expert".
    of_panel : str
        What the panel of a deferred case does, with the field {level}, where at least one expert is right; "" for the
        words of `promise`.
    broken : str
        What panels do that break it, after the word "Panels" and before "than promised".
    at_most : bool
        Is the mean of `judge` promised to be at most alpha? Else it is at least 1 - alpha.
    """

    threshold: Callable[..., float]
    judge: Callable[[BoolArray, BoolArray], FloatArray]
    promise: str
    broken: str
    at_most: bool = False
    of_panel: str = ""

    def level(self, alpha: float) -> float:
        """Return the mean that is promised: alpha, or 1 - alpha."""
        return alpha if self.at_most else 1 - alpha

    @property
    def bound(self) -> str:
        """Return "at most" or "at least"."""
        return "at most" if self.at_most else "at least"


TARGETS: Registry[Target] = Registry("target", group="defero.targets", kind=Target)


TARGETS.register_lazily("any-correct", "defero.decide.panels.thresholds:ANY_CORRECT")


TARGETS.register_lazily("all-correct", "defero.decide.panels.thresholds:ALL_CORRECT")


TARGETS.register_lazily("missed-share", "defero.decide.panels.thresholds:MISSED_SHARE")
