"""Studio: the project of Label Studio in which some experts answer, and whether it can be reached."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from defero.service.events import Entry, StudioChanged, StudioFailed, StudioReached, StudioReady

UNKNOWN = ("ignore", "assigned")
"""What becomes of an annotation whose author is no expert of ours."""


@dataclass(frozen=True)
class Studio:
    """A project of Label Studio.

    Attributes
    ----------
    link : str
        Marks the tasks that are ours.
    url : str
        Of the server.
    people : ids
        Whose questions stand there.
    key_variable : str
        Environment variable with the token of an account; the token itself is never stored.
    project : int, optional
        None: one of this title is looked for, and made where there is none.
    title : str
    control : str
        Name of the choices in the labelling interface.
    callback : str
        URL of this service as Label Studio reaches it, to tell of annotations; empty: it is only asked for them.
    unknown : "ignore" or "assigned"
        An annotation by an author with another address counts for nobody, or for whom the task is meant.
    poll : float
        Seconds between two looks at the whole project.
    ready, webhook : bool
        Whether the project is set up, and tells of annotations.
    failures : int
        In a row.
    status : int, optional
        HTTP status of the last one.
    retry_at : float
        Not before this time.
    """

    link: str
    url: str
    people: tuple[str, ...] = ()
    key_variable: str = ""
    project: int | None = None
    title: str = "defero"
    control: str = "answer"
    callback: str = ""
    unknown: str = "ignore"
    poll: float = 30.0
    ready: bool = False
    webhook: bool = False
    failures: int = 0
    status: int | None = None
    retry_at: float = 0.0

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Studio":
        """Rebuild what JSON keeps of it; members that this version does not know are left out."""
        known = {one.name: values[one.name] for one in fields(cls) if one.name in values}
        return cls(**{**known, "people": tuple(known.get("people", ()))})


def apply(studio: Studio | None, entry: Entry) -> Studio | None:
    """Return the project after one more entry about it.

    >>> terms = {"url": "https://studio.example", "people": ["p1"]}
    >>> studio = apply(None, Entry(1, 0.0, None, StudioChanged(link="s1", terms=terms, by="p9")))
    >>> apply(studio, Entry(2, 0.0, None, StudioReady(link="s1", project=7, webhook=True))).project
    7
    """
    fact = entry.fact
    if isinstance(fact, StudioChanged):
        return Studio.from_dict({**fact.terms, "link": fact.link}) if fact.terms else None
    if studio is None or getattr(fact, "link", None) != studio.link:
        return studio
    match fact:
        case StudioReady():
            return replace(studio, project=fact.project, ready=True, webhook=fact.webhook)
        case StudioFailed():
            return replace(studio, failures=studio.failures + 1, status=fact.status, retry_at=fact.retry_at)
        case StudioReached():
            return replace(studio, failures=0, status=None, retry_at=0.0)
    return studio
