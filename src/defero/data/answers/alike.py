"""Classes and experts that are written in two ways, such as "Heart failure" beside "heart failure"."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from defero.core.errors import Argument, Message
from defero.core.table import ExpertTable
from defero.core.wording import count_of, join_names, list_in_words, share_words
from defero.data.answers.bad_answers import BadAnswersError
from defero.data.tables.cells import is_missing_spelling

LEAST_ANSWERS = 5
"""From so many answers on it is no chance that a class is never among them."""

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


def missing_class_notes(counts: Mapping[object, int], *, source: str) -> list[str]:
    """Say which labels, such as n/a, are read as a class though they usually mean that there is none."""
    names = [str(name) for name in counts if is_missing_spelling(name) and str(name).casefold() != "none"]
    return [
        Message(
            f"{source}: the label {name!r} ({count_of(counts[name], 'case')}) is read as a class; if it means that the "
            "label is unknown, pass ",
            Argument("blank", [name]),
            ".",
        )
        for name in names
    ]


def alike_expert_notes(names: Iterable[str], *, source: str, merge: str) -> list[str]:
    """Say which experts are probably one person; `merge` says what to do about it."""
    return [
        f"{source}: the experts {join_names(alike)} may be one person: their names differ in capitals, spaces or marks "
        f"alone. To merge them, {merge}."
        for alike in alike_experts(names)
    ]


def one_sided_class_notes(table: ExpertTable, *, source: str) -> list[str]:
    """Say which classes are labels that nobody answers, or answers that are no label, with their likely pairs.

    Two spellings that differ by a word, such as "benign" beside "benign lesion", are two classes: every answer to the
    cases of one of them then counts as wrong. The one note says how to merge them.
    """
    n_cases = np.bincount(table.label_idx, minlength=table.n_classes)
    n_given = np.bincount(table.coded.triplets().codes, minlength=table.n_classes)
    n_there = np.bincount(table.label_idx, weights=table.answered, minlength=table.n_classes).astype(int)
    names = [str(name) for name in table.classes.tolist()]
    unanswered = [k for k in range(len(names)) if n_cases[k] and not n_given[k] and n_there[k] >= LEAST_ANSWERS]
    no_label = [k for k in range(len(names)) if not n_cases[k] and n_given[k] >= LEAST_ANSWERS]
    pairs = {k: _pair(k, names, n_given) for k in unanswered} | {k: _pair(k, names, n_cases) for k in no_label}
    merged = {k: other for k, other in pairs.items() if other is not None}
    written = [f"{names[k]!r} ({count_of(n_cases[k], 'case')})" for k in unanswered]
    stray = [f"{names[k]!r} ({count_of(n_given[k], 'answer')})" for k in no_label if k in merged]
    if not written and not stray:
        return []
    sentences = []
    if written:
        count = count_of(int(n_there[unanswered].sum()), "answer")
        sentences.append(f"No expert ever answers {list_in_words(written)}: all {count} to these cases count as wrong.")
    if stray:
        sentences.append(f"No case has the label {list_in_words(stray)}: these answers count as wrong.")
    if not merged:
        last: tuple[object, ...] = (" If the experts write it in another way, merge the spellings with ",)
        return [Message(f"{source}: {' '.join(sentences)}", *last, Argument("rename"), ".")]
    others = [f"{names[k]!r} ({count_of(n_given[k], 'answer')})" for k in dict.fromkeys(merged.values()) if n_given[k]]
    merge = join_names([f"from {names[k]!r} to {names[other]!r}" for k, other in merged.items()])
    last = (f" The experts answer {list_in_words(others)}. If they mean the same class, merge them with ",)
    return [Message(f"{source}: {' '.join(sentences)}", *last, Argument("rename"), f": {merge}.")]


def _pair(k: int, names: list[str], counts: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> int | None:
    """Return the most frequent other class that shares its words with class k; None where none does."""
    alike = [other for other in np.flatnonzero(counts).tolist() if other != k and share_words(names[k], names[other])]
    return max(alike, key=lambda other: counts[other], default=None)


@contextmanager
def alike_in_errors(counts: Mapping[object, int], *, classes_are_labels: bool) -> Iterator[None]:
    """Let an error about bad answers remember which classes are probably one: the rarer spelling to the other.

    If the classes are the labels of this table and no answer is one of them, the error asks for the right column.
    """
    try:
        yield
    except BadAnswersError as error:
        error.alike = {name: names[0] for names in alike_classes(counts) for name in names[1:]}
        if not classes_are_labels or error.n_good != 0:
            raise
        raise error.with_more(" No answer is one of the labels; is ", Argument("label"), " the right column?") from None


def _groups(spelled: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the names that share a plain spelling, in their order; names without another are left out."""
    groups: dict[str, list[str]] = {}
    for name, plain in spelled:
        groups.setdefault(plain, []).append(name)
    return [names for names in groups.values() if len(names) > 1]
