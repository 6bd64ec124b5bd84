"""Facts about the project of Label Studio in which experts answer. None holds a key, a name or an address."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from defero.service.events.facts import Fact


@dataclass(frozen=True, kw_only=True)
class StudioChanged(Fact):
    """The questions of some experts stand in Label Studio from here on, or no more.

    Attributes
    ----------
    link : str
        Marks the tasks that are ours.
    terms : mapping
        Members of `defero.service.views.studio.Studio`; empty: it ended.
    by : str
    """

    kind: ClassVar[str] = "studio_changed"
    link: str
    terms: Mapping[str, Any] = field(default_factory=dict)
    by: str


@dataclass(frozen=True, kw_only=True)
class StudioReady(Fact):
    """The project is there, with a tab for each expert; `webhook` says whether Label Studio tells of annotations."""

    kind: ClassVar[str] = "studio_ready"
    link: str
    project: int
    webhook: bool


@dataclass(frozen=True, kw_only=True)
class StudioFailed(Fact):
    """Label Studio refused a request (HTTP status, 0: no reply), and when it is tried again."""

    kind: ClassVar[str] = "studio_failed"
    link: str
    status: int
    retry_at: float


@dataclass(frozen=True, kw_only=True)
class StudioReached(Fact):
    """Label Studio replies again."""

    kind: ClassVar[str] = "studio_reached"
    link: str


STUDIO: dict[str, type[Fact]] = {one.kind: one for one in (StudioChanged, StudioReady, StudioFailed, StudioReached)}
"""These kinds of facts by their names in the log."""
