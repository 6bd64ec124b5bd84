"""What recorded answers say about the labels: were these made from them, or are the codes swapped?"""

import numpy as np
from scipy.special import pdtr

from defero.core.checks.arrays import IntArray
from defero.core.labels import MISSING
from defero.core.trial import Trial
from defero.core.wording import percent
from defero.judge.intervals import clopper_pearson_interval

LEAST_ANSWERS = 3
"""A majority of fewer answers is nobody's or one's."""
LEAST_SHARE = 0.9
"""A label that equals the majority less often was hardly made from it."""
RISK = 1e-3
"""Both sentences accuse the data, so they need more than the usual evidence."""
MOST_CELLS = 1_000_000
"""Of more cells of cases and experts a random part of the cases is looked at."""
N_DRAWS = 10
FROM_ANSWERS = "The label is the most frequent answer"
SHRINKAGE = 5.0
"""An expert's error rate is shrunk toward everybody's as if these were so many answers."""


def labels_from_answers(trial: Trial, *, rng: np.random.Generator) -> str | None:
    """Say that the label is the most frequent of the same answers more often than independent errors explain.

    If experts err independently given the label, at rates of their own, then in some cases another class gets more
    answers. Hard cases make that more frequent, never less. If it hardly happens, the label was made from the answers.
    """
    rows = np.flatnonzero(trial.observed.sum(axis=1) >= LEAST_ANSWERS)
    most = max(1, MOST_CELLS // max(1, len(trial.expert_names)))
    rows = rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
    if not len(rows):
        return None
    label_idx, n_classes = trial.label_idx[rows], len(trial.classes)
    outvoted = _outvoted(trial.answer_idx[rows], label_idx, n_classes=n_classes)
    expected = _outvoted_by_chance(trial.answer_idx[rows], label_idx, n_classes=n_classes, rng=rng)
    share = 1 - outvoted / len(rows)
    if share < LEAST_SHARE or outvoted > expected / 2 or pdtr(outvoted, expected) > RISK:
        return None
    return (
        f"{FROM_ANSWERS} in {percent(share)} of the {len(rows)} cases with {LEAST_ANSWERS} answers or more, where "
        f"independent errors would make it {percent(1 - expected / len(rows))}. If the labels were made from these "
        "answers, every expert looks better than they are, and so does the team."
    )


def _outvoted(answer_idx: IntArray, label_idx: IntArray, *, n_classes: int) -> int:
    """Count the cases in which another class has more answers than the label."""
    votes = np.stack([(answer_idx == k).sum(axis=1) for k in range(n_classes)], axis=1)
    return int((votes.max(axis=1) > votes[np.arange(len(votes)), label_idx]).sum())


def _outvoted_by_chance(
    answer_idx: IntArray, label_idx: IntArray, *, n_classes: int, rng: np.random.Generator
) -> float:
    """Return how many cases would be so if errors were independent, and fell on the other classes alike."""
    observed = answer_idx != MISSING
    wrong = observed & (answer_idx != label_idx[:, None])
    pooled = wrong.sum() / observed.sum()
    rate = (wrong.sum(axis=0) + SHRINKAGE * pooled) / (observed.sum(axis=0) + SHRINKAGE)
    counts = []
    for _ in range(N_DRAWS):
        step = np.where(rng.random(observed.shape) < rate, rng.integers(1, max(2, n_classes), observed.shape), 0)
        drawn = np.where(observed, (label_idx[:, None] + step) % n_classes, MISSING)
        counts.append(_outvoted(drawn, label_idx, n_classes=n_classes))
    return float(np.mean(counts))


def below_chance(trial: Trial) -> str | None:
    """Say that every expert is right less often than a guess among the classes."""
    counts, right = trial.observed.sum(axis=0), trial.expert_correct.sum(axis=0)
    total, guess = int(counts.sum()), 1 / len(trial.classes)
    if not total or (right >= guess * counts)[counts > 0].any():
        return None
    low, high = clopper_pearson_interval(int(right.sum()), total, level=1 - RISK)
    if high >= guess:
        return None
    whose = "The expert is" if (counts > 0).sum() == 1 else f"All {int((counts > 0).sum())} experts are"
    return (
        f"{whose} right less often than a guess among {len(trial.classes)} classes ({percent(guess)}): "
        f"{percent(right.sum() / total)} of {total} answers ({100 * low:.1f} to {100 * high:.1f}). Do the codes of "
        "answers and labels mean the same?"
    )
