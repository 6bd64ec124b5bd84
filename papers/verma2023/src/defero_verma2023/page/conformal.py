"""Write papers/verma2023/conformal.md: promise and practice side by side.

DEFERO_DATA=... python -m defero_verma2023.page.conformal > papers/verma2023/conformal.md
"""

import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from defero_verma2023.claims.cells import listed
from defero_verma2023.page.conformal_table import ConformalRow, conformal_row
from defero_verma2023.page.markdown import bullets, table
from defero_verma2023.stored.outputs import RunEntry, list_runs, outputs_folder, read_run

EXPERIMENTS = {
    "cifar10_oracle_withnoise": "oracles with noise",
    "cifar10_oracle_nonoise_v2": "oracles without noise",
    "cifar10_gradual_overlap": "overlap",
}
SEED_OF_RUNS = 436
ENOUGH = 1000
"""Deferred calibration items from which a mean over ten splits is steady to about 0.01 in shares."""

_HEADER = (
    "experiment",
    "loss",
    "setting",
    "items",
    "naive, published",
    "naive, as run",
    "naive, as written",
    "`all-correct`",
    "regularized, published",
    "regularized, as run",
    "regularized, as written",
    "`missed-share`",
    "`any-correct`",
)

_PAGE = """\
# Conformal sets of experts: promise and practice

Verma, Barrejón and Nalisnick, "Learning to Defer to Multiple Experts" (AISTATS 2023), choose by conformal inference
which experts to ask (section 5, appendix B). The paper aims at the best expert; what its two statistics can promise is
about the right ones. The naive sets: every right expert is in the set with probability 0.90. The regularized sets: at
most a share of 0.10 of the right experts is left out, on average. The authors published their code and the outputs of
their networks. Only because of that can this page put side by side, for the same networks and items, what was
published, what the code does, what the text says, and what `defero.decide.panels` does.

## How to read the table

Each row is one stored run (CIFAR-10, ten experts, 9,216 test items, the authors' seed {run_seed}). The test items are
split 80/20 at random {n_splits} times; sets are calibrated on the deferred items of the larger part and judged on those
of the smaller one. The setting is the number of oracles or the overlap p_out; `items` is the mean number of deferred
calibration items. Sets are raw: an empty one counts as 0.

A cell is **mean set size / the promised quantity, as realised** on the items that some expert gets right:

- naive and `all-correct`: how often every right expert is in the set; at least 0.90 is asked.
- regularized and `missed-share`: the share of right experts left out; at most 0.10 is asked.
- `any-correct`: how often at least one right expert is in the set; at least 0.90 is asked.

"Published" is the set size in the authors' result files, from one split, so it scatters, most where items are few.
"As run" follows their procedures step by step (`defero_verma2023.measures.conformal_as_run`). "As written" follows the
text (`NaiveExpertSets`, `RegularizedExpertSets`). The three columns in `code` are `ExpertSetPredictor`, on the scores
as run. A promise holds on average over calibration and test items; means over ten splits scatter around it by about
0.01, and more where items are few.

## What it shows

{findings}

## Where the runs and the text differ

- Scores of the softmax networks: the runs use the softmax outputs t_j, the text t_j / (1 - sum t). The latter has no
  upper bound; as written it is capped at 1 here. Where many experts reach the cap the naive sums tie, and the naive
  sets hold more right experts than was asked; in three runs they hold everybody.
- kappa: the runs take the 0.9 quantile of the right experts' scores in ascending order, the text in descending order.
- lambda: in the runs a set is (1 + beta) s_j - beta kappa >= lambda, with lambda from a grid of 1,500 values in [0, 1].
  Where already lambda = 0 misses too many right experts, and where no value does, the search returns 0. The set is then
  s_j >= beta kappa / (1 + beta), which is 0.78 kappa for the beta of 3.5 that is chosen most often, whatever the missed
  share is. With few items the outcome has two modes: with one oracle with noise (one-vs-all) most splits ask less than
  one expert on average, and about one in forty asks nearly all ten, as the published one does.
- Items that no expert gets right count as wholly missed in the runs, though no set could help them. With one oracle
  with noise (one-vs-all) they are a tenth of the deferred items, the whole of what alpha allows. Here they are left
  out, and the promise is for the other items.
- The quantile of the naive sets is one rank too high, which is on the safe side and changes little.
- (1 + beta) s_j - beta kappa is one increasing map for all experts, so the sets are {{j: s_j >= tau}} for any beta and
  kappa, which only move the grid. `missed-share` finds the largest tau that keeps the promise exactly, by one sort.

## Table

{table}

## How it was made

`DEFERO_DATA=<folder> python -m defero_verma2023.page.conformal > papers/verma2023/conformal.md`

The folder holds `verma2023_outputs`. It takes about 20 seconds on one thread. Splits come from
`numpy.random.default_rng({seed})`, afresh for each run; alpha = {alpha}. Versions: defero {defero},
Python {python}, numpy {numpy}.
"""


def conformal_entries(folder: Path) -> tuple[RunEntry, ...]:
    """Return the runs of the table, in its order."""
    entries = [entry for entry in list_runs(folder, seed=SEED_OF_RUNS) if entry.experiment in EXPERIMENTS]
    place = list(EXPERIMENTS)
    return tuple(sorted(entries, key=lambda entry: (place.index(entry.experiment), entry.method, entry.setting)))


def conformal_page(rows: Sequence[ConformalRow], *, alpha: float, n_splits: int, seed: int) -> str:
    """Return the page's text for rows that were made with these options."""
    return _PAGE.format(
        run_seed=SEED_OF_RUNS,
        n_splits=n_splits,
        findings=bullets(_findings(rows)),
        table=table(_HEADER, map(_cells, rows)),
        seed=seed,
        alpha=alpha,
        defero=version("defero"),
        python=platform.python_version(),
        numpy=np.__version__,
    )


def _cells(row: ConformalRow) -> tuple[str, ...]:
    entry = row.entry
    # The files count from k = 0 oracles beyond the first.
    setting = f"{entry.setting + 1:.0f}" if entry.setting_name == "k" else f"{entry.setting:g}"
    return (
        EXPERIMENTS[entry.experiment],
        entry.method,
        setting,
        f"{row.n_calibration:.0f}",
        _published(entry, "naive"),
        *(
            f"{one.size:.2f} / {one.all_correct:.2f}"
            for one in (row.naive_as_run, row.naive_as_written, row.all_correct)
        ),
        _published(entry, "regularized"),
        *(
            f"{one.size:.2f} / {one.missed_share:.2f}"
            for one in (row.regularized_as_run, row.regularized_as_written, row.missed_share)
        ),
        f"{row.any_correct.size:.2f} / {row.any_correct.any_correct:.2f}",
    )


def _published(entry: RunEntry, kind: str) -> str:
    return f"{entry.published_size[kind]:.2f}" if kind in entry.published_size else ""


def _findings(rows: Sequence[ConformalRow]) -> list[str]:
    ample = [row for row in rows if row.n_calibration >= ENOUGH]
    as_run = [row.regularized_as_run.missed_share for row in rows]
    noisy = [row for row in rows if _is(row, "cifar10_oracle_withnoise")][:5]
    misheard = next(row for row in rows if _is(row, "cifar10_oracle_nonoise_v2"))
    any_sizes = [row.any_correct.size for row in rows]
    no_lambda = sum(row.without_lambda > 0 for row in rows)
    return [
        f"Regularized, as run: the missed share is above 0.12 in {sum(one > 0.12 for one in as_run)} of {len(rows)} "
        f"runs and reaches {max(as_run):.2f}. With one to five oracles with noise (one-vs-all) it is "
        f"{listed([row.regularized_as_run.missed_share for row in noisy], digits=2)}, with sets of "
        f"{listed([row.regularized_as_run.size for row in noisy], digits=2)} experts. Sets that keep the promise on "
        f"the same scores hold {listed([row.missed_share.size for row in noisy], digits=2)}.",
        f"`missed-share` realises {_span([row.missed_share.missed_share for row in ample])} in the {len(ample)} runs "
        f"with at least {ENOUGH:,} items, and {_span([row.missed_share.missed_share for row in rows])} in all.",
        f"Regularized, as written: the missed share is "
        f"{_span([row.regularized_as_written.missed_share for row in ample])} in the same {len(ample)} runs, with sets "
        f"close to those of `missed-share` in most. In {no_lambda} runs some splits find no lambda that keeps the "
        "promise, and ask everybody.",
        "Naive sets keep their promise, as run and as written, up to the scatter of ten splits. All right experts "
        "include lucky guessers, so the sets hold nearly everybody wherever experts guess.",
        f"The vote on naive sets, as run, hears the first experts by number instead of the members of the set. With "
        f"one oracle without noise (one-vs-all) system accuracy is {misheard.naive_vote_as_run:.2f} that way and "
        f"{misheard.naive_vote:.2f} with the members.",
        f"`all-correct` realises {_span([row.all_correct.all_correct for row in ample])} and `any-correct` "
        f"{_span([row.any_correct.any_correct for row in ample])} in the {len(ample)} runs. `any-correct` sets hold "
        f"{_span(any_sizes)} experts, {np.median(any_sizes):.2f} in the median run.",
    ]


def _is(row: ConformalRow, experiment: str) -> bool:
    return row.entry.experiment == experiment and row.entry.method == "ova"


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


def main() -> None:
    """Write the page to standard output."""
    alpha, n_splits, seed = 0.1, 10, 0
    folder = outputs_folder()
    rows = [
        conformal_row(entry, read_run(folder, entry), alpha=alpha, n_splits=n_splits, seed=seed)
        for entry in conformal_entries(folder)
    ]
    sys.stdout.write(conformal_page(rows, alpha=alpha, n_splits=n_splits, seed=seed))


if __name__ == "__main__":
    main()
