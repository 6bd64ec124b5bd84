"""Every answer that a Label Studio export holds: whose, to which task, when."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from defero.core.errors import TableError
from defero.data.exports.answers import Several, number_or_nan
from defero.data.exports.label_studio_people import People
from defero.data.exports.label_studio_results import Control, answer_of, results_of
from defero.data.tables.json_lines import typed

_PLAIN_MODEL = "prediction"


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
class Given:
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
        for record in typed(task, key, list, source=source, place=place):
            if not isinstance(record, dict):
                raise TableError(f"{source}: {place}: {key!r} must be a list of objects, got {record!s:.40} in it.")
            yield Entry(number, place, record, by_model)


def given_answers(
    entries: Sequence[Entry],
    control: Control,
    *,
    several: Several,
    names: Mapping[Any, str] | None,
    source: str,
) -> list[Given]:
    """Return the answers to one control. Nobody need have given the truth; every other answer has a name."""
    people = People.of((entry.record.get("completed_by") for entry in entries if not entry.by_model), names=names)
    found = []
    for entry in entries:
        results = results_of(entry.record, source=source, place=entry.place)
        answer = answer_of(results, control, several=several, source=source, place=entry.place)
        who = None
        if entry.by_model:
            who = str(entry.record.get("model_version") or "").strip() or _PLAIN_MODEL
        elif not entry.truth:
            who = people.name(entry.record.get("completed_by"), source=source, place=entry.place)
        seconds = number_or_nan(entry.record.get("lead_time"))
        found.append(Given(entry.task, who, answer, _when(entry, source=source), seconds, entry.truth))
    return _apart(found, entries)


def _apart(found: list[Given], entries: Sequence[Entry]) -> list[Given]:
    """Keep a model apart from a person of the same name."""
    people = {one.who for one, entry in zip(found, entries, strict=True) if not entry.by_model}
    return [
        Given(one.task, f"{one.who} (model)", one.answer, one.when, one.seconds, one.truth)
        if entry.by_model and one.who in people
        else one
        for one, entry in zip(found, entries, strict=True)
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
