"""What there is: every file in `sets/` and `systems/` is found by being there."""

import importlib
import pkgutil
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Protocol, TypeVar

from benchmarks.people import sets, systems
from benchmarks.people.crowd import PeopleSet
from benchmarks.people.system import KINDS, System
from defero import InputError


class Named(Protocol):
    """Whatever has a name."""

    @property
    def name(self) -> str:
        """Its name."""


Thing = TypeVar("Thing", bound=Named)


def all_sets() -> tuple[PeopleSet, ...]:
    """Return the data sets in the table's order."""
    found: list[PeopleSet] = [module.SET for module in _modules(sets)]
    return tuple(sorted(found, key=lambda one: (one.place, one.name)))


def all_systems() -> tuple[System, ...]:
    """Return the systems in the table's order."""
    return in_order([system for module in _modules(systems) for system in module.SYSTEMS])


def in_order(found: Iterable[System]) -> tuple[System, ...]:
    """Return systems by kind, then by place, and those of one place as they came."""
    return tuple(sorted(found, key=lambda one: (KINDS.index(one.kind), one.place)))


def chosen(things: Sequence[Thing], names: Iterable[str] | None, *, what: str) -> tuple[Thing, ...]:
    """Return those of these names, in the table's order; all for None."""
    if names is None:
        return tuple(things)
    wanted, known = set(names), [one.name for one in things]
    unknown = sorted(wanted - set(known))
    if unknown:
        raise InputError(f"{what} must be among {'; '.join(known)}; got {unknown[0]!r}.")
    return tuple(one for one in things if one.name in wanted)


def _modules(package: ModuleType) -> list[ModuleType]:
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]
