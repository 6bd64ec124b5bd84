"""The last cases with their features, to be decided again by another policy or model."""

from sqlalchemy import Connection

from defero.service.flow.preview import Past
from defero.service.store import log
from defero.service.store.contents import read_contents
from defero.service.store.saved_views import read_cases


def last_cases(connection: Connection, *, most: int) -> list[Past]:
    """Return the last cases that were not erased, the oldest first."""
    cases = [str(entry.case) for entry in log.last_of_kinds(connection, kinds=("received",), limit=most)]
    states, contents = read_cases(connection, cases), read_contents(connection, cases)
    return [Past(states[case], contents[case][1]) for case in cases if case in contents]
