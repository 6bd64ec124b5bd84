"""Office: a running service without HTTP: database, writer, tokens, limits, and the clock of due questions.

People are also added, linked and revoked from the command line, beside a running service, on its database.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from defero.core.errors import InputError
from defero.core.wording import did_you_mean
from defero.data.recipes.text_encoder import Encoder
from defero.service.access import (
    RateLimit,
    TokenBook,
    forget_tokens,
    issue_link,
    issue_token,
    revoke_tokens,
    signing_key,
    valid_tokens,
)
from defero.service.events import PersonChanged
from defero.service.flow.cases import Expire, gone_of
from defero.service.flow.command import Command, Round
from defero.service.flow.settings import AddPerson, with_people
from defero.service.flow.team import Shelf, WorkingTeam, load_team
from defero.service.flow.writer import Writer
from defero.service.outward.label_studio import StudioDesk
from defero.service.outward.language_models import Callers
from defero.service.outward.requesting import Courier
from defero.service.store.contents import SqlDesk, forget_requests, read_names, write_names
from defero.service.store.database import Database, database_url, migrate
from defero.service.store.log import read_log
from defero.service.store.saved_views import open_ledger, read_people, save_ledger
from defero.service.views import Ledger
from defero.service.views.policy import ROLES

LEAD = "lead"
"""Name of the lead who is there from the beginning."""
SYSTEM = "system"
"""Who did it, where no person did."""
_MOST_HINTS = 10_000
_TICK, _SHORT_TICK, _LONG_TICK = 1.0, 0.25, 600.0
_LOG = logging.getLogger("defero.service")


@dataclass(eq=False)
class Office:
    """A running service.

    Attributes
    ----------
    database : Database
    writer : Writer
    tokens : TokenBook
    rates : RateLimit
    key : bytes
        Signs links and sessions.
    clock : callable
    hints : queue
        Numbers of tasks that Label Studio told of.
    """

    database: Database
    writer: Writer
    tokens: TokenBook
    rates: RateLimit
    key: bytes
    clock: Callable[[], float] = time.time
    hints: "queue.Queue[int]" = field(default_factory=lambda: queue.Queue(_MOST_HINTS))
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    @classmethod
    def open(cls, model: Path, database: str, *, models: Path | None = None, text_encoder: Encoder = None) -> "Office":
        """Load a model folder and open a database, which is created or brought up to date.

        Further models can be loaded from the folder `models`.
        """
        shelf = Shelf(models, text_encoder)
        return cls.of_team(load_team(model, text_encoder=text_encoder), database, shelf=shelf)

    @classmethod
    def of_team(
        cls,
        team: WorkingTeam,
        database: str,
        *,
        clock: Callable[[], float] = time.time,
        rates: RateLimit | None = None,
        shelf: Shelf | None = None,
    ) -> "Office":
        """Open a database for a team that is loaded already."""
        where = Database.connect(database)
        migrate(where)
        with where.write() as connection:
            key = signing_key(connection)
            shelf = shelf or Shelf()
            team = _registered(connection, team, shelf, now=clock())
        writer, tokens = Writer(where, team, shelf=shelf, clock=clock), TokenBook(where, clock=clock)
        return cls(where, writer, tokens, rates or RateLimit(), key, clock)

    @property
    def shelf(self) -> Shelf:
        """The models that are loaded."""
        return self.writer.shelf

    @property
    def team(self) -> WorkingTeam:
        """Who decides."""
        return self.writer.team

    def start(self) -> None:
        """Begin to commit, to take back questions that are due, and to work with others; once is enough."""
        if self._threads:
            return
        self.writer.start()
        self._stop.clear()
        courier = Courier(self.database, self.do, clock=self.clock, stopped=self._stop.is_set)
        callers = Callers(self.database, self.do, clock=self.clock)
        studio = StudioDesk(self.database, self.do, self.hints, clock=self.clock)
        self._repeat("due", self.take_back_due, "questions that are due could not be taken back")
        self._repeat("tidy", self.tidy, "what is too old could not be removed", every=_LONG_TICK)
        self._repeat("webhooks", partial(self._deliver, courier), "webhooks could not be served", end=courier.close)
        self._repeat("calls", callers.step, "language models could not be called", every=_SHORT_TICK, end=callers.close)
        self._repeat("studio", studio.step, "Label Studio could not be served", end=studio.close)
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Finish what waits, and give back the database."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()
        self.writer.stop()
        self.database.close()

    def do(self, command: Command) -> Any:
        """Do one command now, from a thread that may wait."""
        return self.writer.submit(command).result()

    def lead_token(self, *, days: float) -> str:
        """Return a new token of the first lead, who is added where there is none."""
        lead = self.first_lead()
        with self.database.write() as connection:
            return issue_token(connection, lead, now=self.clock(), days=days)

    def lead_link(self, *, days: float) -> str:
        """Return the path of a new link of the first lead."""
        lead = self.first_lead()
        with self.database.write() as connection:
            return issue_link(connection, self.key, lead, now=self.clock(), days=days)

    def first_lead(self) -> str:
        """Return the id of the first lead, who is added where there is none."""
        ledger, names = self.views()
        leads = [person for person, one in ledger.people.items() if one.role == "lead" and not one.removed]
        if not leads:
            taken = set(names.values())
            free = LEAD if LEAD not in taken else next(f"{LEAD} {n}" for n in count(2) if f"{LEAD} {n}" not in taken)
            leads = [self.do(AddPerson(free, "lead", SYSTEM))["person"]]
        return leads[0]

    def views(self) -> tuple[Ledger, dict[str, str]]:
        """Return people, policy, model and connections as the log says now, and everybody's name by id."""
        with self.database.read() as connection:
            return open_ledger(connection, now=self.clock()), read_names(connection)

    def _repeat(
        self,
        name: str,
        step: Callable[[], object],
        failed: str,
        *,
        every: float = _TICK,
        end: Callable[[], object] | None = None,
    ) -> None:
        """Add a thread that takes a step again and again until the office closes."""

        def run() -> None:
            while not self._stop.wait(every):
                try:
                    step()
                except Exception as error:  # the database may be away for a while: the next step tries again
                    _LOG.error("%s: %s", failed, type(error).__name__)
            if end is not None:
                end()

        self._threads.append(threading.Thread(target=run, name=f"defero-{name}", daemon=True))

    def _deliver(self, courier: Courier) -> None:
        while courier.deliver() and not self._stop.is_set():
            pass

    def take_back_due(self) -> int:
        """Give questions that are due to somebody else; return how many there were."""
        with self.database.read() as connection:
            desk = SqlDesk(connection, now=self.clock())
            due = desk.open_questions(due_before=self.clock())
            due += desk.open_questions(people=gone_of(read_people(connection)))
        return int(self.do(Expire())) if due else 0

    def tidy(self) -> None:
        """Forget idempotency keys and tokens that are too old, some at a time, so that requests are written between."""
        more = True
        while more and not self._stop.is_set():
            with self.database.write() as connection:
                more = forget_requests(connection, now=self.clock()) > 0
        with self.database.write() as connection:
            forget_tokens(connection, now=self.clock())


def _registered(connection: Connection, team: WorkingTeam, shelf: Shelf, *, now: float) -> WorkingTeam:
    """Return the team with its people, recorded in the log where it is new.

    Where the lead has switched to a model of the folder of models since this one was new, that one goes on.
    """
    ledger, desk = open_ledger(connection, now=now), SqlDesk(connection, now=now)
    shelf.keep(team)
    before = {getattr(entry.fact, "version", None) for entry in read_log(connection, kinds=("model_changed",))}
    if ledger.model is not None and ledger.model.folder and team.version in before:
        return shelf.team(ledger.model)
    known = with_people(Round(ledger, desk, team), team, by=SYSTEM)
    save_ledger(connection, ledger)
    desk.flush()
    return known


@contextmanager
def _people_of(database: str, *, there: bool = True) -> Iterator[Connection]:
    """Open the database of a service, which may run; `there`: a misspelt name must not make an empty one."""
    url = database_url(database)
    file = url.database if url.get_backend_name() == "sqlite" else None
    if there and file is not None and not file.startswith("file:") and not Path(file).exists():
        raise InputError(f": there is no file {file}; `defero serve` prints where cases are kept.", argument="database")
    where = Database.connect(database)
    try:
        migrate(where)
        with where.write() as connection:
            yield connection
    finally:
        where.close()


def add_with_token(database: str, name: str, role: str, *, days: float, now: float) -> tuple[str, str]:
    """Return the id and a new token of a person, who is added if they are new."""
    if role not in ROLES:
        raise InputError(f"must be one of {', '.join(ROLES)}, got {role!r}.", argument="role")
    if not name.strip() or not name.isprintable() or len(name) > 200:
        raise InputError(f"must be a text of 1 to 200 printable characters, got {name!r:.40}.", argument="name")
    with _people_of(database, there=False) as connection:
        ledger, person = open_ledger(connection, now=now), _person(connection, name)
        if person is None:
            person = ledger.new_person()
            write_names(connection, {person: name})
            ledger.add(PersonChanged(person=person, change={"role": role}, by=SYSTEM))
            save_ledger(connection, ledger)
        elif ledger.people[person].role != role:
            raise InputError(f"{name} is {ledger.people[person].role} already; choose another name.", argument="name")
        elif ledger.people[person].removed:
            raise InputError(f"{name} left the team; choose another name.", argument="name")
        return person, issue_token(connection, person, now=now, days=days)


def link_of(database: str, person: str, *, days: float, now: float) -> str:
    """Return the path of a new link of a person, which opens their pages in a browser."""
    with _people_of(database) as connection:
        return issue_link(connection, signing_key(connection), person, now=now, days=days)


def people_with_tokens(database: str, *, now: float) -> list[dict[str, Any]]:
    """Return everybody, with the number of their valid tokens."""
    with _people_of(database) as connection:
        people, names, tokens = read_people(connection), read_names(connection), valid_tokens(connection, now=now)
    return [
        {**vars(one), "name": names.get(person, person), "tokens": len(tokens.get(person, ()))}
        for person, one in people.items()
    ]


def revoke_all(database: str, name: str, *, now: float) -> int:
    """Make every token of a person, by name or id, invalid; return how many there were."""
    with _people_of(database) as connection:
        person = _person(connection, name)
        if person is None:
            offer = did_you_mean(name, read_names(connection).values())
            raise InputError(f": there is nobody called {name!r}{offer}", argument="name")
        return revoke_tokens(connection, person, now=now)


def _person(connection: Connection, name: str) -> str | None:
    names = read_names(connection)
    return name if name in names else next((person for person, known in names.items() if known == name), None)
