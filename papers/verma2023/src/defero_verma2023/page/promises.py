"""The promises of conformal sets as a table of the reproduction's page."""

from collections.abc import Iterable, Iterator

from defero_verma2023.claims.promises import PromiseRow
from defero_verma2023.claims.verdict import CONFIRMED, CONTRADICTED, INCONCLUSIVE, Direction, Estimate
from defero_verma2023.figures.catalogue import first_x

HEADER = ("where, loss", "promise", "kept at", "broken at", "open at", "share left out")
_FIGURES = {
    "oracles": "Fig. 3a, oracles",
    "noisy-oracles": "Fig. 3b, oracles with noise",
    "overlap": "appendix, overlap",
}


def promise_cells(rows: Iterable[tuple[str, PromiseRow]]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each promise: the settings in which it is kept, broken or open, and the share at each."""
    for experiment, row in rows:
        shift = first_x(experiment)
        shares = [
            f"{setting + shift:g}: {_share(share)}" for setting, share in zip(row.settings, row.missed, strict=True)
        ]
        yield (
            f"{_FIGURES[experiment]}, {row.loss}",
            row.promise,
            *(_places(row, direction, shift) for direction in (CONFIRMED, CONTRADICTED, INCONCLUSIVE)),
            "; ".join(shares),
        )


def promises_in_short(rows: Iterable[tuple[str, PromiseRow]]) -> str:
    """Name the promises that are broken somewhere; "" where none is.

    >>> promises_in_short([])
    ''
    """
    broken = [
        f"{row.promise.partition(':')[0]} sets, {row.loss}, {_FIGURES[experiment].partition(',')[0]} "
        f"({len(row.where(CONTRADICTED))} of {len(row.settings)} settings)"
        for experiment, row in rows
        if row.is_broken
    ]
    return f"Promises broken (not claims; see below): {'; '.join(broken)}." if broken else ""


def _places(row: PromiseRow, direction: Direction, shift: float) -> str:
    bold = "**" if direction == CONTRADICTED and row.where(direction) else ""
    return f"{bold}{', '.join(f'{setting + shift:g}' for setting in row.where(direction))}{bold}"


def _share(share: Estimate) -> str:
    """Write a share with its interval; no share is below 0 or above 1."""
    if share.n_seeds == 1:
        return f"{share.mean:.2f}"
    return f"{share.mean:.2f} [{max(share.low, 0.0):.2f}, {min(share.high, 1.0):.2f}]"
