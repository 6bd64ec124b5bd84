"""Total cost of every way of asking under three fee levels, on one trained team each, without a new fit.

    OMP_NUM_THREADS=1 python -m benchmarks.money [SET ...]

An error costs 100, a question 1, 5 or 20. credit-default: 30,000 clients, 12 simulated analysts (law "ring") who each
answered a tenth of the rows to learn from, and all test rows; trees. keswani-toxicity: recorded answers of crowd
workers to posts, of whom only those who answered a post can be asked; a linear model on text embeddings. Costs are per
case; intervals are paired (Student's t over the test cases of one split). Splits share cases: their spread is no
standard error.
"""

import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.asking import cut_crowd, of_people
from benchmarks.tables.ours import names_of, study_of
from benchmarks.tables.sets import credit
from defero import DeferralClassifier, Team
from defero.core.trial import Trial
from defero.data.model_folder import library_versions
from defero.decide.terms import Terms
from defero.judge.record.ways import mean_cost
from defero.team import try_out

ERROR_COST, FEES = 100.0, (1.0, 5.0, 20.0)
N_SPLITS = 10
Judge = Callable[[Terms], Trial]


def credit_default(seed: int) -> tuple[Team, Judge]:
    """Fit a team of simulated analysts; return it and how it is judged on the test rows."""
    split = credit.draw("ring", 12, 0.1, seed)
    router = study_of(split).fit()
    test = split.test
    labels, answers = names_of(test.label_idx), names_of(test.answer_idx)
    return router, lambda terms: try_out(router, test.features, labels, answers, disjoint=True, terms=terms)


def keswani_toxicity(seed: int) -> tuple[Team, Judge]:
    """Fit a team of crowd workers; return it and how it is judged on the test rows."""
    crowd = of_people("toxicity")()
    rows, parts, features = cut_crowd(crowd, seed)
    team = DeferralClassifier("linear", text=None if crowd.text is None else list(crowd.text), random_state=seed)
    groups = None if crowd.groups is None else crowd.groups[rows[0]]
    team.fit(features[0], parts[0].labels, experts=parts[0].answers, groups=groups)
    router = team.team_.calibrate(features[1], parts[1].labels, parts[1].answers, disjoint=True)
    router = router.conformalize(features[2], parts[2].labels, parts[2].answers, disjoint=True)
    test = parts[3]
    return router, lambda terms: try_out(router, features[3], test.labels, test.answers, disjoint=True, terms=terms)


SETS = {"credit-default": credit_default, "keswani-toxicity": keswani_toxicity}


def one_split(name: str, seed: int) -> dict[str, Any]:
    """Return the costs of every way under each fee, and what each costs beyond asking one after the other."""
    router, judged = SETS[name](seed)
    figures: dict[str, Any] = {}
    for fee in FEES:
        fees = np.full(len(router.expert_names), fee)
        trial = judged(Terms(fees=fees, error_cost=ERROR_COST))
        ways = {way.name: way for way in trial.ways}
        figures[f"fee {fee:g}"] = {"cases": len(trial)} | {
            one.name: {
                "total": round(float(one.cost.mean()), 3),
                "questions": round(float(one.questions.mean()), 3),
                "accuracy": round(float(one.right.mean()), 4),
                "beyond_sequential": _interval(one.cost - ways["sequential"].cost),
            }
            for one in trial.ways
        }
    return figures


def _interval(differences: Any) -> list[float]:
    one = mean_cost(differences)
    return [round(value, 3) for value in (one.per_case, one.low, one.high)]


def verdicts(splits: list[dict[str, Any]]) -> dict[str, Any]:
    """Say for each fee what every way costs on average, and which is cheaper than the sequential rule beyond chance."""
    verdict: dict[str, Any] = {}
    for fee in splits[0]:
        ways = [name for name in splits[0][fee] if name != "cases"]
        means = {name: round(float(np.mean([one[fee][name]["total"] for one in splits])), 3) for name in ways}
        cheaper = [
            f"{name}, split {seed}"
            for name in ways
            for seed, one in enumerate(splits)
            if one[fee][name]["beyond_sequential"][2] < 0
        ]
        verdict[fee] = {"mean_total": means, "cheapest": min(means, key=lambda name: means[name]), "cheaper": cheaper}
    return verdict


def main() -> None:
    """Run the sets named on the command line, or all, and keep the figures."""
    path = Path(__file__).parent / "results" / "money.json"
    facts: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"sets": {}}
    for name in sys.argv[1:] or SETS:
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            splits = [one_split(name, seed) for seed in range(N_SPLITS)]
        facts |= {
            "command": "OMP_NUM_THREADS=1 python -m benchmarks.money",
            "seeds": list(range(N_SPLITS)),
            "error_cost": ERROR_COST,
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, one thread",
            "versions": library_versions(),
        }
        cpu = round(time.process_time() - began, 1)
        facts["sets"][name] = {"verdict": verdicts(splits), "splits": splits, "cpu_s": cpu}
        path.write_text(json.dumps(facts, indent=1) + "\n")
        print(name, json.dumps(facts["sets"][name]["verdict"]), flush=True)


if __name__ == "__main__":
    main()
