"""Three laws of skill in the plane, whose best team is known: how far off is P(right), and what does the team lose?

    python -m benchmarks plane

20,000 rows, four experts, three classes. Skill swings by 0.42: on a ring, on a board of 3 x 3 fields, in
oblique stripes. All experts answered all rows, or half of them at random. Judged on 20,000 other rows by the true
probabilities, so that no noise of labels or answers is in the figures.
"""

import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.tables.ours import expert_names, names_of, study_of
from benchmarks.tables.plain import boosted
from benchmarks.tables.split import Rows, Split, Truth
from defero import DeferralClassifier, InputError, Team
from defero.core.checks.arrays import FloatArray
from defero.core.scores import softmax

N_LEARN, N_TEST, N_EXPERTS, N_CLASSES = 20_000, 20_000, 4, 3
LOW, HIGH = 0.52, 0.94
LIMITS = {"ring": 0.025, "checkerboard": 0.035, "stripes": 0.025}
MOST_LOST = 0.2
HALF = 1.3
"""With half of the answers the limits are so many times as large."""
SHARES = {"all answers": 1.0, "half of the answers": 0.5}


def class_proba(plane: FloatArray) -> FloatArray:
    """Return P(y = k | x), (n, 3), with a bent border; the best model is right in four cases of five."""
    x, y = (2 * plane - 1).T
    return softmax(4 * np.column_stack([x, y - 0.3, -0.7 * (x + y) + 0.4 * np.sin(3 * x)]))


def ring(plane: FloatArray, expert: int) -> FloatArray:
    """Return the height in [0, 1]: a ring whose radius grows with the expert's number."""
    distance = np.hypot(*(plane - 0.5).T)
    return np.asarray(np.exp(-(((distance - 0.1 - 0.16 * expert) / 0.15) ** 2) / 2))


def checkerboard(plane: FloatArray, expert: int) -> FloatArray:
    """Return 0 or 1: fields of a board of 3 x 3, two experts on each colour, one of them half a field to the right."""
    moved = plane + np.array([expert // 2 / 6, 0.0])
    return ((np.floor(3 * moved).sum(axis=1) + expert) % 2).astype(np.float64)


def stripes(plane: FloatArray, expert: int) -> FloatArray:
    """Return the height in [0, 1]: oblique stripes, each expert's in another direction."""
    angle = np.pi * (0.15 + 0.23 * expert)
    along = plane @ np.array([np.cos(angle), np.sin(angle)])
    return np.asarray((1 + np.sin(2 * np.pi * (1.0 * along + expert / 4))) / 2)


LAWS: dict[str, Callable[[FloatArray, int], FloatArray]] = {
    "ring": ring,
    "checkerboard": checkerboard,
    "stripes": stripes,
}


def draw(law: str, share: float, *, seed: int = 0, n_learn: int = N_LEARN, n_test: int = N_TEST) -> Split:
    """Draw rows to learn from and for the test."""
    rng = np.random.default_rng([seed, list(LAWS).index(law), 3])
    plane = rng.random((n_learn + n_test, 2))
    eta = class_proba(plane)
    labels = (rng.random(len(plane))[:, None] > eta.cumsum(axis=1)).sum(axis=1).clip(max=N_CLASSES - 1)
    right = LOW + (HIGH - LOW) * np.column_stack([LAWS[law](plane, j) for j in range(N_EXPERTS)])
    wrong = (labels[:, None] + rng.integers(1, N_CLASSES, right.shape)) % N_CLASSES
    answers = np.where(rng.random(right.shape) < right, labels[:, None], wrong)
    rows = Rows(pd.DataFrame(plane, columns=pd.Index(["east", "north"])), labels, answers)
    train, test = rows.take(np.arange(n_learn)), rows.take(np.arange(n_learn, len(plane)))
    asked = rng.random(train.answer_idx.shape) < share
    truth = Truth(eta[n_learn:], right[n_learn:])
    return Split(train.asked_only(asked), test, n_classes=N_CLASSES, seed=seed, truth=truth)


def by_estimator(net: str, split: Split) -> Team:
    """Learn from all rows."""
    answers = pd.DataFrame(names_of(split.train.answer_idx), columns=pd.Index(expert_names(split.train)))
    team = DeferralClassifier(net, random_state=0)
    return team.fit(split.train.features, names_of(split.train.label_idx), experts=answers).team_


def by_study(split: Split) -> Team:
    """Learn from five eighths of the rows, and calibrate."""
    return study_of(split).fit()


def by_boosting(split: Split) -> Team:
    """Fit scikit-learn's boosting for the classes, and once for each expert."""
    train = split.train
    model = boosted().fit(train.features, train.label_idx)
    skills = [boosted().fit(train.features[rows], train.correct[rows, j]) for j, rows in enumerate(train.observed.T)]
    test = split.test.features
    expert_proba = np.column_stack([skill.predict_proba(test)[:, 1] for skill in skills])
    return Team.from_probabilities(model.predict_proba(test), expert_proba)


SYSTEMS: dict[str, Callable[[Split], Team]] = {
    "default": by_study,
    "plain boosted": by_boosting,
}


def judge(router: Team, split: Split, *, fitted_rows: bool) -> dict[str, float]:
    """Return the mean error of P(right), and the points that the team loses to the best possible one."""
    truth = split.truth
    assert truth is not None
    features = None if fitted_rows else split.test.features
    scores, decision = router.scores(features), router.decide(features)
    value = truth.value(decision.expert, scores.class_idx)
    return {
        "error_of_p_right": round(float(np.abs(scores.expert_proba - truth.expert_proba).mean()), 4),
        "error_of_class_proba": round(float(np.abs(scores.class_proba - truth.class_proba).mean()), 4),
        "points_lost": round(100 * (truth.best_team() - value), 3),
        "promised": round(float(1 - decision.expected_cost.mean()), 4),
        "true_value": round(value, 4),
    }


def run(*, n_learn: int = N_LEARN, n_test: int = N_TEST) -> dict[str, dict[str, float]]:
    """Return the figures of each law, share of answers and system."""
    figures: dict[str, dict[str, float]] = {}
    for law in LAWS:
        for name, share in SHARES.items():
            split = draw(law, share, n_learn=n_learn, n_test=n_test)
            for system, fit in SYSTEMS.items():
                began = time.process_time()
                try:
                    router = fit(split)
                except InputError as error:
                    print(f"{system}: left out: {str(error)[:100]}")
                    continue
                seconds = time.process_time() - began
                one = {**judge(router, split, fitted_rows=fit is by_boosting), "fit_cpu_s": round(seconds, 1)}
                times = 1.0 if share == 1 else HALF
                one["limit_of_error"] = round(times * LIMITS[law], 4)
                one["limit_of_points_lost"] = round(times * MOST_LOST, 3)
                one["within"] = float(
                    one["error_of_p_right"] <= one["limit_of_error"]
                    and one["points_lost"] <= one["limit_of_points_lost"]
                )
                figures[f"{law}, {name}, {system}"] = one
                print(f"  {law}, {name}, {system}: {one}", flush=True)
    return figures
