"""Language models as experts: what is asked of them, what they say, and the calls that are due."""

import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from sqlalchemy import Connection

from defero.data.tables.cells import text_of
from defero.service.events import Label, Row
from defero.service.flow.command import Command
from defero.service.flow.connections import BeginCall, CallResult, EndCall, FailCall, GiveBack, deadline_of
from defero.service.outward.requesting import Send, send
from defero.service.store.contents import SqlDesk, read_contents
from defero.service.store.database import Database
from defero.service.store.saved_views import open_ledger, read_cases, read_language_models
from defero.service.views.cases import CaseState
from defero.service.views.connections import CalledModel

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds until a call that failed is tried again; twice as long after each further failure of the question."""
_AGAIN = frozenset({0, 408, 425, 429, *range(500, 600)})
_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]+)\}|[{}]")
_MOST_SHOWN = 80


class PromptError(ValueError):
    """A template that cannot be filled; the message says why."""


def fill(template: str, cells: Mapping[str, Any]) -> str:
    """Return a template with the cells of a case in place of {column}; "{{" and "}}" stand for braces.

    Nothing else is looked at: no attributes, no formats, and no braces in the cells themselves.

    >>> fill("{age} years, {{as told}}: {note}", {"age": 41, "note": "pain in {arm}"})
    '41 years, {as told}: pain in {arm}'
    """

    def place(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            if match[0] in "{}":
                raise PromptError(f'a single "{match[0]}" in the prompt; write {2 * match[0]} for a brace.')
            return match[0][0]
        if name not in cells:
            raise PromptError(f"the case has no column {name!r}.")
        return _text(cells[name])

    return _PLACE.sub(place, template)


def names_in(template: str) -> list[str]:
    """Return the columns that a template names; raises `PromptError` where its braces are wrong.

    >>> names_in("{age} {site} {age}")
    ['age', 'site']
    """
    names = dict.fromkeys(match[1] for match in _PLACE.finditer(template) if match[1] is not None)
    fill(template, names)
    return list(names)


def cells_of(row: Row) -> Mapping[str, Any]:
    """Return the cells of a case by column; x0, x1, ... where it has no names."""
    return row if isinstance(row, Mapping) else {f"x{place}": value for place, value in enumerate(row)}


def lines_of(cells: Mapping[str, Any]) -> str:
    """Return the cells of a case as text, one in a line; pictures (data URLs) are left out.

    >>> lines_of({"age": 41, "scan": "data:image/png;base64,AAAA", "note": "pain"}).split(chr(10))
    ['age: 41', 'note: pain']
    """
    shown = {name: cell for name, cell in cells.items() if not str(cell).startswith("data:")}
    return "\n".join(f"{name}: {_text(cell)}" for name, cell in shown.items())


def prompt_of(model: CalledModel, row: Row, classes: Sequence[Label]) -> str:
    """Return what the language model is asked.

    >>> model = CalledModel(person="p1", url="https://a.example/v1", model="m", prompt="Note: {note}")
    >>> print(prompt_of(model, {"note": "pain", "age": 41}, ["ill", "well"]))
    Note: pain
    <BLANKLINE>
    Answer with exactly one of these and nothing else:
    ill
    well
    """
    cells = cells_of(row)
    case = fill(model.prompt, cells) if model.prompt else lines_of(cells)
    return "\n".join([case, "", "Answer with exactly one of these and nothing else:", *map(_text, classes)])


def request_of(model: CalledModel, row: Row, classes: Sequence[Label]) -> bytes:
    """Return the body of the request."""
    message = {"role": "user", "content": prompt_of(model, row, classes)}
    return json.dumps({**model.options, "model": model.model, "messages": [message]}).encode()


def read_reply(body: bytes, classes: Sequence[Label]) -> tuple[Label | None, str, int | None, int | None]:
    """Return the class, why there is none, and the tokens that went in and came out.

    The answer must be a class and nothing else, with blanks around it at most: whatever a case may talk a language
    model into, it can only name a class.

    >>> reply = {"choices": [{"message": {"content": " ill"}}], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    >>> read_reply(json.dumps(reply).encode(), ["ill", "well"])
    ('ill', '', 9, 1)
    >>> read_reply(b'{"choices": [{"message": {"content": "ill or well"}}]}', ["ill", "well"])[1]
    "the language model's answer is no class: 'ill or well'"
    """
    try:
        reply = json.loads(body)
        content = reply["choices"][0]["message"]["content"]
        usage = reply.get("usage") or {}
        tokens_in, tokens_out = (_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None, "the language model's reply is no chat completion", None, None
    if isinstance(content, str):
        by_text = {_text(label): label for label in classes}
        if content.strip() in by_text:
            return by_text[content.strip()], "", tokens_in, tokens_out
    shown = repr(content)
    shown = shown if len(shown) <= _MOST_SHOWN else shown[:_MOST_SHOWN] + "..."
    return None, f"the language model's answer is no class: {shown}", tokens_in, tokens_out


def heard_of(model: CalledModel, body: bytes, classes: Sequence[Label], *, seconds: float) -> CallResult:
    """Return what a reply brought, with its price."""
    answer, why, tokens_in, tokens_out = read_reply(body, classes)
    return CallResult(answer, why, round(seconds, 3), model.price(tokens_in, tokens_out), tokens_in, tokens_out)


def retry_at(status: int, headers: Mapping[str, str], *, attempt: int, now: float) -> float | None:
    """Return when a call that failed is tried again: not before `Retry-After`; None where that is of no use.

    >>> retry_at(503, {}, attempt=3, now=100.0), retry_at(429, {"retry-after": "7"}, attempt=1, now=100.0)
    (104.0, 107.0)
    >>> retry_at(401, {}, attempt=1, now=100.0) is None
    True
    """
    if status not in _AGAIN:
        return None
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(attempt - 1, 20))
    return max(now + wait, _asked_for(headers.get("retry-after", ""), now))


def _asked_for(value: str, now: float) -> float:
    """Return the time that a header `Retry-After` names, in seconds or as a date."""
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", value.strip()):
        return now + float(value)
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return now
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else text_of(value)  # "007" is a code, not a number


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
    model: CalledModel
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
