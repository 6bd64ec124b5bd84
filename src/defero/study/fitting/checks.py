"""What `Study` refuses: cases that nothing can be learned from."""

from numbers import Integral
from typing import TYPE_CHECKING

from defero.core.errors import Argument, InputError, TableError
from defero.core.wording import join_names
from defero.data.case_file import Cases
from defero.data.recipes.columns import refuse_unused
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.tables.cells import row_number
from defero.study.fitting.parts import TEST, four_parts

if TYPE_CHECKING:
    from defero.core import ExpertTable

MOST_SEED = 2**32 - 1
LEAST_LEARN, LEAST_CASES = 10, 20
"""Two cases for each of the five folds that training looks at, and as many more for the other three parts."""


def check_cases(cases: object) -> None:
    """Refuse a table that was not read yet."""
    if cases is not None and not isinstance(cases, Cases):
        got = f"the text {cases!r}" if isinstance(cases, str) else type(cases).__name__
        raise InputError(
            f"must be what read_cases returned, got {got}; pass read_cases(table, label=..., expert_names=[...]).",
            argument="cases",
        )


def check_test_share(test_share: float | None, *, split: str | None) -> None:
    """Refuse a share that cannot be."""
    if test_share is not None and not 0 < test_share < 1:
        raise InputError(f"must lie between 0 and 1, got {test_share:g}.", argument="test_share")
    if test_share is not None and split is not None:
        raise InputError(
            f": the column {split} says which cases are for the test; leave one of them out.", argument="test_share"
        )


def check_seed(random_state: object) -> None:
    """Refuse a seed that NumPy and scikit-learn do not take."""
    if not isinstance(random_state, Integral) or not 0 <= int(random_state) <= MOST_SEED:
        raise InputError(
            f"must be a whole number from 0 to {MOST_SEED}, got {random_state!r}.", argument="random_state"
        )


def checked_parts(
    cases: Cases, *, test_share: float | None, cuts: dict[str, str | None], random_state: int
) -> "tuple[ExpertTable, ...]":
    """Split the cases in four, after checking that there is something to learn from and to judge by.

    `cuts` are the columns of "groups", "time" and "split".
    """
    table, source = cases.table, cases.source
    where = source if cases.file.label is None else f"{source}: column {cases.file.label}"
    _check_table(cases, where=where)
    share = TEST if test_share is None else test_share
    parts = four_parts(cases, test_share=share, **cuts, random_state=random_state)
    if len(parts[0]) < LEAST_LEARN or not all(map(len, parts)):
        learn, held, panels, test = map(len, parts)
        raise TableError(
            f"{source}: {len(table)} cases, so split, leave {learn} to learn from, {held} to calibrate, {panels} to "
            f"conformalize and {test} for the test; expected at least {LEAST_LEARN} to learn from and one of each of "
            "the others. Pass more, or split in another way."
        )
    if table.n_experts and not parts[0].n_answers:
        raise TableError(
            f"{source}: no expert answered any of the cases to learn from; fill in answers, or pass ",
            Argument("expert_names", []),
            " for a model alone.",
        )
    _check_classes(cases, parts[0], where=where, cuts=cuts)
    if cases.pictures is None and cases.file.features is not None:
        chosen = [name for name in cases.file.features if name not in cases.file.text]
        refuse_unused(parts[0].features, table.features, chosen, source=source, first_row=cases.first_row)
    return parts


def _check_table(cases: Cases, *, where: str) -> None:
    """Refuse cells that cannot be used, with the file and the row, and labels that cannot be learned."""
    table = cases.table
    if len(table) < LEAST_CASES:
        raise TableError(
            f"{cases.source}: {_too_few(len(table))}; expected at least {LEAST_CASES}: {LEAST_LEARN} to learn "
            "from, and 3 or 4 each to calibrate, to conformalize and for the test. Dozens make a start, hundreds a "
            "team."
        )
    if cases.pictures is None:
        FeatureRecipe.check(table.features, text=cases.file.text, source=cases.source, first_row=cases.first_row)
    if table.n_classes < 2:
        raise TableError(f"{where}: the label is {table.classes[0]!s} in every row, so there is nothing to learn.")
    if table.classes.dtype.kind == "f" and (table.classes % 1 != 0).any():
        raise TableError(f"{where}: labels must be words or whole numbers, got {join_names(table.classes, most=3)}.")


def _too_few(n_cases: int) -> str:
    return "1 case is too few" if n_cases == 1 else f"{n_cases} cases are too few"


def _check_classes(cases: Cases, learn: "ExpertTable", *, where: str, cuts: dict[str, str | None]) -> None:
    """Refuse a split that leaves a class out of the cases to learn from: no model can know it."""
    table = cases.table
    unknown = sorted(set(table.label_idx.tolist()) - set(learn.label_idx.tolist()))
    if not unknown:
        return
    places = (table.label_idx == unknown[0]).nonzero()[0]
    row = row_number(table.features, int(places[0]), first_row=cases.first_row)
    how = [Argument(name, column) for name, column in cuts.items() if column is not None]
    raise TableError(
        f"{where}: no case to learn from has the label {str(table.classes[unknown[0]])!r} ({len(places)} have it, the "
        f"first in row {row}), as ",
        *(piece for one in how for piece in (one, " ")),
        "splits them; leave those rows out, or split in another way.",
    )
