"""What changed between two policies, in words."""

from collections.abc import Mapping
from typing import Any

from defero.service.pages.words import money, number, percent

WORDS = {
    "error_cost": "cost of an error",
    "answer_within": "seconds to answer",
    "on_drift": "on drift",
    "asking": "asking",
    "panel_size": "size of a panel",
    "explore": "exploration",
    "mode": "mode",
    "shadow_answer": "answer in shadow mode",
}


def changes(before: Mapping[str, Any], after: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    """Return a phrase for each member that differs.

    >>> changes({"fees": {}, "explore": 0.0}, {"fees": {"p1": 2.5}, "explore": 0.05}, {"p1": "ann"})
    ['fee of ann: none, now 2.50', 'exploration: 0 %, now 5 %']
    """
    phrases = []
    for name, what, shown in (("fees", "fee", money), ("capacity", "questions a day", number)):
        phrases += _by_person(before.get(name) or {}, after.get(name) or {}, what, shown, names)
    for name, what in WORDS.items():
        old, new = before.get(name), after.get(name)
        if old != new:
            phrases.append(f"{what}: {_plain(name, old)}, now {_plain(name, new)}")
    if (before.get("cost_matrix") or None) != (after.get("cost_matrix") or None):
        phrases.append("cost matrix: none" if not after.get("cost_matrix") else "cost matrix: changed")
    if list(before.get("rules") or ()) != list(after.get("rules") or ()):
        phrases.append(f"rules: {len(before.get('rules') or ())}, now {len(after.get('rules') or ())}")
    return phrases


def _by_person(
    old: Mapping[str, Any], new: Mapping[str, Any], what: str, shown: Any, names: Mapping[str, str]
) -> list[str]:
    people = [person for person in {**old, **new} if old.get(person) != new.get(person)]
    text = {True: lambda value: "none", False: shown}
    return [
        f"{what} of {names.get(person, person)}: {text[person not in old](old.get(person))}, "
        f"now {text[person not in new](new.get(person))}"
        for person in people
    ]


def _plain(name: str, value: Any) -> str:
    if name == "explore":
        return percent(value)
    return "no limit" if value is None else number(value)
