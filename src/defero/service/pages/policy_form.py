"""The form of a policy: its fields from a policy, and back. Pure functions on texts."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from defero.data.tables.cells import text_of
from defero.service.api.schemas import PolicyIn
from defero.service.problems import Problem
from defero.service.views.policy import Policy, Rule

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
        values["error_cost"] = _amount(fields["error_cost"], "error_cost")
    if fields.get("explore", "").strip():
        values["explore"] = _amount(fields["explore"], "explore") / 100
    if fields.get("panel_size", "").strip():
        values["panel_size"] = _whole(_amount(fields["panel_size"], "panel_size"), "panel_size")
    within = fields.get("answer_within", "").strip()
    size = UNITS.get(fields.get("answer_unit", "seconds"), 1)
    values["answer_within"] = _amount(within, "answer_within") * size if within else None
    values["cost_matrix"] = _matrix(fields, classes) if len(classes) <= MOST_CLASSES else current.cost_matrix
    try:
        return PolicyIn.model_validate(values).model_dump()
    except ValidationError as error:
        first = error.errors()[0]
        raise Problem(422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from error


def _by_person(fields: Mapping[str, str], kind: str) -> dict[str, float]:
    start = f"{kind}_"
    given = {name[len(start) :]: value for name, value in fields.items() if name.startswith(start) and value.strip()}
    return {person: _amount(value, f"{kind} of {person}") for person, value in given.items()}


def _matrix(fields: Mapping[str, str], classes: Sequence[str]) -> dict[str, dict[str, float]] | None:
    matrix: dict[str, dict[str, float]] = {}
    for i, truth in enumerate(classes):
        for j, answer in enumerate(classes):
            given = fields.get(f"cost_{i}_{j}", "").strip()
            if given:
                matrix.setdefault(truth, {})[answer] = _amount(given, f"cost of {answer} where {truth} is true")
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


def _amount(value: str, name: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise Problem(422, f"{name}: must be a number such as 2.5, got {value[:40]!r}.") from error


def _whole(amount: float, name: str) -> int:
    if amount != amount or amount in (float("inf"), float("-inf")) or amount != int(amount):
        raise Problem(422, f"{name}: must be a whole number, got {amount:g}.")
    return int(amount)
