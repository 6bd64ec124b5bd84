"""Classes and experts that are written in two ways, such as "Heart failure" beside "heart failure"."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from defero.core.errors import Argument, Message
from defero.core.wording import count_of, join_names, list_in_words
from defero.data.answers.bad_answers import BadAnswersError

_MARKS = str.maketrans("", "", "_-.")


def alike_classes(counts: Mapping[object, int]) -> list[list[str]]:
    """Return classes that differ in capitals or blanks alone, those of each group by falling counts.

    Marks tell classes apart: a blood group A- is no A.

    >>> alike_classes({"Flu": 2, "flu": 40, "A-": 3, "A": 3})
    [['flu', 'Flu']]
    """
    texts = sorted((name for name in counts if isinstance(name, str)), key=lambda name: -counts[name])
    return _groups((name, "".join(name.casefold().split())) for name in texts)


def alike_experts(names: Iterable[str]) -> list[list[str]]:
    """Return names that differ in capitals, blanks or marks alone.

    >>> alike_experts(["Dr Chen", "dr_chen", "bo"])
    [['Dr Chen', 'dr_chen']]
    """
    return _groups((name, "".join(name.casefold().translate(_MARKS).split()) or name) for name in names)


def alike_class_notes(counts: Mapping[object, int], *, source: str) -> list[str]:
    """Say which classes are probably one, with how many cases each has, and how to merge them."""
    notes: list[str] = []
    for names in alike_classes(counts):
        written = list_in_words([f"{name!r} ({count_of(counts[name], 'case')})" for name in names])
        merge = join_names([f"from {name!r} to {names[0]!r}" for name in names[1:]])
        notes.append(
            Message(
                f"{source}: the labels {written} differ in capitals or blanks alone and are {len(names)} classes here; "
                "if they are one, merge them with ",
                Argument("rename"),
                f": {merge}.",
            )
        )
    return notes


def alike_expert_notes(names: Iterable[str], *, source: str, merge: str) -> list[str]:
    """Say which experts are probably one person; `merge` says what to do about it."""
    return [
        f"{source}: the experts {join_names(alike)} may be one person: their names differ in capitals, spaces or marks "
        f"alone. To merge them, {merge}."
        for alike in alike_experts(names)
    ]


@contextmanager
def alike_in_errors(counts: Mapping[object, int]) -> Iterator[None]:
    """Let an error about bad answers remember which classes are probably one: the rarer spelling to the other."""
    try:
        yield
    except BadAnswersError as error:
        error.alike = {name: names[0] for names in alike_classes(counts) for name in names[1:]}
        raise


def _groups(spelled: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the names that share a plain spelling, in their order; names without another are left out."""
    groups: dict[str, list[str]] = {}
    for name, plain in spelled:
        groups.setdefault(plain, []).append(name)
    return [names for names in groups.values() if len(names) > 1]
