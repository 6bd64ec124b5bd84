"""`read_cases`: past cases from a wide table, from one with a log of answers, or from an annotation tool's export."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from defero.core.errors import Argument, InputError, TableError
from defero.core.labels import find_classes
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
    Rename,
    alike_class_notes,
    alike_classes,
    alike_expert_notes,
    alike_experts,
    missing_answers_note,
    missing_class_notes,
    one_sided_class_notes,
)
from defero.data.cases import CaseFile, Cases, export_path
from defero.data.exports.export import Export, ExportedCases, format_of
from defero.data.recipes.pictures import PictureRecipe, usual_size
from defero.data.recipes.text_encoder import Encoder, find_encoder
from defero.data.table_spec import checked_spec
from defero.data.tables.cells import BlankCells
from defero.data.tables.read import Table, TableSource
from defero.data.tables.wide import row_keys

LARGEST_SIDE = 4096


def read_cases(
    table: Table,
    *,
    label: str | None = None,
    expert_names: Sequence[str] | None = None,
    scores: bool = False,
    answers: Table | None = None,
    item: str | None = None,
    annotator: str | None = None,
    answer: str | None = None,
    features: Sequence[str] | None = None,
    text: str | Sequence[str] = (),
    text_encoder: Encoder = None,
    key: str | None = None,
    majority_label: bool = False,
    format: str | None = None,
    control: str | None = None,
    images: str | PathLike[str] | None = None,
    image_column: str | None = None,
    image_size: int | tuple[int, int] | None = None,
    rename: Rename | None = None,
    blank: Sequence[str] = (),
    classes: ArrayLike | None = None,
) -> Cases:
    r"""Read past cases with their labels and what each expert answered.

    Cases without a label are left out, and `notes` say how many.

    Parameters
    ----------
    table : path or DataFrame
        One row per case: CSV, TSV, JSON lines (each also .gz) or Parquet; or an export of Label Studio or Prodigy.
    label : str, optional
        Column of the true labels; in an export, a data field.
    expert_names : columns, optional
        Columns of the experts' answers. A blank cell means that the expert was not asked. With `answers`, and in an
        export: the experts to use, by default all. An empty list: a model alone.
    scores : bool
        The cells of `expert_names` say how good each answer was, from 0 (wrong) to 1 (right), not what was answered: of
        language models, programs or people. There are no labels then. `fees` are what a call costs, `error_cost` is
        what a score of 0 in place of 1 costs.
    answers : path or DataFrame, optional
        File with one answer per row: columns for the item, the expert and the answer.
    item : str, optional
        Column of the item in `answers`. Default: found by name.
    annotator : str, optional
        Column of the expert in `answers`. Default: found by name.
    answer : str, optional
        Column of the answer in `answers`. Default: found by name.
    features : columns, optional
        Feature columns. Default: all other columns.
    text : name or names
        Feature column of text.
    text_encoder : str, path or callable, optional
        How `text` columns are read: tfidf (the default), a model of sentence-transformers or fastembed, such as
        all-MiniLM-L6-v2, or a folder with one; in Python also a function from a list of texts to an array (n, d). The
        model folder does not hold it: give it again to the other commands.
    key : str, optional
        Column of case ids. It is not used as a feature.
    majority_label : bool
        Use the most frequent answer as the label of cases without a label.
    format : str, optional
        table, label-studio, prodigy or a format of another package. Default: by the ending of the name.
    control : str, optional
        Name of the question to use, if a Label Studio export has several.
    images : path, optional
        Folder that the paths of the pictures are relative to. Default: the folder of the table.
    image_column : str, optional
        Column of the pictures' paths. The pictures are then the only feature.
    image_size : int or (height, width), optional
        Size in pixels, such as 32 or 32x48 (height x width; in Python a pair). Default: that of the first picture, at
        most 224x224.
    rename : path or mapping, optional
        File with the columns from (a spelling of an answer or a label) and to (the class that it means), or a mapping
        of the same. A blank class means no answer. If answers are no class, the command line writes such a file for
        you to complete. The model remembers it.
    blank : values
        Value to read as a blank cell, such as n/a or -9, in features, labels and answers, but not in the key. The
        model remembers it. For answers and labels alone use `rename`.
    classes : (K,), optional
        All classes, where the labels do not show each of them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "items.csv").write_text("item,size,truth\n1,0.5,a\n2,1.5,b\n3,2.5,a\n")
    >>> _ = (folder / "log.csv").write_text("item,worker,label\n1,al,a\n3,al,b\n3,bo,a\n")
    >>> cases = read_cases(folder / "items.csv", answers=folder / "log.csv", label="truth")
    >>> cases.key, cases.table.expert_names, list(cases.table.features)
    ('item', ('al', 'bo'), ['size'])
    """
    encoder = None if text_encoder is None else find_encoder(text_encoder)
    if encoder is not None and not text:
        raise InputError(f"reads columns of text; name them with {Argument('text')}.", argument="text_encoder")
    _check_pictures(images, column=image_column, size=image_size, others=features is not None or bool(text))
    spec = checked_spec(
        label=label,
        expert_names=expert_names,
        item=item,
        annotator=annotator,
        answer=answer,
        features=features if image_column is None else [image_column],
        text=text,
        key=key,
        majority_label=majority_label,
        format=format,
        control=control,
        image_column=image_column,
        scores=scores,
        rename=rename,
        blank=blank,
        log=answers is not None,
    )
    answered = () if scores else spec.expert_names or ()
    blanks = BlankCells(spec.blank).without(spec.label, spec.key, *answered)
    source = TableSource.of(table, blanks=blanks)
    cases = cases_in(
        CaseFile(
            source=source,
            spec=spec.but(format=format_of(source.path, spec.format)),
            answers=None if answers is None else TableSource.of(answers, name="answers"),
            encoder=encoder,
            beside=() if spec.key is None else (spec.key,),
            classes=None if classes is None else find_classes(classes, name="classes"),
        )
    )
    if image_column is None:
        return cases
    folder = Path(images) if images is not None else (source.path or Path()).parent
    return replace(cases, pictures=_picture_recipe(folder, cases, image_column, image_size))


def _check_pictures(
    images: str | PathLike[str] | None,
    *,
    column: str | None,
    size: int | tuple[int, int] | None,
    others: bool,
) -> None:
    """Refuse arguments that do not go together, before anything is read."""
    if column is None:
        for name, value in (("images", images), ("image_size", size)):
            if value is not None:
                raise InputError(
                    f"{Argument(name, str(value))}: is for pictures; name the column of their paths with "
                    f"{Argument('image_column')}."
                )
        return
    if images is not None and not Path(images).is_dir():
        raise InputError(f"{Argument('images', str(images))}: expected the folder of the pictures.")
    if others:
        raise InputError(
            f"{Argument('image_column')}: a deep net reads the pictures alone; leave {Argument('features')} and "
            f"{Argument('text')} out."
        )
    sides = (size,) if isinstance(size, int) else size or ()
    if len(sides) > 2 or not all(0 < side <= LARGEST_SIDE for side in sides):
        raise InputError(
            f"must be pixels, one side or (height, width), from 1 to {LARGEST_SIDE}, got {size!r}.",
            argument="image_size",
        )


def _picture_recipe(folder: Path, cases: Cases, column: str, size: int | tuple[int, int] | None) -> PictureRecipe:
    """Return how the cases' pictures are read, after every one of them has been read once."""
    features = cases.table.features
    unsized = PictureRecipe(column, (1, 1)).inside(folder)
    files = unsized.apply(features, source=cases.source, first_row=cases.first_row)
    files.take(slice(0, 1)).check()
    sides = usual_size(files.paths[0]) if size is None else (size, size) if isinstance(size, int) else size
    recipe = replace(unsized, size=sides)
    recipe.apply(features, source=cases.source, first_row=cases.first_row).check()
    return recipe


def read_table(table: Table, *, label: str, experts: Sequence[str] | None = None, **options: Any) -> ExpertTable:
    """Read a table of cases as an `ExpertTable`; the other options are those of `read_cases`.

    Examples
    --------
    >>> import pandas as pd
    >>> past = pd.DataFrame({"age": [30, 50], "truth": ["well", "ill"], "dr_a": ["well", None]})
    >>> read_table(past, label="truth", experts=["dr_a"]).features.columns.tolist()
    ['age']
    """
    return read_cases(table, label=label, expert_names=experts, **options).table


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
