"""Past cases from a wide table, from a table with a log of answers, or from the export of an annotation tool."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import BoolArray
from defero.core.errors import Argument, TableError
from defero.core.labels import Labels
from defero.core.wording import count_of, did_you_mean, join_names
from defero.data.answers.class_codes import (
    NO_CLASS,
    bad_answers,
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
from defero.data.cases import CaseFile, Cases, export_path
from defero.data.exports.export import Export
from defero.data.table_spec import Control
from defero.data.tables.cells import is_blank, no_such_column
from defero.data.tables.read import TableSource
from defero.data.tables.wide import table_from_frame


@dataclass(frozen=True, eq=False)
class _Joinable:
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
    export = file.check()
    with file.spellings.in_errors():
        if export is not None:
            return _joined(file, _from_export(file, export))
        if file.answers is not None:
            return _joined(file, _from_log(file, file.answers))
        return _from_wide(file, file.experts or ())


def _from_wide(file: CaseFile, experts: tuple[str, ...]) -> Cases:
    spec, source, first = file.spec, file.name, file.source.first_row
    frame = file.source.read(as_text=[spec.label, *experts, spec.key, *file.as_written], sift=file.sift)
    frame = file.spellings.apply_to(frame, [spec.label, *experts])
    named = file.roles(label=spec.label, key=spec.key, experts=experts)
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
            key=spec.key,
            classes=file.classes,
            first_row=first,
        )
    return Cases(
        table=table,
        apart=file.columns_apart(frame),
        key=spec.key,
        file=file,
        frame=frame,
        named=named,
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
    label, filled = file.spec.label, None
    if label is None or file.spec.majority_label:
        frame, label, filled = _with_majority(frame, file, experts)
        has_label = _labelled(filled)
    else:
        has_label = _filled(frame[label], file)
        frame = frame[has_label]
    remarks = _left_out(has_label, file.name)
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


def _labelled(known: KnownLabels) -> BoolArray:
    return np.array([one is not None for one in known.sources.tolist()], dtype=np.bool_)


def _from_log(file: CaseFile, answers: TableSource) -> _Joinable:
    spec, source, first = file.spec, file.name, file.source.first_row
    columns = long_columns(answers.head(), **spec.log_columns, time=None, source=answers.name)
    key = key_column(file.source.head(), spec.key, item=columns.item, source=source)
    table = replace(file.source, blanks=file.source.blanks.without(key))
    items = file.spellings.apply_to(table.read(as_text=[spec.label, key, *file.as_written]), [spec.label])
    log = answers.read(as_text=[columns.item, columns.annotator, columns.answer])
    log = file.spellings.apply_to(log, [columns.answer])
    if spec.label is not None and spec.label not in items.columns:
        raise no_such_column(spec.label, list(map(str, items.columns)), source=source, role="the label")

    join = partial(
        join_answers,
        items,
        log,
        key=key,
        **vars(columns),
        source=answers.name,
        items_source=source,
        first_row=answers.first_row,
        items_first_row=first,
    )
    joined = join(unknown="ignore")
    if joined.n_unknown and not len(joined):
        join(unknown="error")  # tells which row, and what it may have meant
    merge = f"write one name in the column {columns.annotator}"
    known = _labels(joined, items, file)
    return _Joinable(items, joined, known, key, first, spec.label, notes=joined.notes(), merge=merge)


def _from_export(file: CaseFile, export: Export) -> _Joinable:
    spec, without = file.spec, _without_label(file)
    path = export_path(file.source)
    cases = export.read(path, label=spec.label, without_label=without, key=spec.key, control=spec.control)
    answers, known = cases.answers, KnownLabels(cases.labels, cases.label_sources, cases.n_tied)
    if file.spellings:
        answers = answers.respelled(file.spellings)
        known = _respelled(known, answers, file)
    if not spec.majority_label and MAJORITY in known.sources.tolist():
        ground = f"{export.way_to_label}, " if export.way_to_label else ""
        raise TableError(
            f"{file.name}: no item has a label; {ground}name a field that holds it with ",
            Argument("label"),
            ", or pass ",
            Argument("majority_label", True),
            " to take the most frequent answer.",
        )
    items = file.source.blanks.without(cases.key).apply(cases.items)
    return _Joinable(items, answers, known, cases.key, 1, None, cases.control, cases.notes)


def _without_label(file: CaseFile) -> LabelChoice:
    return "majority" if file.spec.majority_label else "leave out"


def _respelled(known: KnownLabels, answers: AnswerLog, file: CaseFile) -> KnownLabels:
    """Return the labels of an export spelled as they are meant; a majority is that of the respelled answers."""
    labels = file.spellings.apply(pd.Series(known.labels, dtype=object)).tolist()
    origin = known.sources.tolist()
    names = [name for name in dict.fromkeys(origin) if name not in (None, MAJORITY)]
    sources = [
        (name, [label if one == name else None for label, one in zip(labels, origin, strict=True)]) for name in names
    ]
    return known_labels(answers, *sources, without_label=_without_label(file))


def _labels(answers: AnswerLog, items: pd.DataFrame, file: CaseFile) -> KnownLabels:
    """Take the labels (n,) from their column and, where that is wanted, from the majority."""
    label_cells = None if file.spec.label is None else items[file.spec.label]
    if label_cells is not None and not file.spec.majority_label:
        _filled(label_cells, file)
    cells = None if label_cells is None else label_cells.tolist()
    return known_labels(answers, ("the column", cells), without_label=_without_label(file))


def _filled(labels: "pd.Series[Any]", file: CaseFile) -> BoolArray:
    """Tell which rows (n,) have a label; it is an error if none has."""
    filled = np.array([not is_blank(cell) for cell in labels.tolist()], dtype=np.bool_)
    if len(filled) and not filled.any():
        raise TableError(
            f"{file.name}: column {labels.name}: no row has a label; fill it in, or pass ",
            Argument("majority_label", True),
            ".",
        )
    return filled


def _joined(file: CaseFile, record: _Joinable) -> Cases:
    """Put items, labels and the answers of the experts who count together."""
    named = file.roles(label=record.label_column, key=record.key)
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
        _check_classes(labels, answers.take(has_label), file.classes, record, source=file.name)
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
        named=named,
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


def _check_classes(
    labels: "pd.Series[Any]", answers: AnswerLog, classes: Labels, record: _Joinable, *, source: str
) -> None:
    """Refuse labels and answers that are none of the known classes, all of them at once."""
    name = record.label_column or "label"
    wrong, first = np.flatnonzero(matching_codes(labels, classes) == NO_CLASS), record.first_row
    frame = labels.to_frame(name)
    bad = bad_answers(frame, name, wrong, classes, what="label", source=source, first_row=first)
    answers.class_idx(classes, others=bad)


def _of_experts(file: CaseFile, answers: AnswerLog) -> tuple[AnswerLog, tuple[str, ...]]:
    """Keep the answers of those who count; say who else answered."""
    wanted, known = file.experts, set(answers.expert_names)
    if wanted is None:
        return answers, ()
    if file.team is None:
        stranger = next((name for name in wanted if name not in known), None)
        if stranger is not None:
            raise TableError(
                f"{answers.source}: no answer of the expert {stranger!r}{did_you_mean(stranger, answers.expert_names)} "
                f"The experts are {join_names(answers.expert_names)}."
            )
    elif known.isdisjoint(wanted):
        raise TableError(
            f"{answers.source}: nobody of the team answered; it has {join_names(wanted, most=6)}, the answers are of "
            f"{join_names(answers.expert_names, most=6)}."
        )
    others = sorted(known.difference(wanted))
    note = f"{answers.source}: answers of {count_of(len(others), 'other expert')} are not used."
    if file.team is not None:
        who = "1 person who is" if len(others) == 1 else f"{len(others)} people who are"
        alike = alike_experts([*wanted, *others])
        names = [f"{one[0]} (here {one[-1]})" for one in alike if one[0] in wanted and one[-1] not in wanted]
        same = f" Perhaps of the team, but written differently: {join_names(names)}." if names else ""
        note = f"{answers.source}: answers of {who} not in the team are left out.{same}"
    return answers.of_experts(wanted), (note,) if others else ()


def _left_out(has_label: BoolArray, source: str) -> tuple[str, ...]:
    count = int((~has_label).sum())
    return (f"{source}: {count} of {len(has_label)} cases have no label and are left out.",) if count else ()
