"""From the evidence on a claim to its verdict: ours, stored and published numbers, a rule, and the reason."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from defero_verma2023.claims.bounds import MOST_SEEDS
from defero_verma2023.claims.cells import PERCENT, Block, Cells, block, cells, mean_over_settings, minus
from defero_verma2023.claims.rules import Rule, Ruling
from defero_verma2023.claims.verdict import CANNOT_DECIDE, INCONCLUSIVE, NOT_RUN, Estimate, Size, Verdict, size_of
from defero_verma2023.runs.record import RunRecord

Records = Sequence[RunRecord]
Number = Callable[[Block], Estimate]
"""The values of a claim in, the number that decides it out."""


@dataclass(frozen=True)
class Evidence:
    """What there is on one experiment, all in the form of records.

    Attributes
    ----------
    ours : sequence of RunRecord
        Trained by us, with one net and one protocol.
    stored : sequence of RunRecord
        The authors' networks, measured by us.
    published : sequence of RunRecord
        The published means, as seed 0.
    place : str
        Of ours, e.g. " (text-cnn)"; "" where there is nothing to tell apart.
    """

    ours: Records
    stored: Records
    published: Records
    place: str = ""


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a measure of a method, and its name in a sentence."""

    method: str
    metric: str
    name: str
    run: str = ""

    def cells(self, records: Records) -> Cells:
        """Return its values."""
        return cells(records, self.method, self.metric, run=self.run)


@dataclass(frozen=True)
class Claim:
    """What is claimed, where, and what number shows it."""

    text: str
    where: str
    quantity: str
    settings: tuple[float, ...]


def above(
    evidence: Evidence,
    claim: Claim,
    *,
    high: Side,
    low: Side,
    rule: Rule,
    estimate: Number | None = None,
    more: str = "",
) -> Verdict:
    """Judge a claim that one side is above another, by paired differences; by default by their mean over settings."""

    def effect(records: Records) -> Cells:
        return minus(high.cells(records), low.cells(records))

    def why(grid: Block) -> str:
        first, second = (
            f"{side.name} {_mean_at(side.cells(evidence.ours), grid) * PERCENT:.1f}" for side in (high, low)
        )
        return f"{first}, {second} %; {_span(grid)}.{more}"

    return judge(evidence, claim, effect=effect, rule=rule, why=why, estimate=estimate)


def _span(grid: Block) -> str:
    """Say in how many settings the first side is larger, and at which the difference is least and most.

    >>> import numpy as np
    >>> _span(Block((2.0, 3.0), (0,), np.array([[0.01], [-0.02]])))
    'the first is larger in 1 of 2 settings, by -2.00 (at 3) to +1.00 (at 2)'
    """
    points = grid.by_setting * PERCENT
    larger = f"the first is larger in {int((points > 0).sum())} of {len(points)} settings, by"
    if len(points) == 1:
        return f"{larger} {points[0]:+.2f}"
    least, most = ((points[place], grid.settings[place]) for place in (int(points.argmin()), int(points.argmax())))
    return f"{larger} {least[0]:+.2f} (at {least[1]:g}) to {most[0]:+.2f} (at {most[1]:g})"


def means_of(records: Records, *sides: Side, settings: Collection[float]) -> tuple[float, ...]:
    """Return the mean of each side over the same runs at some settings, in percent; nothing without such."""
    by_side = [side.cells(records) for side in sides]
    grid = block({place: 0.0 for place in by_side[0] if all(place in one for one in by_side)}, settings=settings)
    return () if grid is None else tuple(_mean_at(one, grid) * PERCENT for one in by_side)


def unlike_nets(records: Records, first: str, second: str) -> str:
    """Say so where two methods were trained with different nets, which a comparison of accuracies must know."""
    nets = [next((one.net for one in records if one.method == method), "") for method in (first, second)]
    if "" in nets or nets[0] == nets[1]:
        return ""
    return f" The two sides are not trained alike: {nets[0]}, and {nets[1]}."


def judge(
    evidence: Evidence,
    claim: Claim,
    *,
    effect: Callable[[Records], Cells],
    rule: Rule,
    why: Callable[[Block], str],
    estimate: Number | None = None,
    scale: float = PERCENT,
    needed: Collection[float] = (),
) -> Verdict:
    """Return the verdict on a claim.

    Parameters
    ----------
    evidence : Evidence
    claim : Claim
    effect : callable
        Records -> values by setting and seed.
    rule : callable
        The estimate and the block behind it -> the ruling.
    why : callable
        The block -> a sentence with its numbers.
    estimate : callable, optional
        The block -> the number that decides. Default: the mean over settings.
    scale : float
        100 for percentage points, 1 for experts.
    needed : collection of float
        Settings without which the number means nothing: the ends, where it is about what changes between them. They
        are enough for it; else less than half of a figure is not judged.
    """
    number = estimate or (lambda grid: mean_over_settings(grid, scale=scale))
    least = len(needed) or (len(claim.settings) + 1) // 2
    blocks = [
        block(effect(records), settings=claim.settings, needed=needed, least=least)
        for records in (evidence.published, evidence.ours, evidence.stored)
    ]
    published, ours, stored = (None if grid is None else number(grid) for grid in blocks)
    grid = blocks[1]
    where = f"{claim.where}{evidence.place}"
    if ours is None or grid is None:
        reason = "No runs of ours show this yet."
        return Verdict(claim.text, where, claim.quantity, published, ours, stored, NOT_RUN, reason)
    ruling = rule(ours, grid) if len(grid.settings) >= least else Ruling(NOT_RUN)
    reason = f"{why(grid)}{ruling.words}{_unsettled(ruling, ours)}{_so_far(claim, grid, ours)}"
    size: Size = "" if ruling.direction in (NOT_RUN, CANNOT_DECIDE) else size_of(ours, published)
    return Verdict(
        claim.text,
        where,
        claim.quantity,
        published,
        ours,
        stored,
        ruling.direction,
        reason,
        ruling.seeds_needed,
        size,
        ruling.p_value,
    )


def _unsettled(ruling: Ruling, ours: Estimate) -> str:
    """Say where no number of seeds is in sight."""
    if ruling.direction != INCONCLUSIVE or ruling.seeds_needed is not None or ours.n_seeds == 1:
        return ""
    return f" With this mean and spread {MOST_SEEDS:,} seeds would not settle it."


def _mean_at(cell_values: Cells, grid: Block) -> float:
    values = [cell_values[setting, seed] for setting in grid.settings for seed in grid.seeds]
    return math.fsum(values) / len(values)


def _so_far(claim: Claim, grid: Block, ours: Estimate) -> str:
    """Say what is still missing, and where a verdict stands on one seed."""
    words = ""
    if len(grid.settings) < len(claim.settings):
        words += f" So far {len(grid.settings)} of {len(claim.settings)} settings."
    if len(grid.seeds) == 1:
        without = math.isnan(ours.low)
        words += f" One seed, so provisional: {'there is no interval' if without else 'the interval is over settings'}."
    return words
