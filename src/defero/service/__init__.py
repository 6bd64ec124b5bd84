"""The team at work: cases come in, each gets its answer or the expert to ask, and everything is in a log.

Rooms, from the bottom up; each imports only those above it in this list:

- here: `Problem`, the one shape of an error.
- `events.py`: what can happen, one frozen class for each kind; `Entry` is a line of the log.
- `views/`: what the log says now, as pure functions `apply(state, entry)`: `cases.py` (where a case stands, and what
  clients are told of it), `policy.py` (people and the policy), `connections.py`, `promises.py` (who keeps them),
  `tallies.py` (counts by day and person); `Ledger`, a piece of all of them in memory, to which a transaction adds
  entries.
- `store/`: `database.py` (SQLite and PostgreSQL, on disk before the reply; migrations), `log.py` (the tables, and the
  log), `saved_views.py` (the views in their tables, and rebuilt), `contents.py` (what can be erased; the desk of a
  transaction).
- `flow/`: what becomes of a case. `team.py` (the model and the people behind its experts; the models that are loaded),
  `steps.py` (next steps of a batch within capacity; rules, panels, exploration), `what_if.py` (cases under another
  policy or model), `command.py` (`Command`, and `do_all`, which does those that wait together), commands by
  what they are about (`cases.py`, `settings.py`, `connections.py`), `writer.py` (one thread, group commit).
- `access.py`: who may call which route, as the routes say, and how often; tokens, signed links, sessions, CSRF.
- `outward/`: `requesting.py` (one request to another server; webhooks), `language_models.py` (questions of experts that
  are language models), `label_studio.py` (questions of experts who answer in Label Studio), `studio_api.py` (its
  routes, tasks and annotations).
- `office.py`: `Office`, a running service without HTTP: database, writer, tokens, clock; people from the command line.
- `web/`: the API and the pages. One file for each resource, with its routes under `/v1` (`router`) and its pages
  (`pages`), whose forms are read as the bodies of these routes (`forms.py`); `requests.py` checks every caller before
  it reads what they send.
- `serve.py`: the office behind uvicorn.

To add a resource: its `Routes` in `web/`, each with who may call it, and their place in `web.app.ROUTERS`. To add
something that happens: a fact in `events.py`, its case in the views it changes, a command in `flow/`.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

TITLES = {
    400: "The request cannot be read",
    401: "No valid token",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict with what is recorded",
    413: "Too large",
    415: "Not JSON",
    422: "The content is wrong",
    429: "Too many requests",
    500: "A defect of the service",
    503: "Not ready",
}


class Problem(Exception):  # noqa: N818 - the name that RFC 9457 gives it
    """A request that cannot be done.

    Parameters
    ----------
    status : int
        HTTP status.
    detail : str
        What is wrong and what to do.
    **more
        Further members of the answer, such as `case`.

    Examples
    --------
    >>> Problem(404, "No case c9.", case="c9").to_dict()
    {'type': 'about:blank', 'title': 'Not found', 'status': 404, 'detail': 'No case c9.', 'case': 'c9'}
    """

    def __init__(self, status: int, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.more = status, detail, more

    def to_dict(self) -> dict[str, Any]:
        """Return the members of the answer."""
        title = TITLES.get(self.status, "Error")
        return {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail, **self.more}


def database_away() -> Problem:
    """Return the problem of a database that does not answer."""
    return Problem(503, "The database cannot be reached; nothing was done. Try again.")


class InDoubt(Problem):
    """The database went away during a commit, and nobody knows whether it holds."""

    def __init__(self) -> None:
        super().__init__(
            503,
            "The database went away while this was written: it may be done, or not. Send it again with the same "
            "Idempotency-Key, or look first.",
        )


Body = TypeVar("Body", bound=BaseModel)


def checked(schema: type[Body], values: Mapping[str, Any]) -> Body:
    """Return values as a model that checks them; raises `Problem` with the first fault."""
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        what, place = first["msg"].removeprefix("Value error, "), [str(one) for one in first["loc"]]
        if first["type"] == "string_pattern_mismatch":
            what = _HELP.get(place[0], what)
        elif first["type"] in ("missing", "too_short"):
            what = _NONE.get(place[0], "is missing")
        elif first["type"] in ("float_parsing", "finite_number"):
            what = f"must be a number such as 2.5, got {str(first['input'])[:40]!r}"
        elif first["type"].startswith("int_"):
            what = f"must be a whole number, got {str(first['input'])[:40]!r}"
        elif first["type"] == "dict_type":
            what = 'must be JSON such as {"temperature": 0}'
        raise Problem(422, f"{' of '.join(place)}: {what}.") from error


_HELP = {
    "url": "must be an address such as https://llm.example/v1, without a query",
    "callback": "must be an address such as https://defero.example, without a query",
    "key_variable": "must be the name of an environment variable that begins with DEFERO_KEY_",
    "people": "must be an e-mail address",
    "model": "must have 1 to 200 characters",
    "title": "must have 3 to 50 characters",
    "folder": "must be the name of a folder in the folder of models",
    "name": "must have 1 to 200 printable characters",
    "person": "choose an expert",
}
_NONE = {"kinds": "tick at least one", "people": "tick at least one expert who answers there"}
