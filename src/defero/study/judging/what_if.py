"""What if: the judged cases with somebody absent or with other fees."""

from dataclasses import replace

import numpy as np

from defero.metrics.record.scenario import Scenario
from defero.router.costs.what_if import team_way, team_way_within
from defero.study.judging.evaluation import Evaluation

MOST_ABSENT = 3
"""Of so many experts who are asked most it is tried what their absence does."""


def what_if(evaluation: Evaluation) -> tuple[Scenario, ...]:
    """Return the team as it is, without each of those who are asked most, with twice the fees, and with half the money.

    Half the money is half of what the team spends on questions as it is.
    """
    router, trial, terms = evaluation.router, evaluation.trial, evaluation.terms
    if not router.expert_names or not len(trial):
        return ()
    features = router.features(evaluation.cases.features)
    before = evaluation.available
    present = np.ones(len(router.expert_names), dtype=np.bool_) if before is None else before
    own = trial.way or next(one for one in trial.ways if one.name == "one")
    scenarios = [Scenario.of("as it is", own)]
    order = np.argsort(-trial.decision.load, kind="stable")
    for j in [int(j) for j in order[:MOST_ABSENT] if trial.decision.load[j]]:
        available = present & (np.arange(len(present)) != j)
        way = team_way(router, features, trial, terms, available=available)
        scenarios.append(Scenario.of(f"without {router.expert_names[j]}", way))
    if terms.fees is not None:
        dearer = replace(terms, fees=2 * terms.fees)
        scenarios.append(Scenario.of("fees doubled", team_way(router, features, trial, dearer, available=before)))
        half = float(own.fees.sum()) / 2
        if half > 0:
            way = team_way_within(router, features, trial, terms, available=before, budget=half)
            scenarios.append(Scenario.of("half the budget", way))
    return tuple(scenarios)
