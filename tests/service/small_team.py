"""A team whose probabilities stand in the features: [P(ill), P(ann right), P(bob right), P(cem right)]."""

from collections import Counter

import numpy as np

from defero import Team
from defero.service.flow.cases import AddCases
from defero.service.flow.command import Round, do_all
from defero.service.flow.settings import with_people
from defero.service.flow.team import Shelf, WorkingTeam
from defero.service.store.contents import Request
from defero.service.views import Ledger

NAMES = ("ann", "bob", "cem")
UNSURE = [0.5, 0.9, 0.8, 0.7]
"""Worth a question to ann."""
SURE = [0.999, 0.9, 0.8, 0.7]
"""Worth none."""


def small_team():
    router = Team.from_probabilities(
        lambda X: np.column_stack([X[:, 0], 1 - X[:, 0]]),
        lambda X: X[:, 1:],
        classes=["ill", "well"],
        expert_names=NAMES,
    )
    return WorkingTeam(router, "test")


class SmallShelf(Shelf):
    """A folder of models with one model, "next": the same features and people, ann and bob mistaken for each other."""

    def load(self, folder):
        router = Team.from_probabilities(
            lambda X: np.column_stack([X[:, 0], 1 - X[:, 0]]),
            lambda X: X[:, [2, 1, 3]],
            classes=["ill", "well"],
            expert_names=NAMES,
        )
        return WorkingTeam(router, "next")


class Clock:
    """A clock that stands still until it is told."""

    def __init__(self, now=1_800_000_000.0):
        self.now = now

    def __call__(self):
        return self.now


class DictDesk:
    """A desk of dictionaries."""

    def __init__(self):
        self.contents, self.people, self.notes, self.requests, self.ledger = {}, {}, {}, {}, None

    def states(self, cases):
        return {}

    def rows(self, cases):
        return {case: self.contents[case][1] for case in cases if case in self.contents}

    def keep_rows(self, contents):
        self.contents.update(contents)

    def names(self):
        return self.people

    def set_name(self, person, name):
        self.people[person] = name

    def set_addresses(self, addresses):
        self.addresses = dict(addresses)

    def forget_address(self, person):
        pass

    def keep_note(self, entry, words):
        self.notes[entry.seq] = words

    def erase_case(self, case):
        self.contents.pop(case, None)

    def first_entries(self, cases):
        return {case: [one for one in self.ledger.entries if one.case == case] for case in cases}

    def history(self, case):
        return []  # the entries of a ledger without a database are all in the ledger

    def open_questions(self, *, due_before=None, person=None, people=None):
        waiting = [state for state in self.ledger.cases.values() if state.asked is not None]
        return [
            state.case
            for state in waiting
            if (person is None or state.asked == person)
            and (people is None or state.asked in people)
            and (due_before is None or (state.due is not None and state.due <= due_before))
        ]

    def keep_request(self, key, digest, cases):
        self.requests[key] = Request(digest, tuple(cases))


class World:
    """A ledger, a desk and a team, without a database."""

    def __init__(self, team=None):
        self.ledger, self.desk = Ledger(now=1_800_000_000.0), DictDesk()
        self.desk.ledger = self.ledger
        self.team = with_people(Round(self.ledger, self.desk, team or small_team()), team or small_team(), by="system")

    def do(self, *commands):
        return do_all(Round(self.ledger, self.desk, self.team), commands)

    def add(self, *rows, **more):
        return self.do(add_cases(self.team, rows, **more))[0]["cases"]

    def kinds(self, case):
        return [entry.fact.kind for entry in self.ledger.entries if entry.case == case]

    def totals(self):
        counts = Counter()
        for (_, person, name), amount in self.ledger.counts.items():
            counts[person, name] += amount
        return counts


def add_cases(team, rows, **more):
    rows = [list(row) for row in rows]
    return AddCases([None] * len(rows), rows, team.matrix(rows), team.version, **more)
