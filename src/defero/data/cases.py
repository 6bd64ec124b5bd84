"""Past cases from any kind of file: a wide table, a table with long answers, or the export of an annotation tool."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import BoolArray
from defero.core.errors import Argument, TableError
from defero.core.wording import count_of, did_you_mean, join_names
from defero.data.answers.bad_answers import bad_answers
from defero.data.answers.class_codes import (
    NO_CLASS,
    class_codes,
    classes_of,
    matching_codes,
    parse_labels,
    whole_labels,
)
from defero.data.answers.labels import MAJORITY, KnownLabels, LabelChoice, known_labels
from defero.data.answers.log import AnswerLog, log_from_columns, table_from_long
from defero.data.answers.read_log import join_answers, key_column, long_columns
from defero.data.answers.spellings import (
    Spellings,
    alike_class_notes,
    alike_expert_notes,
    alike_experts,
    alike_in_errors,
    missing_answers,
    missing_answers_note,
    missing_class_notes,
    one_sided_class_notes,
    without_missing_answers,
)
from defero.data.case_file import CaseFile, Cases, check_case_file
from defero.data.exports.export import EXPORTS
from defero.data.exports.label_studio_results import Control
from defero.data.tables.cells import is_blank, no_such_column
from defero.data.tables.wide import table_from_frame


@dataclass(frozen=True, eq=False)
class _Record:
    """Items (n, ...), everybody's answers to them, and labels (n,) with their sources, None where not known."""

    items: pd.DataFrame
    answers: AnswerLog
    known: KnownLabels
    key: str | None
    first_row: int
    label_column: str | None = None
    control: Control | None = None
    notes: tuple[str, ...] = ()
    merge: str = "give them one name in the tool"


def cases_in(file: CaseFile) -> Cases:
    """Read past cases with their labels and what each expert answered.

    Cases without a label are left out, and the notes say how many.
    """
    check_case_file(file)
    with file.spellings.in_errors():
        if file.format != "table":
            return _joined(file, _from_export(file))
        if file.answers is not None:
            return _joined(file, _from_long(file))
        return _from_wide(file)


def _from_wide(file: CaseFile) -> Cases:
    experts = file.expert_names if file.team is None else file.team
    assert experts is not None  # check_case_file
    source, first = file.name, file.source.first_row
    as_text = [file.label, *experts, file.key, *file.apart_columns, *file.beside]
    frame = file.source.read(as_text=as_text, sift=file.sift)
    frame = file.spellings.apply_to(frame, [file.label, *experts])
    named = _named(file, label=file.label, key=file.key, experts=experts)
    chosen, left_out = file.choose(frame, named)
    frame, missing = without_missing_answers(frame, experts, file.classes)
    frame, label, filled, remarks = _with_labels(frame, file, experts)
    frame, more = without_missing_answers(frame, experts, classes_of(frame[label], file.classes, source=source))
    with alike_in_errors(_label_counts(frame[label], file), classes_are_labels=file.classes is None):
        table = table_from_frame(
            frame,
            source=source,
            label=label,
            expert_names=experts,
            features=chosen,
            key=file.key,
            classes=file.classes,
            first_row=first,
        )
    return Cases(
        table=table,
        apart=file.columns_apart(frame),
        key=file.key,
        file=file,
        frame=frame,
        named=tuple(named),
        left_out=left_out,
        n_majority=0 if filled is None else int((filled.sources == MAJORITY).sum()),
        n_tied=0 if filled is None else filled.n_tied,
        first_row=first,
        remarks=(
            *remarks,
            *missing_answers_note(missing + more, source=source),
            *_alike_notes(file, frame[label], experts, merge="put their answers into one column"),
            *one_sided_class_notes(table, source=source),
        ),
    )


def _with_labels(
    frame: pd.DataFrame, file: CaseFile, experts: tuple[str, ...]
) -> tuple[pd.DataFrame, str, KnownLabels | None, tuple[str, ...]]:
    """Return the rows that have a label, the label's column, the labels with majorities, and what was left out."""
    if file.majority:
        frame, label, filled = _with_majority(frame, file, experts)
        has_label = _labelled(filled)
        remarks = _left_out(has_label, file.name)
    else:
        assert file.label is not None  # check_case_file
        label, filled, has_label = file.label, None, _filled(frame[file.label], file)
        frame, remarks = frame[has_label], _left_out(has_label, file.name)
    if file.source.is_text or not all(has_label):
        frame = frame.copy(deep=False)
        frame[label] = parse_labels(frame[label]) if file.source.is_text else whole_labels(frame[label])
    return frame, label, filled, remarks


def _with_majority(
    frame: pd.DataFrame, file: CaseFile, experts: tuple[str, ...]
) -> tuple[pd.DataFrame, str, KnownLabels]:
    """Return the rows that have a label once blank ones are filled, the label's column, and all labels (n,)."""
    source, first = file.name, file.source.first_row
    if file.classes is not None:  # an answer that is no class is told with its own column
        class_codes(frame, dict.fromkeys(experts, "answer"), file.classes, source=source, first_row=first)
    known = _labels(log_from_columns(frame, experts, source=source), frame, file)
    has_label = _labelled(known)
    label = "label"
    while label in frame.columns:
        label += "'"
    filled = frame[has_label].copy(deep=False)
    filled[label] = pd.Series(known.labels[has_label], index=filled.index, dtype=object)
    return filled, label, known


def _named(
    file: CaseFile, *, label: str | None, key: str | None, experts: tuple[str, ...] = ()
) -> list[tuple[str, str]]:
    """Return the columns that have a role, with the role in words."""
    roles = [*([] if label is None else [(label, "the label")]), *((name, "an expert") for name in experts)]
    return [*roles, *([] if key is None else [(key, "the key")]), *file.apart]


def _labelled(known: KnownLabels) -> BoolArray:
    return np.array([one is not None for one in known.sources.tolist()], dtype=np.bool_)


def _from_long(file: CaseFile) -> _Record:
    assert file.answers is not None
    source, first = file.name, file.source.first_row
    columns = long_columns(
        file.answers.head(),
        item=file.item,
        annotator=file.annotator,
        answer=file.answer,
        time=None,
        source=file.answers.name,
    )
    key = key_column(file.source.head(), file.key, item=columns.item, source=source)
    table = replace(file.source, blanks=file.source.blanks.without(key))
    items = table.read(as_text=[file.label, key, *file.apart_columns, *file.beside])
    log = file.answers.read(as_text=[columns.item, columns.annotator, columns.answer])
    items, log = file.spellings.apply_to(items, [file.label]), file.spellings.apply_to(log, [columns.answer])
    if file.label is not None and file.label not in items.columns:
        raise no_such_column(file.label, list(map(str, items.columns)), source=source, role="the label")

    join = partial(
        join_answers,
        items,
        log,
        key=key,
        **vars(columns),
        source=file.answers.name,
        items_source=source,
        first_row=file.answers.first_row,
        items_first_row=first,
    )
    answers = join(unknown="ignore")
    if answers.n_unknown and not len(answers):
        join(unknown="error")  # tells which row, and what it may have meant
    merge = f"write one name in the column {columns.annotator}"
    known = _labels(answers, items, file)
    return _Record(items, answers, known, key, first, file.label, notes=answers.notes(), merge=merge)


def _from_export(file: CaseFile) -> _Record:
    path = file.source.path
    assert path is not None  # check_case_file
    without: LabelChoice = "majority" if file.majority else "leave out"
    export = EXPORTS.find(file.format)
    cases = export.read(path, label=file.label, without_label=without, key=file.key, control=file.control)
    answers, known = cases.answers, KnownLabels(cases.labels, cases.label_sources, cases.n_tied)
    if file.spellings:
        answers = answers.respelled(file.spellings)
        known = _respelled(known, answers, file, without_label=without)
    items = file.source.blanks.without(cases.key).apply(cases.items)
    record = _Record(items, answers, known, cases.key, 1, None, cases.control, cases.notes)
    if not file.majority and MAJORITY in known.sources.tolist():
        ground = f"{export.way_to_label}, " if export.way_to_label else ""
        raise TableError(
            f"{file.name}: no item has a label; {ground}name a field that holds it with ",
            Argument("label"),
            ", or pass ",
            Argument("majority_label", True),
            " to take the most frequent answer.",
        )
    return record


def _respelled(known: KnownLabels, answers: AnswerLog, file: CaseFile, *, without_label: LabelChoice) -> KnownLabels:
    """Return the labels of an export spelled as they are meant; a majority is that of the respelled answers."""
    labels = file.spellings.apply(pd.Series(known.labels, dtype=object)).tolist()
    origin = known.sources.tolist()
    names = [name for name in dict.fromkeys(origin) if name not in (None, MAJORITY)]
    sources = [
        (name, [label if one == name else None for label, one in zip(labels, origin, strict=True)]) for name in names
    ]
    return known_labels(answers, *sources, without_label=without_label)


def _labels(answers: AnswerLog, items: pd.DataFrame, file: CaseFile) -> KnownLabels:
    """Take the labels (n,) from their column and, where that is wanted, from the majority."""
    label_cells = None if file.label is None else items[file.label].tolist()
    if file.label is not None and not file.majority:
        _filled(items[file.label], file)
    return known_labels(
        answers, ("the column", label_cells), without_label="majority" if file.majority else "leave out"
    )


def _filled(labels: "pd.Series[Any]", file: CaseFile) -> BoolArray:
    """Tell which rows (n,) have a label; it is an error if none has."""
    filled = np.array([not is_blank(cell) for cell in labels.tolist()], dtype=np.bool_)
    if len(filled) and not filled.any():
        raise TableError(
            f"{file.name}: column {file.label}: no row has a label; fill it in, or pass ",
            Argument("majority_label", True),
            ".",
        )
    return filled


def _joined(file: CaseFile, record: _Record) -> Cases:
    """Put items, labels and the answers of the experts who count together."""
    named = _named(file, label=record.label_column, key=record.key)
    chosen, left_out = file.choose(record.items, named)
    has_label = _labelled(record.known)
    items = record.items[has_label]
    labels = parse_labels(pd.Series(record.known.labels[has_label], index=items.index, dtype=object))
    answers, strangers = _of_experts(file, record.answers)
    missing = missing_answers(
        pd.Series(answers.answers, dtype=object), classes_of(labels, file.classes, source=file.name)
    )
    answers = answers.respelled(Spellings(dict.fromkeys(missing, "")))
    if file.classes is not None:  # a label that is no class is told with its own row
        _check_classes(labels, answers.take(has_label), record, file)
    with alike_in_errors(_label_counts(labels, file), classes_are_labels=file.classes is None):
        table = table_from_long(
            items,
            answers.take(has_label),
            labels=labels.to_numpy(),
            features=chosen,
            classes=file.classes,
            layout="sparse",
        )
    table.features.index = items.index  # the rows of the file, for messages
    return Cases(
        table=table,
        apart=file.columns_apart(items),
        key=record.key,
        file=file,
        frame=items,
        named=tuple(named),
        left_out=left_out,
        n_majority=int((record.known.sources == MAJORITY).sum()),
        n_tied=record.known.n_tied,
        control=record.control,
        first_row=record.first_row,
        remarks=(
            *record.notes,
            *strangers,
            *missing_answers_note(missing, source=answers.source),
            *_left_out(has_label, file.name),
            *_alike_notes(file, labels, answers.expert_names, merge=record.merge),
            *one_sided_class_notes(table, source=file.name),
        ),
    )


def _label_counts(labels: "pd.Series[Any]", file: CaseFile) -> dict[object, int]:
    """Return how many cases have each label that is a text; of a team at work the classes are settled."""
    if file.classes is not None:
        return {}
    return Counter(cell.strip() for cell in labels.tolist() if isinstance(cell, str) and cell.strip())


def _alike_notes(file: CaseFile, labels: "pd.Series[Any]", experts: tuple[str, ...], *, merge: str) -> tuple[str, ...]:
    """Say which classes are probably one class, and which experts one person; of a team at work both are settled."""
    if file.team is not None:
        return ()
    counts = _label_counts(labels, file)
    return (
        *alike_class_notes(counts, source=file.name),
        *missing_class_notes(counts, source=file.name),
        *alike_expert_notes(experts, source=(file.answers or file.source).name, merge=merge),
    )


def _check_classes(labels: "pd.Series[Any]", answers: AnswerLog, record: _Record, file: CaseFile) -> None:
    """Refuse labels and answers that are none of the known classes, all of them at once."""
    name = record.label_column or "label"
    assert file.classes is not None
    where: dict[str, Any] = {"source": file.name, "first_row": record.first_row}
    wrong = np.flatnonzero(matching_codes(labels, file.classes) == NO_CLASS)
    bad = bad_answers(labels.to_frame(name), name, wrong, file.classes, what="label", **where)
    answers.class_idx(file.classes, others=bad)


def _of_experts(file: CaseFile, answers: AnswerLog) -> tuple[AnswerLog, tuple[str, ...]]:
    """Keep the answers of those who count; say who else answered."""
    if file.team is None and file.expert_names is None:
        return answers, ()
    wanted = file.expert_names if file.team is None else file.team
    known = set(answers.expert_names)
    if file.team is None:
        stranger = next((name for name in wanted or () if name not in known), None)
        if stranger is not None:
            raise TableError(
                f"{answers.source}: no answer of the expert {stranger!r}{did_you_mean(stranger, answers.expert_names)} "
                f"The experts are {join_names(answers.expert_names)}."
            )
    elif known.isdisjoint(file.team):
        raise TableError(
            f"{answers.source}: nobody of the team answered; it has "
            f"{join_names(file.team, most=6)}, the answers are of "
            f"{join_names(answers.expert_names, most=6)}."
        )
    others = len(known - set(wanted or ()))
    if file.team is None:
        note = f"{answers.source}: answers of {count_of(others, 'other expert')} are not used."
    else:
        who = "1 person who is" if others == 1 else f"{others} people who are"
        alike = alike_experts([*file.team, *sorted(known - set(file.team))])
        names = [f"{one[0]} (here {one[-1]})" for one in alike if one[0] in file.team and one[-1] not in file.team]
        same = f" Perhaps of the team, but written differently: {join_names(names)}." if names else ""
        note = f"{answers.source}: answers of {who} not in the team are left out.{same}"
    return answers.of_experts(wanted or ()), (note,) if others else ()


def _left_out(has_label: BoolArray, source: str) -> tuple[str, ...]:
    count = int((~has_label).sum())
    return (f"{source}: {count} of {len(has_label)} cases have no label and are left out.",) if count else ()
