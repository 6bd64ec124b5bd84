"""Two stages after one classifier: experts' heads on what the finished network says, fitted in seconds."""

import time

import numpy as np

from defero.core.checks import IntArray
from defero.estimators.two_stage import TwoStageDeferral
from defero.experts import ExpertPool
from defero.papers.verma2023.team_outputs import TeamOutputs, outputs_from_scores
from defero.papers.verma2023.trained_team import TrainedTeam


def after_one_classifier(validation: TeamOutputs, test: TeamOutputs, pool: ExpertPool, *, seed: int) -> TrainedTeam:
    """Fit `TwoStageDeferral` on the logits of half of the validation items; the other half is left for calibration.

    The network's training items are of no use here: it knows them by heart, and is surer of them than of new ones.
    The answers to validation and test items are drawn as for the networks that are trained with their experts.

    Parameters
    ----------
    validation, test : TeamOutputs
        Of one classifier, without experts.
    pool : ExpertPool
        Experts who need to know the label alone.
    seed : int
    """
    answers = [
        pool.draw(part.labels, rng=np.random.default_rng([seed, number]))
        for number, part in enumerate((validation, test), start=1)
    ]
    rows = np.random.default_rng([seed, 3]).permutation(len(validation))
    fit, left = np.sort(rows[: len(rows) // 2]), np.sort(rows[len(rows) // 2 :])
    started = time.monotonic()
    team = TwoStageDeferral()
    team.fit(validation.class_logits[fit], validation.labels[fit], experts=answers[0][fit])
    seconds = time.monotonic() - started

    def judged(outputs: TeamOutputs, said: IntArray) -> TeamOutputs:
        return outputs_from_scores(team.router_.scores(outputs.class_logits), said, outputs.labels, loss="decoupled")

    return TrainedTeam(
        judged(validation.take(left), answers[0][left]),
        judged(test, answers[1]),
        seconds,
        {"stages": "TwoStageDeferral() on the logits of one classifier", "n_fit": len(fit)},
    )
