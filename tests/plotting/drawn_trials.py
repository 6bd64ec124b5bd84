"""Trials to draw, and what can be read back from a drawn figure."""

from functools import cache

import matplotlib
import numpy as np
from matplotlib.text import Text

from defero.core.results import Decision, ExpertSets
from defero.core.scores import Scores
from defero.core.trial import PanelTrial, Trial

matplotlib.use("Agg")


@cache
def made_trial(n_experts, *, n_items=400, n_classes=4, seed=0, names=None, answered=0.8, silent=(), defer="best"):
    """Return a trial of experts who are good at one class each; `silent` ones never answer."""
    rng = np.random.default_rng(seed)
    label_idx = rng.integers(n_classes, size=n_items)
    sharp = rng.dirichlet(np.full(n_classes, 0.6), size=n_items) + 0.9 * np.eye(n_classes)[label_idx] * rng.random(
        (n_items, 1)
    )
    class_proba = sharp / sharp.sum(axis=1, keepdims=True)
    expert_proba = np.clip(
        0.55
        + 0.35 * (label_idx[:, None] % 3 == np.arange(n_experts) % 3)
        + 0.1 * rng.normal(size=(n_items, n_experts)),
        0.02,
        0.98,
    )
    right = rng.random((n_items, n_experts)) < expert_proba**1.4
    answer_idx = np.where(right, label_idx[:, None], (label_idx[:, None] + 1) % n_classes)
    answer_idx[rng.random(answer_idx.shape) > answered] = -1
    answer_idx[:, list(silent)] = -1
    scores = Scores.from_probabilities(class_proba, expert_proba)
    names = names or tuple(f"dr_{j}" for j in range(n_experts))
    decision = _decide(scores, answer_idx, names, defer=defer)
    mask = expert_proba > 0.85
    filled = ~mask.any(axis=1)
    if n_experts:
        mask[filled, expert_proba[filled].argmax(axis=1)] = True
    panel = PanelTrial(
        ExpertSets(mask, names, filled if n_experts else np.zeros(n_items, bool)),
        decision.deferred,
        label_idx,
        np.ones(n_experts, bool),
        "a promise",
        "any-correct",
        0.1,
    )
    classes = np.array([f"class {k}" for k in range(n_classes)])
    return Trial(classes, label_idx, answer_idx, scores, decision, scores, panel)


def _decide(scores, answer_idx, names, *, defer):
    n_items = len(scores)
    value = np.where(answer_idx != -1, scores.expert_proba, -np.inf)
    best = value.argmax(axis=1) if names else np.full(n_items, -1)
    best_value = value.max(axis=1, initial=-np.inf)
    best = np.where(np.isinf(best_value), -1, best)
    deferred = (best_value >= scores.model_proba) & (best != -1) & (defer == "best")
    expert = np.where(deferred, best, -1)
    worth = np.where(deferred, best_value, scores.model_proba)
    return Decision(expert, names, 1 - worth, scores.model_proba, best, best_value)


def texts(figure):
    """Return the (text, box) of everything written that is seen, in pixels, once it is laid out."""
    figure.draw_without_rendering()
    seen, stack = [], list(figure.axes)
    while stack:
        ax = stack.pop()
        stack.extend(ax.child_axes)
        if not (ax.get_visible() and ax.axison):
            continue
        seen += [ax.title, *ax.texts, ax.xaxis.label, ax.yaxis.label]
        for axis in (ax.xaxis, ax.yaxis):
            for tick in axis._update_ticks():
                seen += [label for label in (tick.label1, tick.label2) if label.get_visible()]
        if ax.get_legend() is not None:
            seen += ax.get_legend().get_texts()
    unique = {id(one): one for one in seen if isinstance(one, Text) and one.get_visible() and one.get_text().strip()}
    return [(one.get_text(), one.get_window_extent()) for one in unique.values()]


def overlaps(figure, *, slack=1.0):
    """Return pairs of texts that touch by more than a pixel, and texts that leave the figure."""
    return overlaps_among(texts(figure), figure, slack=slack)


def overlaps_among(written, figure, *, slack=1.0):
    """Return the same of texts that were found before: laying out fifty panels takes seconds."""
    found = []
    boxes = np.array([[box.x0, box.y0, box.x1, box.y1] for _, box in written])
    width, height = figure.bbox.width, figure.bbox.height
    for i, (text, _) in enumerate(written):
        x0, y0, x1, y1 = boxes[i]
        if x0 < -slack or y0 < -slack or x1 > width + slack or y1 > height + slack:
            found.append((text, "leaves the figure", boxes[i].round().tolist(), (width, height)))
        others = boxes[i + 1 :]
        across = np.minimum(x1, others[:, 2]) - np.maximum(x0, others[:, 0])
        up = np.minimum(y1, others[:, 3]) - np.maximum(y0, others[:, 1])
        found += [(text, written[i + 1 + k][0]) for k in np.flatnonzero((across > slack) & (up > slack))]
    return found
