"""Label Studio annotations: the question they answer, what they answer, who gave them and when."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from defero.core.errors import Argument, TableError
from defero.core.wording import did_you_mean, join_names
from defero.data.exports.fields import Several, number_or_nan, one_answer
from defero.data.table_spec import STEP, Control
from defero.data.tables.json_lines import field_of_type

KINDS = ("choices", "rating", "taxonomy")
_PLAIN_MODEL = "prediction"


def results_of(record: Mapping[str, Any], *, source: str, place: str) -> list[dict[str, Any]]:
    """Return the list `result` of an annotation or a prediction, each of its entries an object."""
    results: list[dict[str, Any]] = field_of_type(dict(record), "result", list, source=source, place=place)
    wrong = [one for one in results if not isinstance(one, dict)]
    if wrong:
        raise TableError(f"{source}: {place}: 'result' must be a list of objects, got {wrong[0]!s:.40} in it.")
    return results


def find_control(results: Iterable[Mapping[str, Any]], *, name: str | None, source: str) -> Control:
    """Return the control of this name; without a name the only one that asks for a class."""
    controls: dict[str, Control] = {}
    times: Counter[str] = Counter()
    other: Counter[str] = Counter()
    for result in results:
        kind, from_name = str(result.get("type")), str(result.get("from_name"))
        if kind not in KINDS:
            other[kind] += 1
            continue
        times[from_name] += 1
        control = Control(from_name, str(result.get("to_name")), kind)
        earlier = controls.setdefault(from_name, control)
        if earlier.kind != kind:
            raise TableError(f"{source}: the control {from_name!r} is of two types, {earlier.kind} and {kind}.")
    if name is not None and name not in controls:
        names = f" The controls are {join_names(controls)}." if controls else ""
        raise TableError(f"{source}: no result of the control {name!r}{did_you_mean(name, controls)}{names}")
    if not controls:
        types = f"; the types of the results are {join_names(other)}" if other else ", got no result at all"
        raise TableError(f"{source}: expected results of type {join_names(KINDS)}{types}.")
    if name is None and len(controls) > 1:
        counts = join_names(f"{one} ({times[one]} answers)" for one in controls)
        raise TableError(
            f"{source}: several controls ask for a class: {counts}; name one with ", Argument("control"), "."
        )
    return controls[name if name is not None else next(iter(controls))]


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
    content = value.get(control.kind) if isinstance(value, dict) else None
    if control.kind == "rating":
        if isinstance(content, bool) or not isinstance(content, int | float):
            raise _no_value(content, "a number", control, source=source, place=place)
        yield content
        return
    if not isinstance(content, list):
        raise _no_value(content, "a list", control, source=source, place=place)
    for one in content:
        if control.kind == "taxonomy" and isinstance(one, list) and one and all(isinstance(step, str) for step in one):
            yield STEP.join(one)
        elif isinstance(one, str) and one.strip():
            yield one.strip()
        else:
            raise _no_value(content, "a list of texts", control, source=source, place=place)


def _no_value(content: object, wanted: str, control: Control, *, source: str, place: str) -> TableError:
    return TableError(
        f"{source}: {place}: the value of {control.from_name!r} must be {wanted} called {control.kind!r}, "
        f"got {content!s:.40}."
    )


@dataclass(frozen=True)
class People:
    """Names of annotators: the one given, else email, else user name, else the number.

    Attributes
    ----------
    names : mapping
        From number, email or user name to the name to use.
    by_number : mapping
        The names of people whom the export describes in one place and numbers in another.
    """

    names: Mapping[Any, str] = field(default_factory=dict)
    by_number: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, completed_by: Iterable[object], *, names: Mapping[Any, str] | None) -> "People":
        """Learn who is who from all annotations of an export."""
        wanted = {str(key): name for key, name in (names or {}).items()}
        described = [one for one in completed_by if isinstance(one, dict) and one.get("id") is not None]
        by_number = {str(one["id"]): contact for one in described if (contact := _contact(one)) is not None}
        return cls(wanted, by_number)

    def name(self, completed_by: object, *, source: str, place: str) -> str:
        """Return the name of who gave an annotation.

        >>> people = People.of([{"id": 3, "email": "ann@example.org"}], names={7: "Bo"})
        >>> [people.name(one, source="a.json", place="task 1") for one in (3, 7, 12)]
        ['ann@example.org', 'Bo', '12']
        """
        forms: list[str] = []
        if isinstance(completed_by, dict):
            contact = _contact(completed_by)
            forms = [str(one) for one in (contact, completed_by.get("id")) if one is not None]
        elif isinstance(completed_by, int | str) and not isinstance(completed_by, bool) and str(completed_by).strip():
            number = str(completed_by).strip()
            forms = [self.by_number[number], number] if number in self.by_number else [number]
        if not forms:
            raise TableError(
                f"{source}: {place}: 'completed_by' must be a user's number or an object with id, email or username, "
                f"got {completed_by!s:.40}."
            )
        return next((self.names[form] for form in forms if form in self.names), forms[0])


def _contact(person: dict[str, Any]) -> str | None:
    for key in ("email", "username"):
        value = person.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None


@dataclass(frozen=True)
class Entry:
    """An annotation or a prediction as it stands in the file."""

    task: int
    place: str
    record: Mapping[str, Any]
    by_model: bool

    @property
    def cancelled(self) -> bool:
        """Was the annotation skipped by its annotator?"""
        return bool(self.record.get("was_cancelled"))

    @property
    def truth(self) -> bool:
        """Is the annotation marked as ground truth?"""
        return not self.by_model and bool(self.record.get("ground_truth"))


@dataclass(frozen=True)
class GivenAnswer:
    """One answer; None where the annotation holds none. `when` and `seconds` are NaN where not recorded."""

    task: int
    who: str | None
    answer: object
    when: float
    seconds: float
    truth: bool


def entries_of(
    tasks: Sequence[dict[str, Any]], places: Sequence[str], *, by_model: bool, source: str
) -> Iterator[Entry]:
    """Yield the annotations, or the predictions, of all tasks. Drafts stand in a list of their own and are not read."""
    key = "predictions" if by_model else "annotations"
    for number, (task, place) in enumerate(zip(tasks, places, strict=True)):
        for record in field_of_type(task, key, list, source=source, place=place):
            if not isinstance(record, dict):
                raise TableError(f"{source}: {place}: {key!r} must be a list of objects, got {record!s:.40} in it.")
            yield Entry(number, place, record, by_model)


def collect_answers(
    entries: Sequence[Entry],
    control: Control,
    *,
    several: Several,
    names: Mapping[Any, str] | None,
    source: str,
) -> list[GivenAnswer]:
    """Return the answers to one control. Nobody need have given the truth; every other answer has a name."""
    people = People.of((entry.record.get("completed_by") for entry in entries if not entry.by_model), names=names)
    answers = []
    for entry in entries:
        results = results_of(entry.record, source=source, place=entry.place)
        answer = answer_of(results, control, several=several, source=source, place=entry.place)
        who = None
        if entry.by_model:
            who = str(entry.record.get("model_version") or "").strip() or _PLAIN_MODEL
        elif not entry.truth:
            who = people.name(entry.record.get("completed_by"), source=source, place=entry.place)
        seconds = number_or_nan(entry.record.get("lead_time"))
        answers.append(GivenAnswer(entry.task, who, answer, _when(entry, source=source), seconds, entry.truth))
    return _rename_models(answers, entries)


def _rename_models(answers: list[GivenAnswer], entries: Sequence[Entry]) -> list[GivenAnswer]:
    """Add " (model)" to the name of a model where a person has the same name."""
    people = {one.who for one, entry in zip(answers, entries, strict=True) if not entry.by_model}
    return [
        replace(one, who=f"{one.who} (model)") if entry.by_model and one.who in people else one
        for one, entry in zip(answers, entries, strict=True)
    ]


def _when(entry: Entry, *, source: str) -> float:
    """Return seconds since 1970 of the last change; earliest of all where nothing is recorded."""
    for key in ("updated_at", "created_at"):
        value = entry.record.get(key)
        if value is None:
            continue
        try:
            moment = datetime.fromisoformat(value)
        except (TypeError, ValueError) as error:
            raise TableError(
                f"{source}: {entry.place}: {key!r} must be a time as 2024-05-01T09:30:00Z, got {value!s:.40}."
            ) from error
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return float("-inf")
