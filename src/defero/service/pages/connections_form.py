"""The forms of the connections: fields from what is set, and back. Pure functions on texts."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from defero.data.tables.cells import text_of
from defero.service.api.outward_schemas import LanguageModelIn, StudioIn
from defero.service.api.schemas import HookIn
from defero.service.problems import Problem
from defero.service.views.language_models import LanguageModel
from defero.service.views.studio import Studio

Fields = dict[str, str]
NUMBERS = ("per_call", "per_million_in", "per_million_out", "timeout", "within", "per_minute", "most_per_day")
_TEXTS = ("url", "model", "prompt", "key_variable")
_STUDIO_TEXTS = ("url", "key_variable", "title", "control", "callback", "unknown")
Body = TypeVar("Body", bound=BaseModel)


def model_fields_of(model: LanguageModel) -> Fields:
    """Return what the form shows of a language model.

    >>> model_fields_of(LanguageModel("p1", "https://a.example/v1", "m", per_call=0.002))["per_call"]
    '0.002'
    """
    fields = {name: str(getattr(model, name)) for name in _TEXTS}
    fields |= {name: text_of(value) for name in NUMBERS if (value := getattr(model, name)) is not None}
    fields["classes"] = ", ".join(text_of(label) for label in model.classes)
    fields["options"] = orjson.dumps(dict(model.options)).decode() if model.options else ""
    return {"person": model.person, **fields}


def model_of(fields: Mapping[str, str], classes: Sequence[str]) -> LanguageModelIn:
    """Return the language model that a form says; blank numbers get their defaults."""
    values: dict[str, Any] = {name: fields[name].strip() for name in _TEXTS if name in fields}
    values |= {name: _number(fields[name], name) for name in NUMBERS if fields.get(name, "").strip()}
    if "per_minute" in values and values["per_minute"] == int(values["per_minute"]):
        values["per_minute"] = int(values["per_minute"])
    values["classes"] = [label.strip() for label in fields.get("classes", "").split(",") if label.strip()]
    strange = [label for label in values["classes"] if label not in classes]
    if strange:
        raise Problem(422, f"classes: {strange[0][:40]!r} is no class; separate them by commas.")
    if fields.get("options", "").strip():
        values["options"] = _json(fields["options"])
    return checked(LanguageModelIn, values)


def studio_fields_of(studio: Studio, addresses: Mapping[str, str]) -> Fields:
    """Return what the form shows of a project of Label Studio."""
    fields = {name: str(getattr(studio, name)) for name in _STUDIO_TEXTS}
    fields |= {"poll": text_of(studio.poll), "project": "" if studio.project is None else str(studio.project)}
    fields |= {f"in_{person}": "yes" for person in studio.people}
    return fields | {f"email_{person}": email for person, email in addresses.items()}


def studio_of(fields: Mapping[str, str]) -> StudioIn:
    """Return the project that a form says: whoever is ticked answers there.

    >>> fields = {"url": "https://a.example", "in_p1": "yes", "email_p1": "ann@a.example", "email_p2": "b@a.example"}
    >>> studio_of(fields).people
    {'p1': 'ann@a.example'}
    """
    values: dict[str, Any] = {
        name: fields[name].strip() for name in _STUDIO_TEXTS if name in fields and fields[name].strip()
    }
    people = [name[3:] for name in fields if name.startswith("in_")]
    if not people:
        raise Problem(422, "people: tick at least one expert who answers there.")
    values["people"] = {person: fields.get(f"email_{person}", "").strip() or None for person in people}
    if fields.get("project", "").strip():
        if not fields["project"].strip().isdecimal():
            raise Problem(422, "project: must be the number of a project, or blank.")
        values["project"] = int(fields["project"])
    if fields.get("poll", "").strip():
        values["poll"] = _number(fields["poll"], "poll")
    return checked(StudioIn, values)


def hook_of(fields: Mapping[str, str]) -> HookIn:
    """Return the webhook that a form says."""
    kinds = [name[5:] for name in fields if name.startswith("kind_")]
    if not kinds:
        raise Problem(422, "kinds: tick at least one.")
    return checked(HookIn, {"url": fields.get("url", "").strip(), "kinds": kinds})


def checked(schema: type[Body], values: Mapping[str, Any]) -> Body:
    """Return the body that the API takes; raises `Problem` with the first fault."""
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where, what = ".".join(map(str, first["loc"])), first["msg"]
        if first["type"] == "string_pattern_mismatch":
            what = _HELP.get(str(first["loc"][0]), "is not written as it must be")
        raise Problem(422, f"{where}: {what}.") from error


_HELP = {
    "url": "must be an address such as https://llm.example/v1, without a query",
    "callback": "must be an address such as https://defero.example, without a query",
    "key_variable": "must be the name of an environment variable that begins with DEFERO_KEY_",
    "people": "must be an e-mail address",
    "model": "must have 1 to 200 characters",
    "title": "must have 3 to 50 characters",
}


def _number(value: str, name: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise Problem(422, f"{name}: must be a number such as 2.5, got {value[:40]!r}.") from error


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Problem(422, 'options: must be JSON such as {"temperature": 0}.') from error
