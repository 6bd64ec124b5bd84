"""Label Studio: the few requests that are needed, by its HTTP API; questions as tasks, and answers from annotations."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from xml.sax.saxutils import quoteattr

from defero.data.tables.cells import text_of
from defero.service.events import Label, Row
from defero.service.outward.language_models import cells_of, lines_of
from defero.service.outward.requesting import Send, send

_SECONDS = 60.0
_PAGE = 256
_EARLY = 30.0
ACTIONS = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED")
"""What Label Studio tells of."""


class StudioError(Exception):
    """Label Studio refused a request.

    Attributes
    ----------
    status : int
        HTTP status; 0 where nobody replied, or not in JSON.
    too_long : bool
        The reply was longer than is read.
    """

    def __init__(self, status: int, *, too_long: bool = False) -> None:
        super().__init__(f"HTTP status {status}")
        self.status, self.too_long = status, too_long


class StudioApi:
    """Label Studio with the token of an account: one of the older kind, or a personal access token.

    Parameters
    ----------
    url, token : str
    clock : callable
    send : callable
        Makes the request.
    """

    def __init__(self, url: str, token: str, *, clock: Callable[[], float], send: Send = send) -> None:
        self.url, self.token, self.clock, self.send = url.rstrip("/"), token, clock, send
        self._access, self._access_until = "", 0.0

    def emails(self) -> dict[int, str]:
        """Return the address of every account in small letters, by its number."""
        return {one["id"]: str(one.get("email", "")).lower() for one in self._call("GET", "/api/users")}

    def find_project(self, title: str) -> int | None:
        """Return the project of a title, the oldest first."""
        page = self._call("GET", f"/api/projects?{urlencode({'title': title, 'page_size': 1000})}")
        numbers = sorted(one["id"] for one in page["results"] if one["title"] == title)
        return numbers[0] if numbers else None

    def check_project(self, project: int) -> None:
        """Raise `StudioError` where a project is not there."""
        self._call("GET", f"/api/projects/{project}")

    def add_project(self, title: str, label_config: str) -> int:
        """Make a project; return its number."""
        about = {"title": title, "label_config": label_config, "enable_empty_annotation": False}
        return int(self._call("POST", "/api/projects", about)["id"])

    def tabs(self, project: int) -> set[str]:
        """Return the titles of a project's tabs."""
        views = self._call("GET", f"/api/dm/views/?project={project}")
        return {str(one["data"].get("title")) for one in views}

    def add_tab(self, project: int, title: str, field: str, value: str) -> None:
        """Add a tab with the tasks that have a value in a field of their data."""
        one = {"filter": f"filter:tasks:data.{field}", "operator": "equal", "type": "String", "value": value}
        data = {"title": title, "filters": {"conjunction": "and", "items": [one]}}
        self._call("POST", f"/api/dm/views/?project={project}", {"project": project, "data": data})

    def set_webhook(self, project: int, url: str, headers: Mapping[str, str]) -> None:
        """Let Label Studio tell of annotations; a webhook to the same URL is replaced."""
        for one in self._call("GET", f"/api/webhooks/?project={project}"):
            if one["url"] == url:
                self._call("DELETE", f"/api/webhooks/{one['id']}/")
        about = {"url": url, "project": project, "headers": dict(headers), "actions": list(ACTIONS)}
        self._call("POST", "/api/webhooks/", {**about, "send_payload": True, "send_for_all_actions": False})

    def tasks(self, project: int) -> Iterator[dict[str, Any]]:
        """Yield every task of a project with its annotations, a page at a time; cases with pictures make it shorter."""
        n_seen, total, page, size = 0, 1, 1, _PAGE
        while n_seen < total:
            query = urlencode({"project": project, "fields": "all", "page_size": size, "page": page})
            try:
                reply = self._call("GET", f"/api/tasks?{query}")
            except StudioError as error:
                if error.status == 404 and page > 1:  # tasks were removed meanwhile
                    return
                if not error.too_long or size == 1:
                    raise
                page, size = 2 * page - 1, size // 2
                continue
            yield from reply["tasks"]
            n_seen += len(reply["tasks"])
            total, page = int(reply["total"]) if reply["tasks"] else 0, page + 1

    def task(self, number: int) -> dict[str, Any] | None:
        """Return one task with its annotations; None where it was removed."""
        try:
            task: dict[str, Any] = self._call("GET", f"/api/tasks/{number}")
        except StudioError as error:
            if error.status == 404:
                return None
            raise
        return task

    def add_tasks(self, project: int, data: Sequence[Mapping[str, Any]]) -> list[int]:
        """Add tasks; return their numbers."""
        query = f"/api/projects/{project}/import?return_task_ids=true"
        return [int(one) for one in self._call("POST", query, [{"data": one} for one in data])["task_ids"]]

    def delete_task(self, number: int) -> None:
        """Remove a task with its annotations; one that is gone already is no fault."""
        try:
            self._call("DELETE", f"/api/tasks/{number}/")
        except StudioError as error:
            if error.status != 404:
                raise

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": self._authorization(), "Content-Type": "application/json"}
        reply = self.send(method, self.url + path, content, headers, _SECONDS)
        if reply.status == 401:  # a token that holds by our clock may be over by theirs
            self._access_until = 0.0
        if not reply.ok:
            raise StudioError(reply.status, too_long=reply.too_long)
        return _json(reply.body) if reply.body else None

    def _authorization(self) -> str:
        """Return the header that names the account; a personal access token gives tokens that hold for minutes."""
        if self.token.count(".") != 2:
            return f"Token {self.token}"
        if self.clock() >= self._access_until:
            body = json.dumps({"refresh": self.token}).encode()
            headers = {"Content-Type": "application/json"}
            reply = self.send("POST", f"{self.url}/api/token/refresh/", body, headers, _SECONDS)
            if not reply.ok:
                raise StudioError(reply.status)
            self._access = str(_json(reply.body)["access"])
            self._access_until = _expires(self._access) - _EARLY
        return f"Bearer {self._access}"


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise StudioError(0) from error


def _expires(token: str) -> float:
    """Return until when a token holds; 0 where it does not say so."""
    try:
        part = token.split(".")[1]
        return float(json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))["exp"])
    except (ValueError, LookupError, TypeError):
        return 0.0


def annotation_url(callback: str) -> str:
    """Return where Label Studio tells of annotations."""
    return f"{callback.rstrip('/')}/v1/label-studio/annotations"


EXPERT, CASE, PERSON, LINK, TEXT = "defero_expert", "defero_case", "defero_person", "defero_link", "defero_text"
"""Members of a task's data that are ours."""

Question = tuple[str, str]
"""Case and person."""


@dataclass(frozen=True)
class Annotation:
    """What somebody did with a task.

    Attributes
    ----------
    author : int
        Number of the account.
    choice : str, optional
        What they chose; None where they chose nothing.
    skipped : bool
        They gave it back.
    """

    author: int
    choice: str | None
    skipped: bool


def label_config(classes: Sequence[Label], control: str) -> str:
    """Return the labelling interface of a new project: the case as text, one choice among the classes.

    >>> "ill &amp; well" in label_config(["ill & well"], "answer")
    True
    """
    choices = "".join(f"<Choice value={quoteattr(text_of(label))}/>" for label in classes)
    return (
        f'<View><Text name="case" value="${TEXT}"/>'
        f'<Choices name={quoteattr(control)} toName="case" choice="single" required="true">{choices}</Choices></View>'
    )


def task_data(question: Question, row: Row, *, link: str, name: str) -> dict[str, Any]:
    """Return the data of a task: the cells of the case by column, and for whom it is.

    >>> data = task_data(("c7", "p1"), {"age": 41, "scan": "data:image/png;base64,AAAA"}, link="s1", name="ann")
    >>> data["age"], data["defero_text"], data["defero_expert"]
    (41, 'age: 41', 'ann')
    """
    cells, (case, person) = cells_of(row), question
    return {**cells, CASE: case, PERSON: person, EXPERT: name, LINK: link, TEXT: lines_of(cells)}


def question_of(task: Mapping[str, Any], link: str) -> Question | None:
    """Return the question behind a task; None where it is not one of ours."""
    data = task.get("data")
    if not isinstance(data, Mapping) or data.get(LINK) != link:
        return None
    case, person = data.get(CASE), data.get(PERSON)
    return (case, person) if isinstance(case, str) and isinstance(person, str) else None


def annotations_of(task: Mapping[str, Any], control: str) -> list[Annotation]:
    """Return what was done with a task, the oldest first."""
    made = [one for one in task.get("annotations") or [] if isinstance(one, Mapping)]
    made.sort(key=lambda one: (str(one.get("created_at", "")), str(one.get("id", ""))))
    return [_annotation(one, control) for one in made]


def _annotation(values: Mapping[str, Any], control: str) -> Annotation:
    author = values.get("completed_by")
    number = author.get("id") if isinstance(author, Mapping) else author
    return Annotation(
        author=number if isinstance(number, int) else 0,
        choice=_choice(values.get("result"), control),
        skipped=bool(values.get("was_cancelled")),
    )


def _choice(result: Any, control: str) -> str | None:
    """Return the one choice of a control; None where there is none, or more than one."""
    for part in result if isinstance(result, list) else []:
        if isinstance(part, Mapping) and part.get("from_name") == control and isinstance(part.get("value"), Mapping):
            choices = part["value"].get("choices")
            if isinstance(choices, list) and len(choices) == 1:
                return str(choices[0])
    return None
