"""The few requests to Label Studio that are needed, by its HTTP API."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

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
