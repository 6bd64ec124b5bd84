"""What a form of a page sends: names and texts."""

from urllib.parse import parse_qsl

from starlette.requests import Request

from defero.service.problems import Problem

FORM = "application/x-www-form-urlencoded"
CSRF_FIELD = "csrf"
_MOST_FIELDS = 5_000
"""A policy has two fields for each expert."""


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form; nothing where the request is none."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        return {}
    try:
        body = (await request.body()).decode()
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError as error:
        raise Problem(400, "The form cannot be read.") from error
