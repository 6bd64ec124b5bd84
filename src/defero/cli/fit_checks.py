"""What `fit` refuses: options that cannot be, and cases that nothing can be learned from."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from defero.core import ExpertTable
    from defero.data.case_file import CaseFile, Cases

NETS = ("linear", "mlp")
LOSSES = ("softmax", "ova", "decoupled", "asymmetric", "moe", "auto")
ALPHA, TARGET = 0.1, "any-correct"


def check_options(
    *, net: str, loss: str, target: str, alpha: float, test_share: float | None, split: str | None
) -> None:
    """Refuse options that cannot be, before anything is read."""
    from defero.conformal.targets import check_target
    from defero.core.errors import InputError, listing

    check_target(target)
    if net not in NETS:
        raise InputError(f"--net must be one of {listing(NETS)}, got {net!r}.")
    if loss not in LOSSES:
        raise InputError(f"--loss must be one of {listing(LOSSES)}, got {loss!r}.")
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
    from defero.core.errors import listing

    verb = "has" if len(named) == 1 else "have"
    return [f"{listing(named)} {verb} no effect with --loss moe: its weights promise nothing, so there are no panels."]


def checked_parts(
    cases: "Cases", file: "CaseFile", *, test_share: float | None, cuts: dict[str, str | None], seed: int
) -> "tuple[ExpertTable, ...]":
    """Cut the cases in four, after checking that there is something to learn from and to judge by."""
    from defero.core.errors import TableError, listing
    from defero.data.parts import TEST, four_parts
    from defero.data.recipe import FeatureRecipe

    table, source = cases.table, str(file.path)
    where = source if file.label is None else f"{source}: column {file.label}"
    # Training learns a recipe; here a cell that cannot be used is told with the file and its row.
    FeatureRecipe.check(table.features, text=file.text, source=source, first_row=cases.first_row)
    if table.n_classes < 2:
        raise TableError(f"{where}: the label is {table.classes[0]!s} in every row, so there is nothing to learn.")
    if table.classes.dtype.kind == "f" and (table.classes % 1 != 0).any():
        raise TableError(f"{where}: labels must be words or whole numbers, got {listing(table.classes, most=3)}.")
    share = TEST if test_share is None else test_share
    parts = four_parts(cases, source=source, test_share=share, **cuts, random_state=seed)
    if not all(map(len, parts)):
        raise TableError(
            f"{source}: {len(table)} rows are too few for four parts (learn, calibrate, conformalise, test); pass more."
        )
    if table.n_experts and not parts[0].n_answers:
        raise TableError(
            f"{source}: no expert answered any of the cases to learn from; fill in answers, or pass --experts '' for a "
            "model alone."
        )
    _check_classes(cases, parts[0], where=where, cuts=cuts)
    return parts


def _check_classes(cases: "Cases", learn: "ExpertTable", *, where: str, cuts: dict[str, str | None]) -> None:
    """Refuse a cut that leaves a class out of the cases to learn from: no model can know it."""
    from defero.core.errors import TableError
    from defero.data.columns import row_number

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
