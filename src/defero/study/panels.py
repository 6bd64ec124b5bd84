"""New panels for a team that somebody joined."""

from dataclasses import replace

from defero.core.errors import TableError
from defero.data.case_file import Table
from defero.router import Router
from defero.study.fresh_cases import fresh_cases, of_seen_groups
from defero.study.team_cases import Reading, read_for_team
from defero.study.training import ALPHA, TARGET


def with_new_panels(
    before: Router, joined: Router, table: Table, reading: Reading, *, model: str
) -> tuple[Router, list[str]]:
    """Find panels on the cases of a table that the larger team has not seen, with the promise of the old panels.

    Parameters
    ----------
    before, joined : Router
        The team without and with the newcomer.
    table : path or DataFrame
        Cases with labels and everybody's answers.
    reading : Reading
        Of the newcomer's own table: its label and its key are looked for here too.
    model : str
        What a message calls the team.
    """
    words = Reading(table=table, label=reading.label, key=reading.key, images=reading.images)
    read = read_for_team(joined, words, model=model)
    unseen = fresh_cases(read.router, read.cases, key=read.key_column).rows & ~of_seen_groups(read.router, read.cases)
    if not unseen.any():
        raise TableError(
            f"{read.cases.source}: the team has seen all {len(read.cases)} rows, and nothing can be promised on those; "
            "pass other cases."
        )
    rows, panel = read.cases.table.take(unseen), before.panel
    router = read.router.conformalize(
        rows.features,
        rows.labels,
        rows.answers,
        alpha=ALPHA if panel is None else panel.predictor.alpha,
        target=TARGET if panel is None else panel.predictor.target,
        fees=None if panel is None or panel.fees is None else [*panel.fees, 0.0],
        available=None if panel is None or panel.available is None else [*panel.available, True],
        disjoint=True,
    )
    n_seen = int((~unseen).sum())
    notes = [f"{read.cases.source}: {n_seen} rows were seen and are left out of the panels."] if n_seen else []
    return replace(router, recipe=joined.recipe), [*read.cases.notes, *notes]
