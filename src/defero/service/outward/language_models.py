"""Callers: the questions of experts that are language models are sent to their servers, a few at once.

A question is taken in the log before its call (`BeginCall`), so that no two processes call for it. Whatever is killed
between the call and its record is called again once the lease has ended; the answer and the price that are recorded
are those of one call.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from defero.service.events import Label
from defero.service.flow.command import Command
from defero.service.flow.connections import BeginCall, EndCall, FailCall, GiveBack, deadline_of
from defero.service.flow.team import Row
from defero.service.outward.chat import PromptError, heard_of, request_of, retry_at
from defero.service.outward.requesting import Send, send
from defero.service.store.contents import read_contents
from defero.service.store.database import Database
from defero.service.store.saved_views import open_ledger, read_cases, read_language_models
from defero.service.store.sql_desk import SqlDesk
from defero.service.views.cases import CaseState
from defero.service.views.connections import LanguageModel

MOST_AT_ONCE = 8
"""Calls of one process."""
LAST_SECONDS = 5.0
"""How long a process that stops waits for its calls."""
_LOOKED_AT = 4 * MOST_AT_ONCE
_LOG = logging.getLogger("defero.service")


@dataclass(frozen=True)
class Call:
    """A question that this process has taken."""

    case: str
    attempt: int
    model: LanguageModel
    row: Row
    classes: tuple[Label, ...]
    deadline: float


class Callers:
    """Calls language models for the questions that wait for them.

    Parameters
    ----------
    database : Database
    do : callable
        Does a command and returns its reply once it is on disk.
    clock : callable
    send : callable
        Makes the request.
    environ : mapping
        Where API keys are.
    """

    def __init__(
        self,
        database: Database,
        do: Callable[[Command], Any],
        *,
        clock: Callable[[], float],
        send: Send = send,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.database, self.do, self.clock, self.send, self.environ = database, do, clock, send, environ
        self._running: set[threading.Thread] = set()
        self._later: dict[str, float] = {}
        self._closed = False

    def step(self) -> None:
        """Begin the calls for which there is room; each has a thread of its own."""
        self._running = {thread for thread in self._running if thread.is_alive()}
        for call in self.take(MOST_AT_ONCE - len(self._running)):
            thread = threading.Thread(target=self._serve, args=(call,), name="defero-call", daemon=True)
            self._running.add(thread)
            thread.start()

    def close(self) -> None:
        """Wait a little for calls that are under way; those that take longer are made again after the lease."""
        end = time.monotonic() + LAST_SECONDS
        for thread in self._running:
            thread.join(max(0.0, end - time.monotonic()))
        self._closed = True

    def take(self, most: int) -> list[Call]:
        """Take questions that wait, at most some; those whose time is over are given back."""
        if most <= 0:
            return []
        now = self.clock()
        with self.database.read() as connection:
            models = read_language_models(connection)
            waiting = {person: self._waiting(connection, person, now) for person in models}
            if not any(waiting.values()):
                return []
            classes = _classes(connection, now)
            contents = read_contents(connection, [one.case for states in waiting.values() for one in states])
        taken: list[Call] = []
        for person, states in waiting.items():
            model = models[person]
            for state in states:
                if state.case not in contents:  # erased: it is settled by the same commit
                    continue
                end = deadline_of(state, model)
                if now >= end:
                    self.do(GiveBack(state.case, person))
                    continue
                if len(taken) == most:
                    break
                attempt = self.do(BeginCall(state.case, person)) if model.may_call(now) else None
                if attempt is None:
                    break
                if not attempt:
                    continue
                row = contents[state.case][1]
                taken.append(Call(state.case, attempt, model, row, model.classes or classes, end))
        return taken

    def _waiting(self, connection: Connection, person: str, now: float) -> list[CaseState]:
        """Return the questions of a language model that can be called for now, the oldest first."""
        everything = SqlDesk(connection, now=now).open_questions(person=person)
        cases = [case for case in everything if self._later.get(case, 0.0) <= now][:_LOOKED_AT]
        states = read_cases(connection, cases)
        self._later = {case: at for case, at in self._later.items() if at > now}
        self._later |= {case: one.call_at for case, one in states.items() if one.call_at and one.call_at > now}
        return [states[case] for case in cases if case in states and case not in self._later]

    def _serve(self, call: Call) -> None:
        try:
            self.serve(call)
        except Exception as error:  # the lease ends, and the question is taken again
            _LOG.error("a call of a language model could not be recorded: %s", type(error).__name__)

    def serve(self, call: Call) -> None:
        """Call the language model, and record what came of it."""
        model, case, person = call.model, call.case, call.model.person
        key = self.environ.get(model.key_variable) if model.key_variable else None
        if model.key_variable and not key:
            self._fail(call, 0, {}, f"{model.key_variable} is not set where the service runs")
            return
        try:
            body = request_of(model, call.row, call.classes)
        except PromptError as error:
            self.do(FailCall(case, person, call.attempt, 0, None, str(error)))
            return
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        seconds, start = min(model.timeout, call.deadline - self.clock()), time.monotonic()
        reply = self.send("POST", f"{model.url.rstrip('/')}/chat/completions", body, headers, seconds)
        if self._closed:
            return
        if not reply.ok:
            what = "no reply in time" if reply.status == 0 else f"HTTP status {reply.status}"
            self._fail(call, reply.status, reply.headers, f"the language model could not be reached: {what}")
            return
        result = heard_of(model, reply.body, call.classes, seconds=time.monotonic() - start)
        self.do(EndCall(case, person, call.attempt, result))

    def _fail(self, call: Call, status: int, headers: Mapping[str, str], why: str) -> None:
        again = retry_at(status, headers, attempt=call.attempt, now=self.clock())
        self.do(FailCall(call.case, call.model.person, call.attempt, status, again, why))


def _classes(connection: Connection, now: float) -> tuple[Label, ...]:
    """Return the classes of the model that decides."""
    model = open_ledger(connection, now=now).model
    return () if model is None else model.classes
