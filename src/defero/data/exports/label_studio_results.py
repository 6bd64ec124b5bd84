"""What one Label Studio annotation or prediction answers to one control, and back again."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from defero.core.errors import TableError
from defero.core.wording import did_you_mean, join_names
from defero.data.exports.answers import Several, one_answer
from defero.data.tables.json_lines import typed

KINDS = ("choices", "rating", "taxonomy")
STEP = " / "


@dataclass(frozen=True)
class Control:
    """A question of the labelling interface: its name, what it asks about, and its kind.

    Attributes
    ----------
    from_name, to_name : str
        The names of the control and of the object it labels, as in the labelling configuration.
    kind : str
        choices, rating or taxonomy.
    """

    from_name: str
    to_name: str
    kind: str

    def result(self, answer: object) -> dict[str, Any]:
        """Write an answer as Label Studio does.

        >>> Control("sentiment", "text", "choices").result("good")["value"]
        {'choices': ['good']}
        """
        value: Any = [str(answer)]
        if self.kind == "rating":
            value = answer
        elif self.kind == "taxonomy":
            value = [str(answer).split(STEP)]
        return {"from_name": self.from_name, "to_name": self.to_name, "type": self.kind, "value": {self.kind: value}}


def results_of(record: Mapping[str, Any], *, source: str, place: str) -> list[dict[str, Any]]:
    """Return the list `result` of an annotation or a prediction, each of its entries an object."""
    results: list[dict[str, Any]] = typed(dict(record), "result", list, source=source, place=place)
    wrong = [one for one in results if not isinstance(one, dict)]
    if wrong:
        raise TableError(f"{source}: {place}: 'result' must be a list of objects, got {wrong[0]!s:.40} in it.")
    return results


def find_control(results: Iterable[Mapping[str, Any]], *, name: str | None, source: str) -> Control:
    """Return the control of this name; without a name the only one that asks for a class."""
    found: dict[str, Control] = {}
    times: Counter[str] = Counter()
    other: Counter[str] = Counter()
    for result in results:
        kind, from_name = str(result.get("type")), str(result.get("from_name"))
        if kind not in KINDS:
            other[kind] += 1
            continue
        times[from_name] += 1
        control = Control(from_name, str(result.get("to_name")), kind)
        earlier = found.setdefault(from_name, control)
        if earlier.kind != kind:
            raise TableError(f"{source}: the control {from_name!r} is of two types, {earlier.kind} and {kind}.")
    if name is not None and name not in found:
        names = f" The controls are {join_names(found)}." if found else ""
        raise TableError(f"{source}: no result of the control {name!r}{did_you_mean(name, found)}{names}")
    if not found:
        seen = f"; the types of the results are {join_names(other)}" if other else "; there is no result at all"
        raise TableError(f"{source}: expected results of type {join_names(KINDS)}{seen}.")
    if name is None and len(found) > 1:
        shown = join_names(f"{one} ({times[one]} answers)" for one in found)
        raise TableError(f"{source}: several controls ask for a class: {shown}; name one with control=.")
    return found[name if name is not None else next(iter(found))]


def answer_of(
    results: Sequence[Mapping[str, Any]], control: Control, *, several: Several, source: str, place: str
) -> object:
    """Return the answer to a control: a text or a number; None where there is none."""
    values = [
        value
        for result in results
        if result.get("from_name") == control.from_name and result.get("type") == control.kind
        for value in _values(result, control, source=source, place=place)
    ]
    return one_answer(values, several=several, what=repr(control.from_name), source=source, place=place)


def _values(result: Mapping[str, Any], control: Control, *, source: str, place: str) -> Iterator[object]:
    value = result.get("value")
    given = value.get(control.kind) if isinstance(value, dict) else None
    if control.kind == "rating":
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise _no_value(given, "a number", control, source=source, place=place)
        yield given
        return
    if not isinstance(given, list):
        raise _no_value(given, "a list", control, source=source, place=place)
    for one in given:
        if control.kind == "taxonomy" and isinstance(one, list) and one and all(isinstance(step, str) for step in one):
            yield STEP.join(one)
        elif isinstance(one, str) and one.strip():
            yield one.strip()
        else:
            raise _no_value(given, "a list of texts", control, source=source, place=place)


def _no_value(given: object, wanted: str, control: Control, *, source: str, place: str) -> TableError:
    return TableError(
        f"{source}: {place}: the value of {control.from_name!r} must be {wanted} called {control.kind!r}, "
        f"got {given!s:.40}."
    )
