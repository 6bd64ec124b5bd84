"""The log as a table that `defero fit` reads: case, features, one column for each expert, outcome."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, select

from defero.service.flow.team import Team
from defero.service.store.contents import read_contents, read_names
from defero.service.store.log import read_log
from defero.service.store.saved_views import read_cases
from defero.service.store.tables import CONTENTS

_AT_ONCE = 500


def csv_lines(connection: Connection, team: Team) -> Iterator[str]:
    """Yield the lines of the table. Erased cases are left out; a case without an outcome has a blank there.

    An answer that came too late to count is an answer all the same, and is in the table.
    """
    names = read_names(connection)
    experts = [names.get(person, person) for person in team.people]
    features = _feature_names(team, connection)
    taken = {*features, *experts}
    yield _line([_free("case", taken), *features, *experts, _free("outcome", taken)])
    piece: list[str] = []
    for entry in read_log(connection, kinds=("received",)):
        piece.append(str(entry.case))
        if len(piece) == _AT_ONCE:
            yield from _rows(connection, team, features, piece)
            piece = []
    yield from _rows(connection, team, features, piece)


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
