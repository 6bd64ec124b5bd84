"""Writer: the one thread of a process that changes the database; requests that wait are committed together.

A commit that reaches the disk takes milliseconds, whether it holds one request or a hundred. So requests queue while
one is being made, and the next holds all of them. A reply is given only after the commit of its request.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from defero.service.flow.command import Command, Round, do_all
from defero.service.flow.models import Shelf
from defero.service.flow.team import Team
from defero.service.problems import Problem
from defero.service.store.database import Database
from defero.service.store.saved_views import open_ledger, save_ledger
from defero.service.store.sql_desk import SqlDesk
from defero.service.views.ledger import Ledger

MOST_COMMANDS = 64
"""Of one commit; more would make the first wait too long."""
MOST_CASES = 2_000
"""New cases of one commit."""
_STOP = object()

Job = tuple[Command, "Future[Any]"]


class Writer:
    """Commits commands in groups.

    Parameters
    ----------
    database : Database
    team : Team
        Who decides; replaced as a whole when another model takes over.
    clock : callable
        Gives the time in seconds since 1970.
    """

    def __init__(
        self, database: Database, team: Team, *, shelf: Shelf | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.database, self.team, self.clock = database, team, clock
        self.shelf = Shelf() if shelf is None else shelf
        self.shelf.keep(team)
        self.commits, self.commands = 0, 0
        self._views: Ledger | None = None
        self._names: dict[str, str] = {}
        self._jobs: queue.Queue[Any] = queue.Queue()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to work."""
        self._thread = threading.Thread(target=self._run, name="defero-writer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish what waits, then stop."""
        if self._thread is not None:
            self._jobs.put(_STOP)
            self._thread.join()
            self._thread = None

    def submit(self, command: Command) -> "Future[Any]":
        """Queue a command; its future has the reply once it is on disk."""
        future: Future[Any] = Future()
        self._jobs.put((command, future))
        return future

    @property
    def waiting(self) -> int:
        """How many commands wait."""
        return self._jobs.qsize()

    def do(self, commands: Sequence[Command]) -> list[Any]:
        """Do commands in one transaction, and commit it; each gives its reply or a `Problem`."""
        now = self.clock()
        keys = [key for one in commands if (key := getattr(one, "request", None)) is not None]
        before, self._views = self._views, None  # a transaction that fails leaves nothing to go on from
        with self.database.write() as connection:
            cases = [case for one in commands for case in one.cases]
            ledger = open_ledger(connection, now=now, cases=cases, before=before)
            same = before is not None and ledger.people is before.people  # nobody wrote in between
            desk = SqlDesk(connection, now=now, keys=keys, names=self._names if same else None)
            results = do_all(Round(ledger, desk, *self._teams(ledger)), commands)
            save_ledger(connection, ledger)
            desk.flush()
            names = desk.names()
        self._views, self._names = ledger.following(now), names
        self.commits += 1
        self.commands += len(commands)
        return results

    def _teams(self, ledger: Ledger) -> tuple[Team, Team | None]:
        """Return who decides by the log, and the model beside it where it is on this machine."""
        if ledger.model is not None and ledger.model.version != self.team.version:
            self.team = self.shelf.team(ledger.model)
        if ledger.candidate is None:
            return self.team, None
        try:
            return self.team, self.shelf.team(ledger.candidate)
        except Problem:
            return self.team, None

    def _run(self) -> None:
        while True:
            first = self._jobs.get()
            if first is _STOP:
                return
            jobs, stop = self._gather(first)
            # Whoever hung up before we began gets nothing done; from here on nobody can.
            self._settle([job for job in jobs if job[1].set_running_or_notify_cancel()])
            if stop:
                return

    def _gather(self, first: Job) -> tuple[list[Job], bool]:
        """Return the first job and those that wait behind it, and whether to stop after them."""
        jobs, n_cases = [first], len(getattr(first[0], "rows", ()))
        while len(jobs) < MOST_COMMANDS and n_cases < MOST_CASES:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is _STOP:
                return jobs, True
            jobs.append(job)
            n_cases += len(getattr(job[0], "rows", ()))
        return jobs, False

    def _settle(self, jobs: Sequence[Job]) -> None:
        if not jobs:
            return
        try:
            results = self.do([command for command, _ in jobs])
        except Exception as error:  # the transaction is rolled back: nobody's request was done
            if len(jobs) > 1:  # it may be one of them: each gets a transaction of its own
                for command, future in jobs:
                    self._settle([(command, future)])
                return
            jobs[0][1].set_exception(error)
            return
        for (_, future), result in zip(jobs, results, strict=True):
            if isinstance(result, Problem):
                future.set_exception(result)
            else:
                future.set_result(result)
