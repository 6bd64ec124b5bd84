"""Office: a running service without HTTP: database, writer, tokens, limits, and the clock of due questions."""

import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from defero.data.recipes.text_encoder import Encoder
from defero.service.access.roles import RateLimit
from defero.service.access.tokens import TokenBook, forget_tokens, issue_link, issue_token, signing_key
from defero.service.flow.answers import Expire, gone_of
from defero.service.flow.command import Command, Round
from defero.service.flow.people import AddPerson
from defero.service.flow.team import WorkingTeam, load_team
from defero.service.flow.terms import Shelf, with_people
from defero.service.outward.label_studio import StudioDesk
from defero.service.outward.language_models import Callers
from defero.service.outward.webhooks import Courier
from defero.service.store.contents import read_names
from defero.service.store.database import Database, migrate
from defero.service.store.log import read_log
from defero.service.store.saved_views import open_ledger, read_people, save_ledger
from defero.service.store.sql_desk import SqlDesk, forget_requests
from defero.service.store.writer import Writer

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
        with self.database.read() as connection:
            people, names = read_people(connection), read_names(connection)
        leads = [person for person, one in people.items() if one.role == "lead" and not one.removed]
        if not leads:
            taken = set(names.values())
            free = LEAD if LEAD not in taken else next(f"{LEAD} {n}" for n in count(2) if f"{LEAD} {n}" not in taken)
            leads = [self.do(AddPerson(free, "lead", SYSTEM))["person"]]
        return leads[0]

    def person_named(self, name: str) -> str | None:
        """Return the id of a person by name or id."""
        with self.database.read() as connection:
            people, names = read_people(connection), read_names(connection)
        if name in people:
            return name
        return next((person for person, known in names.items() if known == name and person in people), None)

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
