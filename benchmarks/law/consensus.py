"""Three sets of Kelly and others (arXiv 2506.05636), with the experts' consensus taken for the truth.

A team learns from answered cases and asks in turn about 250 others, at fees from high to low. Each fee gives a point:
questions an item, and how often the label is not the consensus. The area under the line through the points, from half
a question to two and a half, is the figure: per cent times questions, lower is better.
"""

import time
import warnings
from typing import Any

import numpy as np

from benchmarks.law.answered import Answered
from benchmarks.law.people import items_and_answers, table_of
from benchmarks.law.trial import fit, mean
from defero import Team
from defero.core.checks.arrays import FloatArray
from defero.decide.terms import Terms

SETS = ("consensus_nih", "consensus_imagenet16h", "consensus_cifar10h")
LEARN = (250, 500)
N_JUDGED, N_SHUFFLES = 250, 8
FROM, TO = 0.5, 2.5
ERRORS = (5.0, 2.0, 1.0, 0.5)
FEES = (0.0, 1e-5, 1e-4, 5e-4, 0.001, 0.002, 0.004, 0.007, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.45)


def read(name: str) -> Answered:
    """Return a set: the features are the model's probabilities, the class is the consensus."""
    items, answers = items_and_answers(name)
    return Answered(
        items.filter(like="model_p").to_numpy(np.float64),
        items["consensus"].to_numpy(np.int64),
        table_of(items, answers),
    )


def run_shuffle(whole: Answered, name: str, seed: int, n_learn: int) -> dict[str, Any]:
    """Return the figures of one shuffle."""
    order = np.random.default_rng([seed, 40]).permutation(len(whole))
    judged, learn = whole.take(order[:N_JUDGED]), whole.take(order[N_JUDGED : N_JUDGED + n_learn])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        team = fit(learn, seed)
        fitted = time.process_time()
        line = curve(team, judged)
    return {
        "set": name,
        "system": "law",
        "split": seed,
        "n_learn": n_learn,
        "questions": line[:, 0].tolist(),
        "errors": line[:, 1].tolist(),
        "area": round(area(line), 4),
        "fit_s": round(fitted - began, 2),
        "ask_s": round(time.process_time() - fitted, 2),
    }


def curve(team: Team, judged: Answered) -> FloatArray:
    """Return questions an item and per cent of errors at each fee, (fees, 2), by rising questions."""
    points = []
    for fee in FEES:
        terms = Terms(fees=np.full(len(team.expert_names), fee))
        answer = team.answer(judged.features, judged.answer_idx, vote="sequential", terms=terms)
        wrong = answer.label.astype(np.int64) != judged.label_idx
        points.append((mean(answer.heard.sum(axis=1)), 100 * mean(wrong)))
    return np.array(sorted(points, key=lambda point: (point[0], -point[1])))


def area(line: FloatArray) -> float:
    """Return the area under straight lines between the points, level beyond the ends.

    >>> area(np.array([[0.0, 4.0], [2.0, 0.0]]))
    2.25
    """
    inside = line[(line[:, 0] > FROM) & (line[:, 0] < TO), 0]
    at = np.concatenate([[FROM], inside, [TO]])
    return float(np.trapezoid(np.interp(at, line[:, 0], line[:, 1]), at))


def questions_at(line: FloatArray, errors: float) -> float | None:
    """Return how many questions an item bring the errors down to so many per cent; None where no fee does."""
    below = np.flatnonzero(line[:, 1] <= errors)
    if not len(below):
        return None
    k = below[0]
    if k == 0:
        return float(line[0, 0])
    (q0, e0), (q1, e1) = line[k - 1], line[k]
    return float(q0 + (e0 - errors) / max(e0 - e1, 1e-12) * (q1 - q0))
