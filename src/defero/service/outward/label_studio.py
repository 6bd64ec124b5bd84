"""Desk in Label Studio: questions of some experts stand there as tasks, and annotations come back as answers.

What stands in the project is compared with what should: nothing else is remembered, so that a lost message, a kill
or a task that somebody removed by hand mends itself at the next look. A task goes once its question is no longer open.
"""

import os
import queue
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from defero.service import Problem
from defero.service.events import StudioFailed, StudioReached, StudioReady
from defero.service.flow.cases import GiveAnswer, Skip
from defero.service.flow.command import Command
from defero.service.flow.connections import RecordEvent
from defero.service.outward.requesting import Send, send
from defero.service.outward.studio_api import (
    EXPERT,
    Annotation,
    Question,
    StudioApi,
    StudioError,
    annotation_url,
    annotations_of,
    label_config,
    question_of,
    task_data,
)
from defero.service.store.contents import SqlDesk, read_addresses, read_contents, read_names, read_secret
from defero.service.store.database import Database, Turn
from defero.service.store.saved_views import open_ledger, read_studio
from defero.service.views.connections import Studio

BY = "label_studio"
"""Who sent an answer, in the log."""
SECRET = "label_studio"
"""Name of the secret that Label Studio sends with what it tells."""
SECRET_HEADER = "Defero-Secret"
FIRST_WAIT, LONGEST_WAIT = 2.0, 600.0
"""Seconds until Label Studio is tried again; twice as long after each further failure."""
_TURN = 0x6465666572_70
_AT_ONCE = 100


class StudioDesk:
    """Keeps the project of Label Studio as it should be.

    Parameters
    ----------
    database : Database
    do : callable
        Does a command and returns its reply once it is on disk.
    hints : queue
        Numbers of tasks that Label Studio told of.
    clock : callable
    send : callable
        Makes requests.
    environ : mapping
        Where tokens are.
    """

    def __init__(
        self,
        database: Database,
        do: Callable[[Command], Any],
        hints: "queue.Queue[int]",
        *,
        clock: Callable[[], float],
        send: Send = send,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.database, self.do, self.hints, self.clock = database, do, hints, clock
        self.send, self.environ = send, environ
        self._turn = Turn(database, _TURN)
        self._api: tuple[Studio | None, StudioApi] | None = None
        self._tasks: dict[Question, int] | None = None
        self._emails: dict[int, str] | None = None
        self._look_at = 0.0

    def step(self) -> None:
        """Do what is to be done now; where Label Studio does not reply, later."""
        with self.database.read() as connection:
            studio = read_studio(connection)
        if studio is None:
            self._tasks = None
            self._turn.give_back()
            return
        now = self.clock()
        if now < studio.retry_at <= now + LONGEST_WAIT:  # one further ahead is that of a clock that was wrong
            return
        try:
            if self._work(studio) and studio.failures:
                self.do(RecordEvent(StudioReached(link=studio.link)))
        except (StudioError, LookupError, TypeError, ValueError) as error:  # refused, or not the JSON of Label Studio
            self._tasks = None
            status = error.status if isinstance(error, StudioError) else 0
            wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(studio.failures, 20))
            self.do(RecordEvent(StudioFailed(link=studio.link, status=status, retry_at=self.clock() + wait)))

    def close(self) -> None:
        """Let another process go on."""
        self._turn.give_back()

    def _work(self, studio: Studio) -> bool:
        """Do what waits; return whether Label Studio was asked for anything."""
        api, requested = self._api_of(studio), False
        for number in self._hinted():
            self._emails = None  # somebody may have joined
            task, requested = api.task(number), True
            if task is not None:
                self._take(studio, api, task)
        if not self._turn.held():
            self._tasks = None
            return requested
        if not studio.ready or studio.project is None:
            self._set_up(studio, api)
            return True
        now = self.clock()
        if self._tasks is None or not now < self._look_at <= now + studio.poll:
            self._look(studio, studio.project, api)
            requested = True
        return self._even_out(studio, studio.project, api) or requested

    def _api_of(self, studio: Studio) -> StudioApi:
        token = self.environ.get(studio.key_variable, "") if studio.key_variable else ""
        if not token:
            raise StudioError(401)
        if self._api is None or (self._api[1].url, self._api[1].token) != (studio.url.rstrip("/"), token):
            self._api = (studio, StudioApi(studio.url, token, clock=self.clock, send=self.send))
            self._tasks = None
        return self._api[1]

    def _hinted(self) -> Iterable[int]:
        """Yield the numbers of tasks that Label Studio told of, each once."""
        numbers: dict[int, None] = {}
        while True:
            try:
                numbers[self.hints.get_nowait()] = None
            except queue.Empty:
                return numbers

    def _set_up(self, studio: Studio, api: StudioApi) -> None:
        """Find or make the project, a tab for each expert, and the webhook; all of it can be done again."""
        with self.database.read() as connection:
            model, names = open_ledger(connection, now=self.clock()).model, read_names(connection)
            secret = read_secret(connection, SECRET)
        project = studio.project
        if project is None:
            project = api.find_project(studio.title)
        else:
            api.check_project(project)
        if project is None:
            classes = () if model is None else model.classes
            project = api.add_project(studio.title, label_config(classes, studio.control))
        tabs = api.tabs(project)
        for name in [names.get(person, person) for person in studio.people]:
            if name not in tabs:
                api.add_tab(project, name, EXPERT, name)
        webhook = bool(studio.callback) and secret is not None
        if webhook and secret is not None:
            try:
                api.set_webhook(project, annotation_url(studio.callback), {SECRET_HEADER: secret.decode()})
            except StudioError as error:
                if error.status not in (400, 403):  # Label Studio does not call such addresses: it is asked instead
                    raise
                webhook = False
        self.do(RecordEvent(StudioReady(link=studio.link, project=project, webhook=webhook)))

    def _look(self, studio: Studio, project: int, api: StudioApi) -> None:
        """Look at the whole project: take annotations, remember which question has which task."""
        self._emails = None
        tasks: dict[Question, int] = {}
        doubled: list[int] = []
        for task in api.tasks(project):
            question = question_of(task, studio.link)
            if question is None:
                continue
            self._take(studio, api, task)
            if question in tasks:  # a kill between adding a task and remembering it
                doubled.append(int(task["id"]))
            else:
                tasks[question] = int(task["id"])
        for number in doubled:  # after the last page: pages would move
            api.delete_task(number)
        self._tasks, self._look_at = tasks, self.clock() + studio.poll

    def _even_out(self, studio: Studio, project: int, api: StudioApi) -> bool:
        """Add the tasks of new questions, and remove those of questions that are no longer open."""
        assert self._tasks is not None
        with self.database.read() as connection:
            desk = SqlDesk(connection, now=self.clock())
            wanted = [(case, person) for person in studio.people for case in desk.open_questions(person=person)]
            missing = [question for question in wanted if question not in self._tasks][:_AT_ONCE]
            contents = read_contents(connection, [case for case, _ in missing])
            names = read_names(connection) if missing else {}
        for question in sorted(set(self._tasks) - set(wanted)):
            self._remove(studio, api, question)
        new = [question for question in missing if question[0] in contents]
        if new:
            data = [
                task_data(one, contents[one[0]][1], link=studio.link, name=names.get(one[1], one[1])) for one in new
            ]
            self._tasks.update(zip(new, api.add_tasks(project, data), strict=True))
        return bool(new)

    def _remove(self, studio: Studio, api: StudioApi, question: Question) -> None:
        """Remove a task; an annotation that came in the last moment is kept as an answer."""
        assert self._tasks is not None
        number = self._tasks[question]
        task = api.task(number)
        if task is not None:
            self._take(studio, api, task)
            api.delete_task(number)
        del self._tasks[question]

    def _take(self, studio: Studio, api: StudioApi, task: Mapping[str, Any]) -> None:
        """Take the annotations of a task; those that were taken before change nothing."""
        question = question_of(task, studio.link)
        made = annotations_of(task, studio.control) if question is not None else []
        if question is None or not made:
            return
        with self.database.read() as connection:
            people = {email: person for person, email in read_addresses(connection).items()}
        for one in made:
            person = people.get(self._email(api, one.author))
            if person is None and studio.unknown == "assigned":
                person = question[1]
            if person is not None:
                self._give(question[0], person, one)

    def _give(self, case: str, person: str, annotation: Annotation) -> None:
        """Hand in an answer, or a question given back; what is settled or answered already stays as it is."""
        try:
            if not annotation.skipped and annotation.choice is not None:
                self.do(GiveAnswer(case, person, annotation.choice, BY))
                return
        except Problem as problem:
            if "classes" not in problem.more:
                return
        why = "skipped in Label Studio" if annotation.skipped else "the annotation in Label Studio has no class"
        try:
            self.do(Skip(case, person, BY, why))
        except Problem:
            return

    def _email(self, api: StudioApi, author: int) -> str:
        """Return the address of an account; all of them are asked for once a look, an unknown one is nobody's."""
        if self._emails is None:
            self._emails = api.emails()
        return self._emails.get(author, "")
