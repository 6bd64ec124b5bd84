"""Who gave a Label Studio annotation, by one name however the export says it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from defero.core.errors import TableError


@dataclass(frozen=True)
class People:
    """Names of annotators: the one given, else email, else user name, else the number.

    Attributes
    ----------
    names : mapping
        From number, email or user name to the name to use.
    by_number : mapping
        The names of people whom the export describes in one place and numbers in another.
    """

    names: Mapping[Any, str] = field(default_factory=dict)
    by_number: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, completed_by: Iterable[object], *, names: Mapping[Any, str] | None) -> "People":
        """Learn who is who from all annotations of an export."""
        wanted = {str(key): name for key, name in (names or {}).items()}
        described = [one for one in completed_by if isinstance(one, dict) and one.get("id") is not None]
        by_number = {str(one["id"]): said for one in described if (said := _said(one)) is not None}
        return cls(wanted, by_number)

    def name(self, completed_by: object, *, source: str, place: str) -> str:
        """Return the name of who gave an annotation.

        >>> people = People.of([{"id": 3, "email": "ann@example.org"}], names={7: "Bo"})
        >>> [people.name(one, source="a.json", place="task 1") for one in (3, 7, 12)]
        ['ann@example.org', 'Bo', '12']
        """
        forms: list[str] = []
        if isinstance(completed_by, dict):
            said = _said(completed_by)
            forms = [str(one) for one in (said, completed_by.get("id")) if one is not None]
        elif isinstance(completed_by, int | str) and not isinstance(completed_by, bool) and str(completed_by).strip():
            number = str(completed_by).strip()
            forms = [self.by_number[number], number] if number in self.by_number else [number]
        if not forms:
            raise TableError(
                f"{source}: {place}: 'completed_by' must be a user's number or an object with id, email or username, "
                f"got {completed_by!s:.40}."
            )
        return next((self.names[form] for form in forms if form in self.names), forms[0])


def _said(person: dict[str, Any]) -> str | None:
    for key in ("email", "username"):
        value = person.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None
