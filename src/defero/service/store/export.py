"""Cases with their content: the log as a table that `defero fit` reads, and the last cases to be decided again."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, select

from defero.service.flow.team import Team
from defero.service.flow.what_if import Past
from defero.service.store import log
from defero.service.store.contents import read_contents, read_names
from defero.service.store.database import Database
from defero.service.store.log import last_seq, read_log
from defero.service.store.saved_views import read_cases
from defero.service.store.tables import CONTENTS

_AT_ONCE = 500


def csv_lines(database: Database, team: Team) -> Iterator[str]:
    """Yield the lines of the table. Erased cases are left out; a case without an outcome has a blank there.

    An answer that came too late to count is an answer all the same, and is in the table. Each piece is read for
    itself: a client that reads slowly holds no connection.
    """
    with database.read() as connection:
        names, features = read_names(connection), _feature_names(team, connection)
        last = last_seq(connection)
    experts = [names.get(person, person) for person in team.people]
    taken = {*features, *experts}
    yield _line([_free("case", taken), *features, *experts, _free("outcome", taken)])
    after = 0
    while True:
        with database.read() as connection:
            entries = list(read_log(connection, after=after, kinds=("received",), limit=_AT_ONCE))
            cases = [str(entry.case) for entry in entries if entry.seq <= last]
            lines = list(_rows(connection, team, features, cases))
        yield from lines
        if len(cases) < _AT_ONCE:
            return
        after = entries[-1].seq


def _rows(connection: Connection, team: Team, features: list[str], cases: list[str]) -> Iterator[str]:
    states, known = read_cases(connection, cases), read_contents(connection, cases)
    for case in cases:
        if case not in known:
            continue
        row, state = known[case][1], states[case]
        cells = [row.get(name) for name in features] if isinstance(row, Mapping) else list(row)
        yield _line([case, *cells, *(state.answer_of(person) for person in team.people), state.outcome])


def _feature_names(team: Team, connection: Connection) -> list[str]:
    """Return the columns of the model; x0, x1, ... for one that was fitted on an array."""
    router = team.router
    if router.recipe is not None and router.facts.columns is not None:
        return list(router.recipe.inputs)
    first = connection.execute(select(CONTENTS.c.features).limit(1)).scalar()
    return [f"x{place}" for place in range(0 if first is None else len(json.loads(first)))]


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no feature and no expert has."""
    return name if name not in taken else _free(f"{name}_", taken)


def _line(cells: list[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(["" if cell is None else cell for cell in cells])
    return text.getvalue()


def last_cases(connection: Connection, *, most: int) -> list[Past]:
    """Return the last cases that were not erased, the oldest first."""
    cases = [str(entry.case) for entry in log.last_of_kinds(connection, kinds=("received",), limit=most)]
    states, contents = read_cases(connection, cases), read_contents(connection, cases)
    return [Past(states[case], contents[case][1]) for case in cases if case in contents]
