"""`read_cases`: past cases as somebody describes them, checked before anything is read."""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from defero.core.errors import Argument, InputError
from defero.core.labels import find_classes
from defero.core.table import ExpertTable
from defero.data.answers.spellings import Spellings
from defero.data.case_reader import cases_in
from defero.data.cases import CaseFile, Cases
from defero.data.exports.export import format_of
from defero.data.recipes.pictures import PictureRecipe, usual_size
from defero.data.recipes.text_encoder import Encoder, find_encoder
from defero.data.table_spec import Rename, TableSpec
from defero.data.tables.cells import BlankCells
from defero.data.tables.read import Table, TableSource

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
    encoder = find_encoder(text_encoder)
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


def checked_spec(
    *,
    expert_names: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    text: str | Sequence[str] = (),
    rename: Rename | None = None,
    blank: Sequence[str] = (),
    log: bool = False,
    **words: Any,
) -> TableSpec:
    """Check what somebody says of a table, in the words of `read_cases`; `log` tells whether there is a log of answers.

    >>> checked_spec(label="truth", blank=["n/a ", "-9"]).blank
    ('n/a', '-9')
    """
    words |= {name: str(words[name]) for name in ("label", "key") if words.get(name) is not None}
    meant, none = Spellings.of(rename=rename, blank=blank).meant, BlankCells.of(blank).values
    return TableSpec(
        expert_names=_names(expert_names, "expert_names"),
        features=_names(features, "features"),
        text=(text,) if isinstance(text, str) else tuple(text),
        rename={written: text for written, text in meant.items() if written not in none},
        blank=none,
        log=log,
        **words,
    )


def _names(names: Sequence[str] | None, argument: str) -> tuple[str, ...] | None:
    if isinstance(names, str):
        raise InputError(f"must be a list of column names, got the text {names!r}.", argument=argument)
    return None if names is None else tuple(map(str, names))


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
