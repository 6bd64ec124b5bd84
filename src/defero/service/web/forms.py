"""Forms of the pages: what they show, and what was sent, as the API takes it."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from defero.data.tables.cells import text_of
from defero.service.problems import Problem
from defero.service.views.connections import LanguageModel, Studio
from defero.service.views.policy import Policy, Rule
from defero.service.web.schemas import HookIn, LanguageModelIn, PolicyIn, StudioIn

Fields = dict[str, str]
MOST_CLASSES = 8
"""With more, the cost matrix is not in the form, and stays as it is."""
EMPTY_RULES = 2
"""Empty lines below the rules that are there; a preview adds new ones."""
UNITS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
_PLAIN = ("asking", "on_drift", "mode", "shadow_answer")
_RULE = ("do", "person", "label", "column", "equals")


def fields_of(policy: Policy, classes: Sequence[str]) -> Fields:
    """Return what the form shows of a policy.

    >>> fields = fields_of(Policy(fees={"p1": 2.5}, answer_within=7_200.0), ["ill", "well"])
    >>> fields["fee_p1"], fields["answer_within"], fields["answer_unit"]
    ('2.5', '2', 'hours')
    """
    fields = {name: str(getattr(policy, name)) for name in _PLAIN}
    fields |= {"error_cost": text_of(policy.error_cost), "panel_size": str(policy.panel_size)}
    fields["explore"] = f"{100 * policy.explore:.10g}"
    within = policy.answer_within
    unit = next((unit for unit, size in UNITS.items() if within is not None and within % size == 0), "seconds")
    fields["answer_unit"] = "hours" if within is None else unit
    fields["answer_within"] = "" if within is None else text_of(within / UNITS[unit])
    fields |= {f"fee_{person}": text_of(fee) for person, fee in policy.fees.items()}
    fields |= {f"capacity_{person}": str(most) for person, most in policy.capacity.items()}
    if len(classes) <= MOST_CLASSES:
        place = {label: k for k, label in enumerate(classes)}
        for truth, row in (policy.cost_matrix or {}).items():
            for answer, cost in row.items():
                fields[f"cost_{place[text_of(truth)]}_{place[text_of(answer)]}"] = text_of(cost)
    for line, rule in enumerate(policy.rules):
        fields |= {f"rule{line}_{name}": _rule_text(rule, name) for name in _RULE}
    return fields


def _rule_text(rule: Rule, name: str) -> str:
    value = getattr(rule, name)
    return "" if value is None else text_of(value)


def n_rules(fields: Mapping[str, str]) -> int:
    """Return how many lines for rules the form has: those that are filled in, and some empty ones."""
    filled = [int(name[4:-3]) for name, value in fields.items() if _is_rule(name) and value]
    return max(filled, default=-1) + 1 + EMPTY_RULES


def _is_rule(name: str) -> bool:
    return name.startswith("rule") and name.endswith("_do") and name[4:-3].isdecimal()


def policy_of(fields: Mapping[str, str], classes: Sequence[str], current: Policy) -> dict[str, Any]:
    """Return the policy that a form says, as the API takes it; raises `Problem` where a field cannot be read."""
    values: dict[str, Any] = {name: fields[name] for name in _PLAIN if name in fields}
    values |= {"fees": _by_person(fields, "fee"), "rules": _rules(fields)}
    values["capacity"] = {
        who: _whole(most, f"capacity of {who}") for who, most in _by_person(fields, "capacity").items()
    }
    if fields.get("error_cost", "").strip():
        values["error_cost"] = _number(fields["error_cost"], "error_cost")
    if fields.get("explore", "").strip():
        values["explore"] = _number(fields["explore"], "explore") / 100
    if fields.get("panel_size", "").strip():
        values["panel_size"] = _whole(_number(fields["panel_size"], "panel_size"), "panel_size")
    within = fields.get("answer_within", "").strip()
    size = UNITS.get(fields.get("answer_unit", "seconds"), 1)
    values["answer_within"] = _number(within, "answer_within") * size if within else None
    values["cost_matrix"] = _matrix(fields, classes) if len(classes) <= MOST_CLASSES else current.cost_matrix
    return checked(PolicyIn, values).model_dump()


def _by_person(fields: Mapping[str, str], kind: str) -> dict[str, float]:
    start = f"{kind}_"
    filled = {name[len(start) :]: value for name, value in fields.items() if name.startswith(start) and value.strip()}
    return {person: _number(value, f"{kind} of {person}") for person, value in filled.items()}


def _matrix(fields: Mapping[str, str], classes: Sequence[str]) -> dict[str, dict[str, float]] | None:
    matrix: dict[str, dict[str, float]] = {}
    for i, truth in enumerate(classes):
        for j, answer in enumerate(classes):
            text = fields.get(f"cost_{i}_{j}", "").strip()
            if text:
                matrix.setdefault(truth, {})[answer] = _number(text, f"cost of {answer} where {truth} is true")
    return matrix or None


def _rules(fields: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rules; a line without a choice is none."""
    rules = []
    for place in range(n_rules(fields)):
        rule = {name: fields.get(f"rule{place}_{name}", "").strip() or None for name in _RULE}
        if rule["do"] is None:
            continue
        if rule["do"] == "ask":
            rule["person"] = None  # the line has a field for it, which means nothing here
        rules.append(rule)
    return rules


def _number(value: str, name: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise Problem(422, f"{name}: must be a number such as 2.5, got {value[:40]!r}.") from error


def _whole(amount: float, name: str) -> int:
    if amount != amount or amount in (float("inf"), float("-inf")) or amount != int(amount):
        raise Problem(422, f"{name}: must be a whole number, got {amount:g}.")
    return int(amount)


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
            what = _HELP.get(str(first["loc"][0]), what)
        raise Problem(422, f"{where}: {what}.") from error


_HELP = {
    "url": "must be an address such as https://llm.example/v1, without a query",
    "callback": "must be an address such as https://defero.example, without a query",
    "key_variable": "must be the name of an environment variable that begins with DEFERO_KEY_",
    "people": "must be an e-mail address",
    "model": "must have 1 to 200 characters",
    "title": "must have 3 to 50 characters",
}


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Problem(422, 'options: must be JSON such as {"temperature": 0}.') from error
