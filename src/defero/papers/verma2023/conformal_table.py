"""Promise and practice of conformal sets of experts on one stored run, means over random splits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from defero.conformal import ExpertSetPredictor, NaiveExpertSets, RegularizedExpertSets
from defero.conformal.targets import Target
from defero.core.checks import BoolArray, FloatArray, IntArray
from defero.papers.verma2023.conformal_as_run import (
    Float32Array,
    fit_naive,
    fit_regularized,
    naive_voters_as_run,
    outputs_as_run,
    vote_as_run,
)
from defero.papers.verma2023.set_quality import SetQuality, mean_quality, set_quality
from defero.papers.verma2023.stored_outputs import RunEntry, StoredRun
from defero.scorers.links import LossName, scores_from_logits

CALIBRATION_SHARE = 0.8


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


@dataclass(frozen=True, eq=False)
class _Scored:
    """A run with its scores in both forms, (n, J), and which items are deferred, (n,)."""

    run: StoredRun
    as_run: Float32Array
    as_written: FloatArray
    deferred: BoolArray

    def system_accuracy(self, test: IntArray, voters: BoolArray) -> float:
        """Let the model answer what it keeps and the voters (n deferred, J) the rest."""
        rows, kept = test[self.deferred[test]], test[~self.deferred[test]]
        said = vote_as_run(self.run.answers[rows], voters, self.as_run[rows], n_classes=self.run.entry.n_classes)
        model_right = self.run.class_logits[kept].argmax(axis=1) == self.run.labels[kept]
        return float((np.sum(said == self.run.labels[rows]) + np.sum(model_right)) / len(test))


def conformal_row(run: StoredRun, *, alpha: float = 0.1, n_splits: int = 10, seed: int = 0) -> ConformalRow:
    """Split the test set 80/20 at random, calibrate on the larger part, judge on the smaller; `n_splits` times.

    `RegularizedExpertSets` warns where no lambda keeps the promise as written.
    """
    expert_scores, deferred = outputs_as_run(run)
    scored = _Scored(run, expert_scores, paper_scores(run), deferred)
    rng = np.random.default_rng(seed)
    shuffles = (rng.permutation(len(run)) for _ in range(n_splits))
    cut = int(CALIBRATION_SHARE * len(run))
    return _mean_row([_one_split(scored, rows[:cut], rows[cut:], alpha=alpha) for rows in shuffles])


def paper_scores(run: StoredRun) -> FloatArray:
    """Return the paper's estimate of P(expert j is right), (n, J); for softmax capped at 1, where it has no bound."""
    loss: LossName = "ova" if run.entry.method == "ova" else "softmax"
    return scores_from_logits(loss, run.class_logits, run.expert_logits).expert_proba


def _one_split(scored: _Scored, calibration: IntArray, test: IntArray, *, alpha: float) -> ConformalRow:
    fit_rows, rows = calibration[scored.deferred[calibration]], test[scored.deferred[test]]
    past, correct = scored.run.expert_correct[fit_rows], scored.run.expert_correct[rows]
    past_run, fresh_run = scored.as_run[fit_rows], scored.as_run[rows]
    past_written, fresh_written = scored.as_written[fit_rows], scored.as_written[rows]

    def guaranteed(target: Target) -> SetQuality:
        predictor = ExpertSetPredictor(target=target, alpha=alpha).fit(past_run, past)
        return set_quality(predictor.predict(fresh_run, fill_empty=False).mask, correct)

    naive_mask = fit_naive(past_run, past, alpha=alpha).predict(fresh_run)
    regularized_mask = fit_regularized(past_run, past, alpha=alpha).predict(fresh_run)
    naive = NaiveExpertSets(alpha).fit(past_written, past)
    regularized = RegularizedExpertSets(alpha).fit(past_written, past)
    return ConformalRow(
        entry=scored.run.entry,
        n_calibration=len(fit_rows),
        naive_as_run=set_quality(naive_mask, correct),
        regularized_as_run=set_quality(regularized_mask, correct),
        naive_as_written=set_quality(naive.predict(fresh_written, fill_empty=False).mask, correct),
        regularized_as_written=set_quality(regularized.predict(fresh_written, fill_empty=False).mask, correct),
        without_lambda=float(math.isinf(regularized.thresholds_[None].lambda_)),
        all_correct=guaranteed("all-correct"),
        missed_share=guaranteed("missed-share"),
        any_correct=guaranteed("any-correct"),
        naive_vote_as_run=scored.system_accuracy(test, naive_voters_as_run(naive_mask)),
        naive_vote=scored.system_accuracy(test, naive_mask),
        regularized_vote=scored.system_accuracy(test, regularized_mask),
    )


def _mean_row(rows: Sequence[ConformalRow]) -> ConformalRow:
    means: dict[str, Any] = {"entry": rows[0].entry}
    for name in (field.name for field in fields(ConformalRow) if field.name != "entry"):
        found = [getattr(row, name) for row in rows]
        means[name] = mean_quality(found) if isinstance(found[0], SetQuality) else float(np.mean(found))
    return ConformalRow(**means)
