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

from sqlalchemy.exc import DBAPIError, OperationalError

from defero.service import InDoubt, Problem
from defero.service.flow.command import Command, Round, do_all
from defero.service.flow.team import Shelf, WorkingTeam
from defero.service.store import log
from defero.service.store.contents import SqlDesk
from defero.service.store.database import Database
from defero.service.store.saved_views import open_ledger, save_ledger
from defero.service.views import Ledger

MOST_COMMANDS = 64
"""Of one commit; more would make the first wait too long."""
MOST_CASES = 2_000
"""Cases of one commit."""
_STOP = object()

Job = tuple[Command, "Future[Any]"]


class Writer:
    """Commits commands in groups.

    Parameters
    ----------
    database : Database
    team : WorkingTeam
        Who decides; replaced as a whole when another model takes over.
    clock : callable
        Gives the time in seconds since 1970.

    Attributes
    ----------
    waiting_cases : int
        Of the commands that wait: what they hold in memory.
    """

    def __init__(
        self,
        database: Database,
        team: WorkingTeam,
        *,
        shelf: Shelf | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.database, self.team, self.clock = database, team, clock
        self.shelf = Shelf() if shelf is None else shelf
        self.shelf.keep(team)
        self.commits, self.commands = 0, 0
        self._views: Ledger | None = None
        self._names: dict[str, str] = {}
        self._jobs: queue.Queue[Any] = queue.Queue()
        self._thread: threading.Thread | None = None
        self.waiting_cases = 0
        self._counting = threading.Lock()

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
        with self._counting:
            self.waiting_cases += n_cases_of(command)
        self._jobs.put((command, future))
        return future

    @property
    def waiting(self) -> int:
        """How many commands wait."""
        return self._jobs.qsize()

    @property
    def working(self) -> bool:
        """Whether commands are done; a server whose writer died must not be sent any."""
        return self._thread is not None and self._thread.is_alive()

    def do(self, commands: Sequence[Command]) -> list[Any]:
        """Do commands in one transaction, and commit it; each gives its reply or a `Problem`."""
        now = self.clock()
        keys = [key for one in commands if (key := getattr(one, "request", None)) is not None]
        before, self._views = self._views, None  # a transaction that fails leaves nothing to go on from
        ledger: Ledger | None = None
        try:
            with self.database.write() as connection:
                cases = [case for one in commands for case in one.cases]
                opened = open_ledger(connection, now=now, cases=cases, before=before)
                same = before is not None and opened.people is before.people  # nobody wrote in between
                desk = SqlDesk(connection, now=now, keys=keys, names=self._names if same else None)
                results = do_all(Round(opened, desk, *self._teams(opened)), commands)
                save_ledger(connection, opened)
                desk.flush()
                names, ledger = desk.names(), opened
        except DBAPIError:
            if ledger is None or not self._is_written(ledger):  # it failed before the commit, or with it
                raise
        self._views, self._names = ledger.following(now), names
        self.commits += 1
        self.commands += len(commands)
        return results

    def _is_written(self, ledger: Ledger) -> bool:
        """Whether a commit holds whose reply got lost; what is done already must not be done again.

        The lock of a writing transaction waits for the end of the commit, should it still be under way.
        """
        if not ledger.entries:
            return False
        last = ledger.entries[-1]
        try:
            with self.database.write() as connection:
                entries = list(log.read_log(connection, after=last.seq - 1, limit=1))
        except DBAPIError as error:
            raise InDoubt from error
        return bool(entries) and (entries[0].seq, entries[0].at, entries[0].body()) == (last.seq, last.at, last.body())

    def _teams(self, ledger: Ledger) -> tuple[WorkingTeam, WorkingTeam | None]:
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
            with self._counting:
                self.waiting_cases -= sum(n_cases_of(command) for command, _ in jobs)
            # Whoever hung up before we began gets nothing done; from here on nobody can.
            self._settle([job for job in jobs if job[1].set_running_or_notify_cancel()])
            if stop:
                return

    def _gather(self, first: Job) -> tuple[list[Job], bool]:
        """Return the first job and those that wait behind it, and whether to stop after them."""
        jobs, n_cases = [first], n_cases_of(first[0])
        while len(jobs) < MOST_COMMANDS and n_cases < MOST_CASES:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is _STOP:
                return jobs, True
            jobs.append(job)
            n_cases += n_cases_of(job[0])
        return jobs, False

    def _settle(self, jobs: Sequence[Job]) -> None:
        if not jobs:
            return
        try:
            results = self.do([command for command, _ in jobs])
        except (OperationalError, InDoubt) as error:  # of the database: each of them alone would wait as long
            for _, future in jobs:
                future.set_exception(error)
            return
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


def n_cases_of(command: Command) -> int:
    """Return how many cases a command brings or is about."""
    return max(len(getattr(command, "rows", ())), len(command.cases))
