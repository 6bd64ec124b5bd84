"""What `fit` refuses: options that cannot be, and cases that nothing can be learned from."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from defero.core import ExpertTable
    from defero.data.case_file import CaseFile, Cases
    from defero.data.recipes.picture_recipe import PictureRecipe

ALPHA, TARGET = 0.1, "any-correct"
LEAST_LEARN, LEAST_CASES = 10, 20
"""Two cases for each of the five folds that training looks at, and as many more for the other three parts."""


def check_options(*, target: str, alpha: float, test_share: float | None, split: str | None) -> None:
    """Refuse options that cannot be, before anything is read."""
    from defero.core.errors import InputError
    from defero.core.targets import TARGETS
    from defero.core.wording import did_you_mean, join_names

    targets = tuple(TARGETS)
    if target not in targets:
        raise InputError(
            f"--target must be one of {join_names(targets)}, got {target!r}{did_you_mean(target, targets)}"
        )
    if not 0 < alpha < 1:
        raise InputError(f"--alpha must lie between 0 and 1, got {alpha:g}; for a promise of 90 % pass 0.1.")
    if test_share is not None and not 0 < test_share < 1:
        raise InputError(f"--test-share must lie between 0 and 1, got {test_share:g}.")
    if test_share is not None and split is not None:
        raise InputError(f"--test-share: the column {split} says which cases are for the test; leave one of them out.")


def without_effect(loss: str, *, alpha: float, target: str, fees: list[float]) -> list[str]:
    """Say which options this loss has no use for."""
    changed = {"--alpha": alpha != ALPHA, "--target": target != TARGET, "--cost": any(fees)}
    named = [option for option, is_changed in changed.items() if is_changed]
    if loss != "moe" or not named:
        return []
    from defero.core.wording import join_names

    verb = "has" if len(named) == 1 else "have"
    return [
        f"{join_names(named)} {verb} no effect with --loss moe: its weights promise nothing, so there are no panels."
    ]


def checked_parts(
    cases: "Cases",
    file: "CaseFile",
    *,
    test_share: float | None,
    cuts: dict[str, str | None],
    seed: int,
    pictures: "PictureRecipe | None" = None,
) -> "tuple[ExpertTable, ...]":
    """Cut the cases in four, after checking that there is something to learn from and to judge by."""
    from defero.core.errors import TableError
    from defero.core.wording import join_names
    from defero.data.parts import TEST, four_parts
    from defero.data.recipes.recipe import FeatureRecipe
    from defero.data.tables.named_columns import refuse_unused

    table, source = cases.table, str(file.path)
    where = source if file.label is None else f"{source}: column {file.label}"
    # Training learns a recipe; here a cell that cannot be used is told with the file and its row.
    if pictures is None:
        FeatureRecipe.check(table.features, text=file.text, source=source, first_row=cases.first_row)
    if table.n_classes < 2:
        raise TableError(f"{where}: the label is {table.classes[0]!s} in every row, so there is nothing to learn.")
    if table.classes.dtype.kind == "f" and (table.classes % 1 != 0).any():
        raise TableError(f"{where}: labels must be words or whole numbers, got {join_names(table.classes, most=3)}.")
    if len(table) < LEAST_CASES:
        raise TableError(
            f"{source}: {len(table)} cases are too few; expected at least {LEAST_CASES}: {LEAST_LEARN} to learn from, "
            "and 3 or 4 each to calibrate, to conformalise and for the test. Dozens make a start, hundreds a team."
        )
    share = TEST if test_share is None else test_share
    parts = four_parts(cases, source=source, test_share=share, **cuts, random_state=seed)
    if len(parts[0]) < LEAST_LEARN or not all(map(len, parts)):
        learn, held, panels, test = map(len, parts)
        raise TableError(
            f"{source}: {len(table)} cases, so cut, leave {learn} to learn from, {held} to calibrate, {panels} to "
            f"conformalise and {test} for the test; expected at least {LEAST_LEARN} to learn from and one of each of "
            "the others. Pass more, or cut in another way."
        )
    if table.n_experts and not parts[0].n_answers:
        raise TableError(
            f"{source}: no expert answered any of the cases to learn from; fill in answers, or pass --experts '' for a "
            "model alone."
        )
    _check_classes(cases, parts[0], where=where, cuts=cuts)
    if pictures is None and file.features is not None:
        chosen = [name for name in file.features if name not in file.text]
        refuse_unused(parts[0].features, table.features, chosen, source=source, first_row=cases.first_row)
    return parts


def _check_classes(cases: "Cases", learn: "ExpertTable", *, where: str, cuts: dict[str, str | None]) -> None:
    """Refuse a cut that leaves a class out of the cases to learn from: no model can know it."""
    from defero.core.errors import TableError
    from defero.data.tables.columns import row_number

    table = cases.table
    unknown = sorted(set(table.label_idx.tolist()) - set(learn.label_idx.tolist()))
    if not unknown:
        return
    places = (table.label_idx == unknown[0]).nonzero()[0]
    row = row_number(table.features, int(places[0]), first_row=cases.first_row)
    how = " ".join(f"--{name} {column}" for name, column in cuts.items() if column is not None)
    raise TableError(
        f"{where}: no case to learn from has the label {str(table.classes[unknown[0]])!r} ({len(places)} have it, the "
        f"first in row {row}), as {how} cuts them; leave those rows out, or cut in another way."
    )
