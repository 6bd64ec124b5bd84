"""Person: what the log says of somebody who answers, leads, or is a program."""

from dataclasses import dataclass, replace

from defero.service.events import Entry, PersonChanged

ROLES = ("lead", "expert", "machine")
"""What a person may be: the lead runs the service, an expert answers, a machine brings cases."""


@dataclass(frozen=True)
class Person:
    """Somebody who works with the service.

    Attributes
    ----------
    person : str
        Such as "p3".
    role : "lead", "expert" or "machine"
    available : bool
        Whether they can be asked.
    capacity : int, optional
        The most questions a day (UTC); None: no limit.
    removed : bool
        They left, and are never asked again.
    """

    person: str
    role: str = "expert"
    available: bool = True
    capacity: int | None = None
    removed: bool = False

    @property
    def can_be_asked(self) -> bool:
        """Whether questions may go to them, within their capacity."""
        return self.available and not self.removed and self.role == "expert"


def apply(state: Person | None, entry: Entry) -> Person:
    """Return a person after one more entry about them.

    >>> apply(None, Entry(1, 0.0, None, PersonChanged(person="p1", change={"capacity": 40}, by="p0"))).capacity
    40
    """
    assert isinstance(entry.fact, PersonChanged)
    return replace(state or Person(entry.fact.person), **entry.fact.change)
