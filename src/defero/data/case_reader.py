"""Past cases from a wide table, from a table with a log of answers, or from the export of an annotation tool."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd

from defero.core.errors import Argument, TableError
from defero.core.table import ExpertTable
from defero.core.wording import count_of, did_you_mean, join_names
from defero.data.answers.class_codes import (
    NO_CLASS,
    bad_answers,
    classes_of,
    matching_codes,
    parse_labels,
    whole_labels,
)
from defero.data.answers.log import MAJORITY, AnswerLog, KnownLabels, describe_sources, known_labels, log_from_columns
from defero.data.answers.read_log import join_answers, key_column, long_columns
from defero.data.answers.spellings import (
    alike_class_notes,
    alike_classes,
    alike_expert_notes,
    alike_experts,
    missing_answers_note,
    missing_class_notes,
    one_sided_class_notes,
)
from defero.data.cases import CaseFile, Cases, export_path
from defero.data.exports.export import Export, ExportedCases
from defero.data.tables.read import TableSource
from defero.data.tables.wide import row_keys


def cases_in(file: CaseFile) -> Cases:
    """Read past cases with their labels and what each expert answered.

    Cases without a label are left out, and the notes say how many.
    """
    if file.spec.scores:
        from defero.data.scored_cases import scored_cases

        return scored_cases(file)
    export = file.check()
    if export is not None:
        return _from_export(file, export)
    if file.answers is not None:
        return _from_log(file, file.answers)
    return _from_wide(file, file.experts or ())


def _from_wide(file: CaseFile, experts: tuple[str, ...]) -> Cases:
    spec, first = file.spec, file.source.first_row
    items = file.source.read(as_text=[spec.label, *experts, spec.key, *file.as_written], sift=file.sift)
    items = file.spellings.apply_to(items, experts)
    named = file.roles(label=spec.label, key=spec.key, experts=experts)
    file.choose(items, named)  # raises where a column is missing
    answers = log_from_columns(items, experts, source=file.name, first_row=first)
    past = ExportedCases(items=items, answers=answers, labels=_in_column(file, items), key=spec.key)
    merge = "put their answers into one column"
    return _cases(file, past, named, first_row=first, typed=not file.source.is_text, merge=merge)


def _in_column(file: CaseFile, items: pd.DataFrame) -> dict[str, list[object]]:
    return {} if file.spec.label is None else {"the column": items[file.spec.label].tolist()}


def _from_log(file: CaseFile, answers: TableSource) -> Cases:
    spec, source, first = file.spec, file.name, file.source.first_row
    columns = long_columns(answers.head(), **spec.log_columns, source=answers.name)
    key = key_column(file.source.head(), spec.key, item=columns.item, source=source)
    table = replace(file.source, blanks=file.source.blanks.without(key))
    items = table.read(as_text=[spec.label, key, *file.as_written])
    log = answers.read(as_text=[columns.item, columns.annotator, columns.answer])
    log = file.spellings.apply_to(log, [columns.answer])
    named = file.roles(label=spec.label, key=key)
    file.choose(items, named)  # raises where a column is missing
    joined = join_answers(
        items,
        log,
        key=key,
        **vars(columns),
        unknown="ignore",
        source=answers.name,
        items_source=source,
        first_row=answers.first_row,
        items_first_row=first,
    )
    past = ExportedCases(items=items, answers=joined, labels=_in_column(file, items), key=key, notes=joined.notes())
    return _cases(file, past, named, first_row=first, merge=f"write one name in the column {columns.annotator}")


def _from_export(file: CaseFile, export: Export) -> Cases:
    spec = file.spec
    past = export.read(export_path(file.source), label=spec.label, key=spec.key, control=spec.control)
    items = file.source.blanks.without(past.key).apply(past.items)
    past = replace(past, items=items, answers=past.answers.respelled(file.spellings))
    named = file.roles(label=None, key=past.key)
    return _cases(file, past, named, first_row=1, merge="give them one name in the tool", export=export)


def _cases(
    file: CaseFile,
    past: ExportedCases,
    named: tuple[tuple[str, str], ...],
    *,
    first_row: int,
    merge: str,
    typed: bool | None = None,
    export: Export | None = None,
) -> Cases:
    """Put items, labels and the answers of the experts who count together.

    `typed` tells of a wide table whether its cells have types of their own: labels that are texts then stay texts.
    `merge` says how two names of one expert become one.
    """
    chosen, left_out = file.choose(past.items, named)
    known = _known(file, past, export)
    items, column = past.items[known.known], file.spec.label or "label"
    labels = pd.Series(known.labels[known.known], index=items.index, name=column, dtype=object)
    if not typed:
        labels = parse_labels(labels)
    elif not known.known.all():
        labels = whole_labels(labels.infer_objects())
    if past.key is not None:
        row_keys(items, past.key, source=file.name, first_row=first_row)
    classes = classes_of(labels, file.classes, source=file.name)
    label_idx = matching_codes(labels, classes)
    no_class = np.flatnonzero(label_idx == NO_CLASS)
    wrong = bad_answers(labels, no_class, classes, what="label", source=file.name, first_row=first_row)
    answers, strangers = (past.answers, ()) if typed is not None else _of_experts(file, past.answers)
    answers, missing = answers.without_missing(classes)
    counts: Counter[object] = Counter()
    alike_labels = None
    if file.classes is None:  # of a team at work the classes are settled
        counts.update(cell.strip() for cell in labels.tolist() if isinstance(cell, str))
        alike_labels = {name: names[0] for names in alike_classes(counts) for name in names[1:]}
    renamed = file.spellings.meant
    coded = answers.take(known.known).among(classes, others=wrong, renamed=renamed, alike=alike_labels)
    table = ExpertTable(
        classes[label_idx], coded, features=items[chosen], classes=classes, expert_names=answers.expert_names
    )
    alike: list[str] = []
    if file.team is None:
        alike += alike_class_notes(counts, source=file.name)
        alike += missing_class_notes(counts, source=file.name)
        alike += alike_expert_notes(answers.expert_names, source=(file.answers or file.source).name, merge=merge)
    n_without = int((~known.known).sum())
    without = f"{file.name}: {n_without} of {len(known.known)} cases have no label and are left out."
    return Cases(
        table=table,
        apart=file.columns_apart(items),
        key=past.key,
        file=file,
        frame=items,
        named=named,
        left_out=left_out,
        n_majority=int((known.sources == MAJORITY).sum()),
        n_tied=known.n_tied,
        control=past.control,
        first_row=first_row,
        remarks=(
            *([describe_sources(known.sources, source=file.name)] if export is not None else []),
            *past.notes,
            *strangers,
            *([without] if n_without else []),
            *missing_answers_note(missing, source=answers.source),
            *alike,
            *one_sided_class_notes(table, source=file.name),
        ),
    )


def _known(file: CaseFile, past: ExportedCases, export: Export | None) -> KnownLabels:
    """Take the labels (n,) from where they are recorded and, where that is wanted, from the majority."""
    answers = past.answers if file.classes is None else past.answers.without_missing(file.classes)[0]
    sources = {
        name: file.spellings.apply(pd.Series(list(values), dtype=object)).tolist()
        for name, values in past.labels.items()
    }
    known = known_labels(answers, sources, majority=file.spec.majority_label)
    if known.known.any() or not len(known.known):
        return known
    majority = Argument("majority_label", True)
    if export is None:
        raise TableError(f"{file.name}: column {file.spec.label}: no row has a label; fill it in, or pass {majority}.")
    how = f"{export.way_to_label}, " if export.way_to_label else ""
    raise TableError(
        f"{file.name}: no item has a label; {how}name a field that holds it with {Argument('label')}, or pass "
        f"{majority} to take the most frequent answer."
    )


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
