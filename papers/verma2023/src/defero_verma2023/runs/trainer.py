"""How the teams of one data set are trained: what every data set's module offers to the walk over runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from defero import InputError
from defero_verma2023.methods import METHODS, TUNED
from defero_verma2023.pools.pool import ExpertPool, Variant
from defero_verma2023.runs.trained_team import TrainedTeam


@dataclass(frozen=True)
class Task:
    """One training: what the trainer is asked for.

    Attributes
    ----------
    pool : ExpertPool or None
        None for one classifier.
    method : str
    net : str
    seed : int
    epochs : int or None
        None: the trainer's own number.
    """

    pool: ExpertPool | None
    method: str
    net: str
    seed: int
    epochs: int | None = None


@dataclass(frozen=True)
class Trainer:
    """One data set's trainings.

    Attributes
    ----------
    nets : mapping
        Net -> the methods that it is trained with; a method of several nets is run with each, see `nets_of`.
    load : callable
        Seed and protocol -> the data, split; by the protocol, experts who copy a person share one or have their own.
    train : callable
        Data and task -> TrainedTeam.
    """

    nets: Mapping[str, tuple[str, ...]]
    load: Callable[[int, Variant], Any]
    train: Callable[[Any, Task], TrainedTeam]

    def nets_of(self, method: str, *, tuned: bool = False) -> tuple[str, ...]:
        """Return the nets that a method is trained with; where some of them are tuned and others not, one of the kinds.

        >>> shop = Trainer({"a": ("ova",), "a, tuned": ("ova", "moe")}, load=print, train=print)
        >>> shop.nets_of("ova"), shop.nets_of("ova", tuned=True), shop.nets_of("moe")
        (('a',), ('a, tuned',), ('a, tuned',))
        """
        nets = tuple(net for net, methods in self.nets.items() if method in methods)
        wanted = tuple(net for net in nets if net.endswith(TUNED) == tuned)
        if nets:
            return wanted or nets
        known = [name for name in METHODS if any(name in methods for methods in self.nets.values())]
        raise InputError(f"methods of this data set are {', '.join(known)}, got {method!r}.")


def trainer_of(data_set: str, *, quick: bool) -> Trainer:
    """Return a data set's trainer; torch is imported here and not before."""
    module = import_module(f"defero_verma2023.training.{data_set}")
    made: Trainer = module.trainer(quick=quick)
    return made
