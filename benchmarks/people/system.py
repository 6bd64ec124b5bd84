"""System: a way to answer the test part of a fold. A file in `systems/` has a tuple of them, called SYSTEMS."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sklearn.linear_model import LogisticRegression

from benchmarks.people.fold import Fold
from defero import Answer, Team

Kind = Literal["references", "all answers heard", "one expert asked", "ours"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class System:
    """A system by name.

    Attributes
    ----------
    name : str
    run : Fold -> Answer
        Learns from the training part and answers the test part; `heard` says whose answers it used, and its
        `confidence` is what it promises.
    kind : str
        Under which heading it stands.
    promises : bool
        Is the confidence meant as P(the label is right)? A share of votes is not.
    hears_all : bool
        It hears every answer that an item has. Where the label is the majority of those, it is told the label, and is
        left out.
    needs_words : bool
        It only differs from another one where there is a text beside the features.
    most_splits : int
        A slow one gets no more splits than this.
    place : int
        Where it stands under its heading; by file name among equals.
    """

    name: str
    run: Callable[[Fold], Answer]
    kind: Kind
    promises: bool = True
    hears_all: bool = False
    needs_words: bool = False
    most_splits: int = 1_000
    place: int = 100


Build = Callable[[Fold], Any]
"""Fold -> an estimator of defero, not fitted."""


def classifier() -> LogisticRegression:
    """Return the model of every system that does not train a network."""
    return LogisticRegression(max_iter=1_000)


def fitted(build: Build, fold: Fold) -> Team:
    """Return the team of an estimator fitted on a fold's training part."""
    rows = fold.train
    team: Team = build(fold).fit(rows.features, rows.labels, experts=rows.answers, groups=fold.groups).team_
    return team


def one_expert(build: Build) -> Callable[[Fold], Answer]:
    """Return a run that learns from the whole training part and asks one expert or nobody."""

    def run(fold: Fold) -> Answer:
        return fitted(build, fold).answer(fold.features, fold.answers, vote="expert")

    return run


def recalibrated(build: Build) -> Callable[[Fold], Answer]:
    """Return a run that learns from 80 % of the training part and recalibrates on the rest."""

    def run(fold: Fold) -> Answer:
        part, held = fold.cut()
        # Both are cut from one table; crowds repeat texts, which the check by fingerprints would take for a leak.
        team = fitted(build, part).copy().calibrate(held.features, held.labels, held.answers, disjoint=True)
        return team.answer(fold.features, fold.answers, vote="expert")

    return run


def with_and_without(name: str, build: Build) -> tuple[System, System]:
    """Return a system as it is, and recalibrated."""
    return (
        System(name, one_expert(build), kind="one expert asked", most_splits=10),
        System(f"{name}, recalibrated", recalibrated(build), kind="one expert asked", most_splits=10),
    )
