"""Conformal sets of experts on one network's outputs: every procedure and every vote, means over random splits."""

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from defero import InputError
from defero.decide.panels import ExpertSetPredictor
from defero.decide.votes import bayes_vote, log_odds_weights, majority_vote
from defero_verma2023.arrays import BoolArray, FloatArray, IntArray
from defero_verma2023.measures.conformal_as_run import (
    Float32Array,
    fit_naive,
    fit_regularized,
    naive_voters_as_run,
    outputs_as_run,
    vote_as_run,
)
from defero_verma2023.measures.paper_sets import NaiveExpertSets, RegularizedExpertSets
from defero_verma2023.measures.set_quality import SetQuality, mean_quality, no_quality, set_quality
from defero_verma2023.measures.team_outputs import TeamOutputs
from defero_verma2023.measures.vote_discount import vote_discount
from defero_verma2023.measures.who_decides import who_decides

CALIBRATION_SHARE = 0.8
ENOUGH = 30
"""Deferred calibration items below which no set is tried."""
FIXED_SIZE = 5
"""Experts of the paper's fixed ensemble."""
PROCEDURES = (
    "naive_as_run",
    "regularized_as_run",
    "naive_as_written",
    "regularized_as_written",
    "all_correct",
    "missed_share",
    "any_correct",
)
VOTES = (
    "top_expert",
    "naive_as_run",
    "naive",
    "regularized",
    "top5",
    "any_correct_majority",
    "any_correct_bayes",
    "missed_share_majority",
    "missed_share_bayes",
)


@dataclass(frozen=True)
class ConformalFigures:
    """What each procedure does, calibrated and judged on deferred items; means over the splits that could be tried.

    Attributes
    ----------
    n_calibration : float
        Deferred calibration items.
    without_lambda : float
        Share of the splits in which no lambda in [0, 1] keeps the promise as written, so that everybody is asked.
    sets : mapping
        Procedure -> SetQuality; empty sets stay empty. `*_as_run`: the authors' procedures, step by step.
        `*_as_written`: the paper's text, on its scores (softmax: t / (1 - sum t), capped at 1). The others:
        `ExpertSetPredictor` on the scores as run.
    votes : mapping
        Who is heard on deferred items -> system accuracy on all items of the smaller part.
        `top_expert`: one expert, the paper's "standard". `naive_as_run` hears whom the authors' code heard,
        `naive` and `regularized` the members of the sets as run, `top5` the five most likely right; majority, ties
        to the smallest label, as run. `*_majority` and `*_bayes`: our sets, filled, and our votes.
    """

    n_calibration: float
    without_lambda: float
    sets: Mapping[str, SetQuality]
    votes: Mapping[str, float]

    def flat(self) -> dict[str, float]:
        """Return the figures under dotted names, e.g. "sets.any_correct.size"."""
        qualities = {
            f"sets.{name}.{key}": value for name, one in self.sets.items() for key, value in asdict(one).items()
        }
        return {**qualities, **{f"votes.{name}.system_accuracy": value for name, value in self.votes.items()}}


def conformal_figures(
    outputs: TeamOutputs, *, alpha: float = 0.1, n_splits: int = 10, seed: int = 0
) -> ConformalFigures:
    """Split the items 80/20 at random, calibrate on the larger part, judge on the smaller; `n_splits` times.

    A procedure that cannot be calibrated on a split has no say in the mean; nan where it can on none.
    """
    scored = _Scored.read(outputs)
    rng = np.random.default_rng(seed)
    shuffles = (rng.permutation(len(outputs)) for _ in range(n_splits))
    cut = int(CALIBRATION_SHARE * len(outputs))
    with warnings.catch_warnings():
        # Full sets, for want of items or of a lambda, are counted in `without_lambda` and seen in the sizes.
        warnings.simplefilter("ignore", UserWarning)
        return _means([_one_split(scored, rows[:cut], rows[cut:], alpha=alpha) for rows in shuffles])


@dataclass(frozen=True, eq=False)
class _Scored:
    """Outputs with the experts' scores in both forms, (n, J), and which items are deferred, (n,)."""

    outputs: TeamOutputs
    as_run: Float32Array
    deferred: BoolArray

    @classmethod
    def read(cls, outputs: TeamOutputs) -> "_Scored":
        if outputs.link == "moe":
            raise InputError("a mixture of experts' weights are no probabilities: it has no conformal sets.")
        if outputs.link in ("ova", "softmax"):
            return cls(outputs, *outputs_as_run(outputs))
        return cls(outputs, outputs.scores.expert_proba.astype(np.float32), who_decides(outputs) >= 0)

    @property
    def as_written(self) -> FloatArray:
        """The paper's estimates of P(expert j is right); for softmax capped at 1, where it has no bound."""
        return self.outputs.scores.expert_proba

    def system_accuracy(self, test: IntArray, answers: NDArray[Any]) -> float:
        """Let the model answer what it keeps; `answers` are the team's to the deferred ones."""
        rows, own_rows = test[self.deferred[test]], test[~self.deferred[test]]
        right = np.sum(answers == self.outputs.labels[rows]) + np.sum(self.outputs.model_correct[own_rows])
        return float(right / len(test))

    def vote_as_run(self, test: IntArray, voters: BoolArray) -> float:
        """System accuracy with the majority of some experts, (n deferred, J), as the authors counted it."""
        rows = test[self.deferred[test]]
        answers, scores = self.outputs.answers[rows], self.as_run[rows]
        return self.system_accuracy(test, vote_as_run(answers, voters, scores, n_classes=self.outputs.n_classes))


def _one_split(scored: _Scored, calibration: IntArray, test: IntArray, *, alpha: float) -> ConformalFigures:
    fit_rows, rows = calibration[scored.deferred[calibration]], test[scored.deferred[test]]
    nobody = np.zeros((len(rows), scored.outputs.n_experts), dtype=np.bool_)
    votes = {
        "top_expert": scored.vote_as_run(test, nobody),  # an empty set is heard as its top expert
        "top5": scored.vote_as_run(test, _top(scored.as_run[rows], FIXED_SIZE)),
    }
    if len(fit_rows) < ENOUGH:
        return ConformalFigures(len(fit_rows), math.nan, {}, votes)
    masks = _masks_as_run(scored, fit_rows, rows, alpha=alpha)
    for name, vote in (("naive_as_run", "naive"), ("regularized_as_run", "regularized")):
        if name in masks:
            votes[vote] = scored.vote_as_run(test, masks[name])
    if "naive" in votes:
        votes["naive_as_run"] = scored.vote_as_run(test, naive_voters_as_run(masks["naive_as_run"]))
    written, lambda_ = _masks_as_written(scored, fit_rows, rows, alpha=alpha)
    ours = _our_masks(scored, fit_rows, rows, alpha=alpha)
    votes |= _our_votes(scored, calibration, test, ours)
    correct = scored.outputs.expert_correct[rows]
    sets = {name: set_quality(mask, correct) for name, mask in {**masks, **written, **ours}.items()}
    return ConformalFigures(len(fit_rows), float(math.isinf(lambda_)), sets, votes)


def _masks_as_run(scored: _Scored, fit_rows: IntArray, rows: IntArray, *, alpha: float) -> dict[str, BoolArray]:
    """Return the authors' sets, without those for which their code would have stopped."""
    past, correct, fresh = scored.as_run[fit_rows], scored.outputs.expert_correct[fit_rows], scored.as_run[rows]
    masks = {"naive_as_run": fit_naive(past, correct, alpha=alpha).predict(fresh)}
    with suppress(InputError):
        masks["regularized_as_run"] = fit_regularized(past, correct, alpha=alpha).predict(fresh)
    return masks


def _masks_as_written(
    scored: _Scored, fit_rows: IntArray, rows: IntArray, *, alpha: float
) -> tuple[dict[str, BoolArray], float]:
    past, correct = scored.as_written[fit_rows], scored.outputs.expert_correct[fit_rows]
    naive, regularized = NaiveExpertSets(alpha).fit(past, correct), RegularizedExpertSets(alpha).fit(past, correct)
    masks = {
        f"{name}_as_written": sets.predict(scored.as_written[rows], fill_empty=False).mask
        for name, sets in (("naive", naive), ("regularized", regularized))
    }
    return masks, regularized.thresholds_[None].lambda_


def _our_masks(scored: _Scored, fit_rows: IntArray, rows: IntArray, *, alpha: float) -> dict[str, BoolArray]:
    targets: dict[str, Literal["all-correct", "missed-share", "any-correct"]] = {
        "all_correct": "all-correct",
        "missed_share": "missed-share",
        "any_correct": "any-correct",
    }
    past, correct = scored.as_run[fit_rows], scored.outputs.expert_correct[fit_rows]
    return {
        name: ExpertSetPredictor(target=target, alpha=alpha)
        .fit(past, correct)
        .predict(scored.as_run[rows], fill_empty=False)
        .mask
        for name, target in targets.items()
    }


def _our_votes(
    scored: _Scored, calibration: IntArray, test: IntArray, masks: Mapping[str, BoolArray]
) -> dict[str, float]:
    outputs, rows = scored.outputs, test[scored.deferred[test]]
    proba, model, answers = outputs.scores.expert_proba[rows], outputs.scores.class_proba[rows], outputs.answers[rows]
    discount = vote_discount(
        outputs.answers[calibration], outputs.labels[calibration], outputs.scores.expert_proba[calibration]
    )
    weaker, votes = _as_weaker(proba, discount, n_classes=outputs.n_classes), {}
    for name in ("any_correct", "missed_share"):
        mask = masks[name] | _top(scored.as_run[rows], 1)  # who decides is heard: empty sets are filled
        majority = majority_vote(answers, mask, n_classes=outputs.n_classes, expert_proba=proba, class_proba=model)
        bayes = bayes_vote(answers, mask, weaker, model)
        votes[f"{name}_majority"] = scored.system_accuracy(test, majority.label)
        votes[f"{name}_bayes"] = scored.system_accuracy(test, bayes.label)
    return votes


def _as_weaker(proba: FloatArray, discount: FloatArray, *, n_classes: int) -> FloatArray:
    """Return P(right), (n, J), of experts whose single answer tells what one of all J tells.

    The stored figures were made with weights that do not depend on how many are heard: those of all experts.
    """
    share = 1 / (1 + (proba.shape[1] - 1) * discount)
    log_odds = share * log_odds_weights(proba, n_classes=n_classes)
    return np.asarray(1 / (1 + (n_classes - 1) * np.exp(-log_odds)))


def _top(scores: Float32Array, size: int) -> BoolArray:
    """Return the `size` experts with the highest scores, (n, J); the first where they tie."""
    mask = np.zeros(scores.shape, dtype=np.bool_)
    np.put_along_axis(mask, np.argsort(-scores, axis=1, kind="stable")[:, :size], values=True, axis=1)
    return mask


def _means(splits: Sequence[ConformalFigures]) -> ConformalFigures:
    tried = [one.without_lambda for one in splits if not math.isnan(one.without_lambda)]
    sets = {name: [one.sets[name] for one in splits if name in one.sets] for name in PROCEDURES}
    votes = {name: [one.votes[name] for one in splits if name in one.votes] for name in VOTES}
    return ConformalFigures(
        n_calibration=float(np.mean([one.n_calibration for one in splits])),
        without_lambda=float(np.mean(tried)) if tried else math.nan,
        sets={name: mean_quality(qualities) if qualities else no_quality() for name, qualities in sets.items()},
        votes={name: float(np.mean(qualities)) if qualities else math.nan for name, qualities in votes.items()},
    )
