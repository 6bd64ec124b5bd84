"""What a judge with errors does to the scores of a pool, with and without the correction."""

import numpy as np

from defero.judge import Judge
from defero.judge.intervals import wilson_interval

SENSITIVITY, SPECIFICITY = 0.9, 0.8


def marks_of(scores, rng, *, sensitivity=SENSITIVITY, specificity=SPECIFICITY):
    """Return what a judge says of right (1) and wrong (0) answers."""
    return np.where(rng.random(scores.shape) < np.where(scores == 1, sensitivity, specificity), scores, 1 - scores)


def estimated_judge(scores, rng, n_checked):
    """Return the judge as known from answers of random items by random members, of which the truth is known."""
    rows, members = rng.integers(0, len(scores), n_checked), rng.integers(0, scores.shape[1], n_checked)
    truth = scores[rows, members]
    return Judge.from_marks(marks_of(truth, rng), truth)


def coverage(scores, *, n_items, n_checked, repetitions, seed=0):
    """Return how often the intervals hold each member's mean, of items drawn anew from all: corrected and raw."""
    truth, rng = scores.mean(axis=0), np.random.default_rng(seed)
    corrected, raw = np.zeros(len(truth)), np.zeros(len(truth))
    for _ in range(repetitions):
        judge = estimated_judge(scores, rng, n_checked)
        marks = marks_of(scores[rng.integers(0, len(scores), n_items)], rng)
        for j, mean in enumerate(truth):
            estimate = judge.mean(marks[:, j])
            low, high = wilson_interval(int(marks[:, j].sum()), n_items)
            corrected[j] += estimate.low <= mean <= estimate.high
            raw[j] += low <= mean <= high
    return corrected / repetitions, raw / repetitions


def one_sample(scores, *, n_checked, seed=0):
    """Return each member's true mean beside the mean of the marks and the corrected one."""
    rng = np.random.default_rng(seed)
    judge, marks = estimated_judge(scores, rng, n_checked), marks_of(scores, rng)
    rows = [{"truth": float(m), **judge.mean(marks[:, j]).to_dict()} for j, m in enumerate(scores.mean(axis=0))]
    return judge, rows


def learned_by_task(scores, task, *, n_checked, seed=0):
    """Return the error of a table of means by task, and what the best member by task promises and keeps."""
    rng = np.random.default_rng(seed)
    half = rng.permutation(len(scores)) < len(scores) // 2
    judge, marks = estimated_judge(scores[half], rng, n_checked), marks_of(scores, rng)
    names, task_idx = np.unique(task, return_inverse=True)
    rows = np.arange(len(scores))
    outcome = {}
    for way, targets in (("marks", marks), ("corrected", judge.unbiased(marks))):
        table = np.array([targets[half & (task_idx == k)].mean(axis=0) for k in range(len(names))]).clip(0, 1)
        truth = np.array([scores[~half & (task_idx == k)].mean(axis=0) for k in range(len(names))])
        chosen = table.argmax(axis=1)[task_idx]
        outcome[way] = {
            "rmse": float(np.sqrt(((table - truth) ** 2).mean())),
            "promised": float(table.max(axis=1)[task_idx][~half].mean()),
            "kept": float(scores[rows, chosen][~half].mean()),
        }
    return outcome
