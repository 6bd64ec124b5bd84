"""A small client of `defero serve`: cases in, answers, outcomes, decisions out. Needs the standard library alone.

Connections are kept open, which `urllib` cannot do, so `http.client` is used; no other package is worth a dependency
for whoever only brings cases.
"""

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

__all__ = ["Client", "ServiceError", "SettledCase", "Step"]

Features = Mapping[str, Any] | Sequence[float]
_SECONDS = 30.0
_IDLE_SECONDS = 3.0


class ServiceError(Exception):
    """The service refused a request.

    Attributes
    ----------
    status : int
        HTTP status; 0 where the service could not be reached.
    problem : dict
        The whole answer (problem details, RFC 9457).
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(f"{status}: {problem.get('detail', problem.get('title', 'no reply'))}")
        self.status, self.problem = status, dict(problem)


@dataclass(frozen=True)
class Step:
    """The next step of a case: its answer (`label`), or whom to `ask`.

    Examples
    --------
    >>> step = Step.of({"case": "c1", "status": "settled", "label": "ill", "p_right": 0.97, "more": 1})
    >>> step.settled, step.label
    (True, 'ill')
    """

    case: str
    status: str
    ask: str | None = None
    person: str | None = None
    label: Any = None
    p_right: float | None = None
    expected_cost: float | None = None
    reason: str = ""
    model: str = ""
    policy: int = 0
    key: str | None = None
    counted: bool | None = None

    @property
    def settled(self) -> bool:
        """Whether the case has its answer."""
        return self.status == "settled"

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the step of a reply; members that this version does not know are left out."""
        return cls(**{one.name: values[one.name] for one in fields(cls) if one.name in values})


@dataclass(frozen=True)
class SettledCase:
    """The answer of a settled case."""

    case: str
    key: str | None
    at: float
    label: Any
    p_right: float
    heard: tuple[str, ...]
    reason: str


class Client:
    """Speaks with a service. Not to be shared by threads.

    Parameters
    ----------
    url : str
        Such as "http://127.0.0.1:8000".
    token : str
        As `defero people add` shows it.
    timeout : float
        Seconds to wait for a reply.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8000", "defero_...")
    >>> client.add([{"age": 41}])  # doctest: +SKIP
    [Step(case='c1', status='open', ask='ann', ...)]
    """

    def __init__(self, url: str, token: str, *, timeout: float = _SECONDS) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url must begin with http:// or https://, got {url!r}.")
        build = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = build(parts.hostname, parts.port, timeout=timeout)
        self._base, self._token = parts.path.rstrip("/"), token
        self._last_used = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def add(
        self, features: Sequence[Features], *, keys: Sequence[str | None] | None = None, request: str | None = None
    ) -> list[Step]:
        """Bring new cases; return the next step of each.

        Parameters
        ----------
        features : list of {column: value} or lists of numbers
        keys : texts, optional
            Your own names of the cases.
        request : str, optional
            Idempotency key. By default a new one, so that a request whose reply got lost can be sent again safely.
        """
        names = [None] * len(features) if keys is None else keys
        cases = [{"key": key, "features": row} for key, row in zip(names, features, strict=True)]
        headers = {"Idempotency-Key": request or uuid.uuid4().hex}
        return [Step.of(one) for one in self.call("POST", "/v1/cases", {"cases": cases}, headers)["cases"]]

    def answer(self, case: str, answer: Any, *, person: str | None = None) -> Step:
        """Answer a case; experts leave out `person`."""
        return Step.of(self.call("POST", "/v1/answers", _given(case=case, answer=answer, person=person)))

    def skip(self, case: str, *, person: str | None = None, note: str = "") -> Step:
        """Give a question back."""
        return Step.of(self.call("POST", "/v1/skips", _given(case=case, person=person, note=note)))

    def outcomes(self, labels: Mapping[str, Any]) -> int:
        """Tell the truth of cases by their ids; return how many were new or corrected."""
        pairs = [{"case": case, "label": label} for case, label in labels.items()]
        return int(self.call("POST", "/v1/outcomes", {"outcomes": pairs})["changed"])

    def questions(self, *, person: str | None = None, limit: int = 1_000) -> list[dict[str, Any]]:
        """Return the questions of a person that wait, the oldest first."""
        query = urlencode(_given(person=person, limit=limit))
        return list(self.call("GET", f"/v1/questions?{query}")["questions"])

    def people(self) -> list[dict[str, Any]]:
        """Return everybody."""
        return list(self.call("GET", "/v1/people")["people"])

    def decisions(self, *, after: int = 0) -> Iterator[tuple[int, SettledCase]]:
        """Yield the answers of settled cases, each with the cursor to go on from later."""
        while True:
            page = self.call("GET", f"/v1/decisions?after={after}&limit=1000")
            for one in page["decisions"]:
                values = {part.name: one[part.name] for part in fields(SettledCase)}
                yield int(one["seq"]), SettledCase(**{**values, "heard": tuple(values["heard"])})
            if not page["decisions"]:
                return
            after = int(page["next"])

    def language_models(self) -> list[dict[str, Any]]:
        """Return the experts that are language models."""
        return list(self.call("GET", "/v1/language-models")["language_models"])

    def set_language_model(self, person: str, *, url: str, model: str, **terms: Any) -> dict[str, Any]:
        """Let a language model answer the questions of an expert; `terms` as `PUT /v1/language-models/{person}` takes.

        Such as prompt, key_variable, per_call, timeout and most_per_day; what is left out gets its default.
        """
        path = f"/v1/language-models/{quote(person, safe='')}"
        return self.call("PUT", path, {"url": url, "model": model, **terms})

    def end_language_model(self, person: str) -> None:
        """Let a person answer the questions of an expert again."""
        self.call("DELETE", f"/v1/language-models/{quote(person, safe='')}")

    def label_studio(self) -> dict[str, Any]:
        """Return the project of Label Studio in which experts answer."""
        return self.call("GET", "/v1/label-studio")

    def set_label_studio(self, *, url: str, people: Mapping[str, str | None], **terms: Any) -> str:
        """Let experts answer in Label Studio, by the addresses of their accounts; return the secret of its webhook.

        `terms` as `PUT /v1/label-studio` takes, such as key_variable, project, callback and unknown.
        """
        return str(self.call("PUT", "/v1/label-studio", {"url": url, "people": dict(people), **terms})["secret"])

    def end_label_studio(self) -> None:
        """Let everybody answer in the inbox again."""
        self.call("DELETE", "/v1/label-studio")

    def export(self) -> str:
        """Return the log as the CSV that `defero fit` reads."""
        return self._read("GET", "/v1/export.csv", None, {}).decode()

    def call(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Make any request of the API; raises `ServiceError` where it is refused."""
        reply: dict[str, Any] = json.loads(self._read(method, path, body, headers or {}))
        return reply

    def _read(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> bytes:
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        sent = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json", **headers}
        again = method == "GET" or "Idempotency-Key" in headers  # such a request may be sent twice
        if time.monotonic() - self._last_used > _IDLE_SECONDS:  # the service closes what is idle; others must not fail
            self._connection.close()
        try:
            response = self._send(method, path, content, sent, again=again)
            reply = response.read()
            self._last_used = time.monotonic()
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise ServiceError(0, {"detail": f"the service cannot be reached ({type(error).__name__})."}) from error
        if response.status >= 400:
            raise ServiceError(response.status, _problem(reply))
        return reply

    def _send(
        self, method: str, path: str, content: bytes | None, headers: Mapping[str, str], *, again: bool
    ) -> HTTPResponse:
        try:
            self._connection.request(method, self._base + path, content, dict(headers))
            return self._connection.getresponse()
        except (OSError, HTTPException):
            self._connection.close()  # the service closes connections that were idle for long
            if not again:
                raise
        self._connection.request(method, self._base + path, content, dict(headers))
        return self._connection.getresponse()


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _problem(reply: bytes) -> dict[str, Any]:
    try:
        problem = json.loads(reply)
    except ValueError:
        return {"detail": "the reply is no problem details; is this the address of defero serve?"}
    return problem if isinstance(problem, dict) else {}
