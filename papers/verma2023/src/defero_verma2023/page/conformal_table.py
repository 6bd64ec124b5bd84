"""Promise and practice of conformal sets of experts on one stored run, means over random splits."""

from dataclasses import dataclass

from defero_verma2023.measures.conformal_figures import conformal_figures
from defero_verma2023.measures.set_quality import SetQuality
from defero_verma2023.measures.team_outputs import TeamOutputs
from defero_verma2023.stored.outputs import RunEntry


@dataclass(frozen=True)
class ConformalRow:
    """What each procedure does on one run, calibrated and judged on deferred items; means over the splits.

    Attributes
    ----------
    entry : RunEntry
    n_calibration : float
        Deferred calibration items.
    naive_as_run, regularized_as_run : SetQuality
        The authors' procedures, step by step.
    naive_as_written, regularized_as_written : SetQuality
        The paper's text: for softmax its scores t / (1 - sum t), capped at 1; its kappa, its lambda, its quantile.
    without_lambda : float
        Share of the splits in which no lambda in [0, 1] keeps the promise as written, so that everybody is asked.
    all_correct, missed_share, any_correct : SetQuality
        `ExpertSetPredictor` on the scores as run; empty sets stay empty.
    naive_vote_as_run, naive_vote, regularized_vote : float
        System accuracy with the majority vote on the sets as run. `naive_vote` hears the members of the set,
        `naive_vote_as_run` those whom the authors' code heard.
    """

    entry: RunEntry
    n_calibration: float
    naive_as_run: SetQuality
    regularized_as_run: SetQuality
    naive_as_written: SetQuality
    regularized_as_written: SetQuality
    without_lambda: float
    all_correct: SetQuality
    missed_share: SetQuality
    any_correct: SetQuality
    naive_vote_as_run: float
    naive_vote: float
    regularized_vote: float


def conformal_row(
    entry: RunEntry, run: TeamOutputs, *, alpha: float = 0.1, n_splits: int = 10, seed: int = 0
) -> ConformalRow:
    """Split the test set 80/20 at random, calibrate on the larger part, judge on the smaller; `n_splits` times."""
    figures = conformal_figures(run, alpha=alpha, n_splits=n_splits, seed=seed)
    return ConformalRow(
        entry=entry,
        n_calibration=figures.n_calibration,
        without_lambda=figures.without_lambda,
        naive_vote_as_run=figures.votes["naive_as_run"],
        naive_vote=figures.votes["naive"],
        regularized_vote=figures.votes["regularized"],
        **figures.sets,
    )
