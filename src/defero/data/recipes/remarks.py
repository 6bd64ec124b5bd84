"""Remarks on new rows: which cells were filled, and which lie outside of what was learned from."""

from collections.abc import Mapping

from defero.core.wording import count_of, join_names
from defero.data.recipes.columns import CategoricalColumn, NumericColumn
from defero.data.recipes.embedded_column import EmbeddedColumn
from defero.data.recipes.text_column import TextColumn
from defero.data.recipes.text_vectors import VectorColumn

NEW: dict[type, str] = {
    NumericColumn: "far beyond the training range",
    CategoricalColumn: "a category never seen in training",
    **dict.fromkeys((TextColumn, VectorColumn, EmbeddedColumn), "none of its words was seen in training"),
}
FILLED: dict[type, str] = {
    NumericColumn: "blank, filled with the training median",
    CategoricalColumn: "blank, which no training row was",
    **dict.fromkeys((TextColumn, VectorColumn, EmbeddedColumn), "blank, read as no words"),
}


def remark_sentences(remarks: Mapping[str, int]) -> list[str]:
    """Return a sentence for each remark on new rows; all columns with filled cells share one, the last.

    >>> remark_sentences({"age: blank, filled with the training median": 3, "size: far beyond the training range": 1})
    ['size: far beyond the training range, in 1 row.', 'blank cells, filled with the training median: age in 3 rows.']
    """
    routine = f": {FILLED[NumericColumn]}"
    others = {clause: count for clause, count in remarks.items() if not clause.endswith(routine)}
    blanks = {clause.removesuffix(routine): count for clause, count in remarks.items() if clause.endswith(routine)}
    sentences = [f"{clause}, in {count_of(count, 'row')}." for clause, count in others.items()]
    listing = join_names((f"{name} in {count_of(count, 'row')}" for name, count in blanks.items()), most=6)
    return [*sentences, *([f"blank cells, filled with the training median: {listing}."] if blanks else [])]
