"""Desk: what commands may read and keep beside the ledger. The store has the real one, tests a small one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from defero.service.events import Entry
from defero.service.flow.team import Row
from defero.service.views.cases import CaseState


@dataclass(frozen=True)
class Request:
    """A request with an idempotency key that was done: the digest of its content, and the cases that came of it."""

    digest: str
    cases: tuple[str, ...]


class Desk(Protocol):
    """Contents of cases, names, notes and questions that are due; kept in the transaction of the ledger."""

    def states(self, cases: Sequence[str]) -> dict[str, CaseState]:
        """Return where some cases stand; those that do not exist are left out."""

    def rows(self, cases: Sequence[str]) -> dict[str, Row]:
        """Return the features of some cases; those that were erased are left out."""

    def keep_rows(self, contents: Mapping[str, tuple[str | None, Row]]) -> None:
        """Keep the key and the features of new cases."""

    def names(self) -> dict[str, str]:
        """Return everybody's name by id."""

    def set_name(self, person: str, name: str) -> None:
        """Set the name of a person."""

    def set_addresses(self, addresses: Mapping[str, str]) -> None:
        """Replace all e-mail addresses, by person."""

    def forget_address(self, person: str) -> None:
        """Remove the e-mail address of a person."""

    def keep_note(self, entry: Entry, words: str) -> None:
        """Keep what somebody wrote about a case."""

    def erase_case(self, case: str) -> None:
        """Remove the content of a case."""

    def first_entries(self, cases: Iterable[str]) -> dict[str, list[Entry]]:
        """Return what the log has of some cases, from the beginning."""

    def history(self, case: str) -> list[Entry]:
        """Return all entries about a case that are in the log."""

    def open_questions(
        self, *, due_before: float | None = None, person: str | None = None, people: Iterable[str] | None = None
    ) -> list[str]:
        """Return the cases whose question is due, or is with somebody; at most a thousand, the oldest first."""

    def request(self, key: str) -> Request | None:
        """Return the request of an idempotency key, if it was done before."""

    def keep_request(self, key: str, digest: str, cases: Sequence[str]) -> None:
        """Remember that a request is done."""
