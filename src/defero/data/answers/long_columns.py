"""Which column of a long table is the item, which the annotator, which the answer."""

from dataclasses import dataclass
from typing import Any

from defero.core.errors import Argument, TableError
from defero.core.wording import join_names
from defero.data.tables.columns import column_names, no_such_column

_ITEM = ("item", "task", "case", "example", "sample", "question", "document", "image", "instance", "unit")
_ANNOTATOR = (
    "annotator",
    "worker",
    "expert",
    "user",
    "rater",
    "reader",
    "labeler",
    "labeller",
    "coder",
    "judge",
    "reviewer",
)
_ANSWER = ("label", "answer", "choice", "response", "annotation", "vote", "decision", "rating")


@dataclass(frozen=True)
class LongColumns:
    """The names of the columns of a long table."""

    item: str
    annotator: str
    answer: str
    time: str | None = None


def long_columns(
    frame: Any, *, item: str | None, annotator: str | None, answer: str | None, time: str | None, source: str
) -> LongColumns:
    """Take the columns as named, or find them by name: one of the usual words, also with id, in any case.

    >>> import pandas as pd
    >>> frame = pd.DataFrame(columns=["Task_ID", "worker", "label", "seconds"])
    >>> long_columns(frame, item=None, annotator=None, answer=None, time=None, source="a.csv")
    LongColumns(item='Task_ID', annotator='worker', answer='label', time=None)
    """
    names = list(column_names(frame, source=source))
    found = LongColumns(
        item=_chosen(names, item, words=_ITEM, role="item", source=source),
        annotator=_chosen(names, annotator, words=_ANNOTATOR, role="annotator", source=source),
        answer=_chosen(names, answer, words=_ANSWER, role="answer", source=source),
        time=None if time is None else _named(names, time, role="time", source=source),
    )
    roles = {"item": found.item, "annotator": found.annotator, "answer": found.answer, "time": found.time}
    for role, column in roles.items():
        other = next((one for one, name in roles.items() if name == column and one != role), None)
        if column is not None and other is not None:
            raise TableError(f"{source}: column {column!r} is named as the {role} and as the {other}; choose one.")
    return found


def key_column(items: Any, key: str | None, *, item: str, source: str) -> str:
    """Return the items' column of keys: the one named, else the one called as in the annotations, else by name."""
    names = list(column_names(items, source=source))
    return item if key is None and item in names else _chosen(names, key, words=_ITEM, role="key", source=source)


def _chosen(names: list[str], given: str | None, *, words: tuple[str, ...], role: str, source: str) -> str:
    if given is not None:
        return _named(names, given, role=role, source=source)
    plain = {name: "".join(letter for letter in name.lower() if letter not in "_- .") for name in names}
    wanted = {form for word in words for form in (word, f"{word}id", f"{word}key")}
    found = [name for name in names if plain[name] in wanted]
    if not found and words is _ITEM:
        # A log of answers often numbers its own rows as id: only where nothing else is the item.
        found = [name for name in names if plain[name] in {"id", "key"}]
    if len(found) == 1:
        return found[0]
    if found:
        raise TableError(
            f"{source}: {join_names(map(repr, found))} may each be the {role}; name the column with ",
            Argument(role),
            ".",
        )
    raise TableError(
        f"{source}: no column is called as the {role} usually is ({join_names(words)}); name it with ",
        Argument(role),
        f". The columns are {join_names(names, most=30)}.",
    )


def _named(names: list[str], given: str, *, role: str, source: str) -> str:
    if given not in names:
        raise no_such_column(given, names, source=source, role=f"the {role}")
    return given
