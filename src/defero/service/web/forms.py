"""Forms of the pages: what they show, and what was sent, as the API takes it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from defero.data.tables.cells import text_of
from defero.service.problems import Problem, checked
from defero.service.views.connections import CalledModel, HookIn, LanguageModelIn, Studio, StudioIn
from defero.service.views.policy import Policy, PolicyIn

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
        fields |= {f"rule{line}_{name}": text_of(value) for name in _RULE if (value := getattr(rule, name)) is not None}
    return fields


def n_rules(fields: Mapping[str, str]) -> int:
    """Return how many lines for rules the form has: those that are filled in, and some empty ones."""
    places = [re.fullmatch("rule([0-9]+)_do", name) for name, value in fields.items() if value]
    return max((int(place[1]) for place in places if place), default=-1) + 1 + EMPTY_RULES


def policy_of(fields: Mapping[str, str], classes: Sequence[str], current: Policy) -> dict[str, Any]:
    """Return the policy that a form says, as the API takes it; raises `Problem` where a field cannot be read."""
    values: dict[str, Any] = {**_filled(fields, (*_PLAIN, "error_cost")), "rules": _rules(fields)}
    values |= {"fees": _by_name(fields, "fee_"), "panel_size": whole(fields.get("panel_size") or "3")}
    values["capacity"] = {person: whole(most) for person, most in _by_name(fields, "capacity_").items()}
    numbers = {name: _number(text, name) for name, text in _filled(fields, ("answer_within", "explore")).items()}
    unit = UNITS.get(fields.get("answer_unit", "seconds"), 1)
    values["answer_within"] = numbers["answer_within"] * unit if "answer_within" in numbers else None
    values["explore"] = numbers.get("explore", 0.0) / 100
    values["cost_matrix"] = _matrix(fields, classes) if len(classes) <= MOST_CLASSES else current.cost_matrix
    return checked(PolicyIn, values).model_dump()


def _filled(fields: Mapping[str, str], names: Iterable[str]) -> Fields:
    """Return the fields of some names that are not blank."""
    return {name: fields[name].strip() for name in names if fields.get(name, "").strip()}


def _by_name(fields: Mapping[str, str], start: str) -> Fields:
    """Return the fields whose names begin with a text and that are not blank, by the rest of their names."""
    return {name[len(start) :]: text for name, text in _filled(fields, fields).items() if name.startswith(start)}


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


def _matrix(fields: Mapping[str, str], classes: Sequence[str]) -> dict[str, dict[str, str]] | None:
    costs = _by_name(fields, "cost_")
    matrix = {
        truth: {answer: costs[f"{i}_{j}"] for j, answer in enumerate(classes) if f"{i}_{j}" in costs}
        for i, truth in enumerate(classes)
    }
    return {truth: row for truth, row in matrix.items() if row} or None


def _rules(fields: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rules; a line without a choice is none."""
    lines = [_by_name(fields, f"rule{place}_") for place in range(n_rules(fields))]
    for line in lines:
        if line.get("do") == "ask":
            line.pop("person", None)  # the line has a field for it, which means nothing here
    return [{name: line[name] for name in _RULE if name in line} for line in lines if "do" in line]


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise Problem(422, f"{name}: must be a number such as 2.5, got {text[:40]!r}.") from error


NUMBERS = ("per_call", "per_million_in", "per_million_out", "timeout", "within", "per_minute", "most_per_day")
_TEXTS = ("url", "model", "prompt", "key_variable")
_STUDIO_TEXTS = ("url", "key_variable", "title", "control", "callback", "unknown")


def model_fields_of(model: CalledModel) -> Fields:
    """Return what the form shows of a language model.

    >>> model_fields_of(CalledModel(person="p1", url="https://a.example/v1", model="m", per_call=0.002))["per_call"]
    '0.002'
    """
    fields = {name: str(getattr(model, name)) for name in _TEXTS}
    fields |= {name: text_of(value) for name in NUMBERS if (value := getattr(model, name)) is not None}
    fields["classes"] = ", ".join(text_of(label) for label in model.classes)
    fields["options"] = orjson.dumps(model.options).decode() if model.options else ""
    return {"person": model.person, **fields}


def model_of(fields: Mapping[str, str], classes: Sequence[str]) -> LanguageModelIn:
    """Return the language model that a form says; blank numbers get their defaults."""
    values: dict[str, Any] = {"url": "", "model": "", **_filled(fields, (*_TEXTS, *NUMBERS, "options"))}
    values["classes"] = [label.strip() for label in fields.get("classes", "").split(",") if label.strip()]
    strange = [label for label in values["classes"] if label not in classes]
    if strange:
        raise Problem(422, f"classes: {strange[0][:40]!r} is no class; separate them by commas.")
    if "per_minute" in values:
        values["per_minute"] = whole(values["per_minute"])
    if "options" in values:
        try:
            values["options"] = orjson.loads(values["options"])
        except orjson.JSONDecodeError as error:
            raise Problem(422, 'options: must be JSON such as {"temperature": 0}.') from error
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
    values: dict[str, Any] = _filled(fields, (*_STUDIO_TEXTS, "poll", "project"))
    emails = _by_name(fields, "email_")
    values["people"] = {person: emails.get(person) for person in _by_name(fields, "in_")}
    if not values["people"]:
        raise Problem(422, "people: tick at least one expert who answers there.")
    if "project" in values:
        if not values["project"].isdecimal():
            raise Problem(422, "project: must be the number of a project, or blank.")
        values["project"] = int(values["project"])
    return checked(StudioIn, values)


def hook_of(fields: Mapping[str, str]) -> HookIn:
    """Return the webhook that a form says."""
    kinds = list(_by_name(fields, "kind_"))
    if not kinds:
        raise Problem(422, "kinds: tick at least one.")
    return checked(HookIn, {"url": fields.get("url", "").strip(), "kinds": kinds})
