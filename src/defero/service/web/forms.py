"""Forms of pages: their fields as the JSON that the API takes, and values as the texts that a form shows."""

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

import orjson
from pydantic import BaseModel

from defero.data.tables.cells import text_of
from defero.service.events import to_json

Fields = dict[str, str]
_BLANK = object()
_DEEPEST = 3
"""Members of members of members: a name of a million parts must not fill the memory."""


def field_name(*way: object) -> str:
    """Return the name of the field of a value: the way to it.

    >>> field_name("cost_matrix", "ill", "not ill/well")
    'cost_matrix/ill/not%20ill%2Fwell'
    """
    return "/".join(quote(str(part), safe="") for part in way)


def form_values(schema: type[BaseModel], fields: Fields) -> dict[str, Any]:
    """Return the fields of a form as the JSON that a schema takes.

    How a text is read is what the schema says of its place. A blank is null where null may stand, and else left out;
    so is what the schema does not know. A text that cannot be read stays as it is, for the check to say so.

    >>> class Work(BaseModel):
    ...     fees: dict[str, float]
    ...     most: int | None = 3
    >>> form_values(Work, {"fees/p1": "2.5", "fees/p2": " ", "most": "", "csrf": "..."})
    {'fees': {'p1': '2.5'}, 'most': None}
    """
    tree: dict[str, Any] = {}
    for name, text in fields.items():
        *way, last = map(unquote, name.split("/", _DEEPEST))
        place = tree
        for part in way:
            if not isinstance(place.get(part), dict):
                place[part] = {}
            place = place[part]
        place[last] = text
    shape = _shape(schema)
    values = _read(shape, tree, shape.get("$defs", {}))
    return {} if values is _BLANK else dict(values)


@lru_cache(maxsize=64)
def _shape(schema: type[BaseModel]) -> dict[str, Any]:
    return schema.model_json_schema()


def _read(shape: Mapping[str, Any], sent: Any, known: Mapping[str, Any]) -> Any:
    """Return a text, or fields by the next part of their names, as the JSON that has this shape."""
    shapes = [known[one["$ref"].rpartition("/")[2]] if "$ref" in one else one for one in shape.get("anyOf", [shape])]
    kinds = {one.get("type") for one in shapes}
    if isinstance(sent, dict):
        one = shapes[0]
        inner = one.get("items") or next(
            iter(one.get("patternProperties", {}).values()), one.get("additionalProperties")
        )
        places = {name: one.get("properties", {}).get(name, inner) for name in sent}
        read = {name: _read(place, sent[name], known) for name, place in places.items() if place}
        values = {name: value for name, value in read.items() if value is not _BLANK}
        return list(values.values()) if "array" in kinds else values or _BLANK
    text = sent.strip()
    if not text:
        return None if "null" in kinds else _BLANK
    if "string" in kinds:
        return text
    if "array" in kinds:
        return [part.strip() for part in text.split(",") if part.strip()]
    if "boolean" in kinds:
        return text == "yes"
    return _json(text) if "object" in kinds else whole(text) if "integer" in kinds else text


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def whole(text: str) -> Any:
    """Return a field as a whole number; one that is none as it is, so that the check of the model says so.

    >>> whole("40"), whole("2.5"), whole("inf"), whole("x")
    (40, 2.5, inf, 'x')
    """
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


def scaled(value: object, size: str) -> str:
    """Return a number, or its text, in another unit, without an error of rounding; what is no number stays.

    >>> scaled("57", "0.01"), scaled(0.57, "100"), scaled("much", "100"), scaled(None, "100")
    ('0.57', '57', 'much', '')
    """
    try:
        return text_of(str(Decimal(str(value).strip()) * Decimal(size)))
    except ArithmeticError:
        return "" if value is None else str(value)


def text_at(values: Any, *way: str) -> str:
    """Return what a form shows of a value, or of a member of it; "" where there is none.

    >>> text_at({"fees": {"p1": 2.0}}, "fees", "p1"), text_at({"fees": {}}, "fees", "p2"), text_at(["ill", 0.5])
    ('2', '', 'ill, 0.5')
    """
    for part in way:
        values = values.get(part) if isinstance(values, Mapping) else None
    if isinstance(values, Mapping):
        return to_json(values) if values else ""
    if isinstance(values, list | tuple):
        return ", ".join(text_at(one) for one in values)
    return "" if values is None else values if isinstance(values, str) else text_of(values)
