"""The result of a check of the answering, as sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from defero.core.errors import Argument, Message
from defero.core.wording import count_of, list_in_words, round_percent

if TYPE_CHECKING:
    from defero.answering.check import AnsweringCheck
    from defero.answering.weights import By

COUNTS = ("no", "one", "two", "three", "four", "five")
NAMED = 3
"""How many experts, or classes, are named before the others are counted."""
UNSEEN = (
    "No record shows whether people answered because of the answer they would give, or only where they felt sure. "
    "Weights cannot correct that: let everybody answer some cases drawn at random."
)


def describe(check: AnsweringCheck, *, weighted: By | None = None) -> tuple[str, ...]:
    """Return the result, its meaning, the remedy (or that it was applied), and what weights cannot correct."""
    if check.n_answers == 0:
        return ("No answers: nothing to check.",)
    sentences = [one for one in (_pool(check), _spread(check), _experts(check)) if one]
    if sentences:
        sentences.append(_meaning(check, weighted))
    features = _features(check, weighted)
    if features:
        sentences.append(features)
    if not sentences:
        sentences.append(_nothing(check))
    return (*sentences, *_incurable(check), UNSEEN)


def _pool(check: AnsweringCheck) -> str | None:
    """Say that items of some class get more answers."""
    if not check.pool_depends:
        return None
    order = np.argsort(-check.answers_by_class, kind="stable")
    order = order[~np.isnan(check.answers_by_class[order])]
    most, least = order[0], order[-1]
    return (
        f"Whether a case was answered depends on its label{_given(check)} ({_chance(check, check.p_pool)}): class "
        f"{check.classes[most]} got {check.answers_by_class[most]:.2f} answers a case, class {check.classes[least]} "
        f"{check.answers_by_class[least]:.2f}."
    )


def _spread(check: AnsweringCheck) -> str | None:
    """Say that experts differ in the classes that they answered."""
    if not check.experts_differ:
        return None
    p = f"({_chance(check, check.p_spread)})"
    if len(check.expert_names) > 1:
        return f"Who answered which class differs from expert to expert{_given(check)} {p}."
    return None if check.pool_depends else f"{check.expert_names[0]} chose cases by their label{_given(check)} {p}."


def _experts(check: AnsweringCheck) -> str | None:
    """Name the experts whose own answers show it."""
    odd = check.dependent_experts
    if not odd.size or (len(check.expert_names) == 1 and (check.pool_depends or check.experts_differ)):
        return None
    examples = []
    for j in odd[:NAMED].tolist():
        k = int(check.oddest[j])
        share = float(check.rates[j, k] * check.class_sizes[k] / np.nansum(check.rates[j] * check.class_sizes))
        examples.append(
            f"of the answers of {check.expert_names[j]} {round_percent(share)} are to class {check.classes[k]} where "
            f"{round_percent(min(1.0, max(0.0, share - float(check.gap[j]))))} were expected"
        )
    left = len(odd) - len(examples)
    text = "; ".join(examples) + (f"; likewise for {left} more" if left else "") + "."
    return text[0].upper() + text[1:]


def _meaning(check: AnsweringCheck, weighted: By | None) -> str:
    """Say what follows, and what to do, or what was done."""
    largest = max(check.shift, float(check.expert_shift[check.dependent_experts].max(initial=0.0)))
    by = "label+features" if check.depends_on_features else "label"
    how = f" by up to {100 * largest:.0f} points" if largest >= 0.01 else ""
    unweighted = (
        f"Accuracies learned from unweighted answers can be off{how}: they describe only the cases that were answered."
    )
    if weighted == "label" and by != "label":
        return Message(
            f"{unweighted} The answers were weighted by the label alone, which adds bias if features predict the "
            "label; use ",
            Argument("answer_weights", by),
            ".",
        )
    if weighted is not None:
        return f"{unweighted} The answers were weighted, which corrects this for the classes that were answered."
    return Message(
        f"{unweighted} Weights correct this for the classes that were answered: use ",
        Argument("answer_weights", by),
        ".",
    )


def _features(check: AnsweringCheck, weighted: By | None) -> str | None:
    """Say that answering depends on the features, and that this may be harmless."""
    if not check.depends_on_features:
        return None
    beyond = "also " if check.depends_on_label else ""
    dependence = f"Whether a case was answered {beyond}depends on its features ({_chance(check, check.p_features)})."
    if weighted == "label+features":
        return f"{dependence} The answers were weighted for this too."
    if weighted == "label":
        return dependence
    return Message(
        f"{dependence} Heads that fit these features well need no weights. If they do not, use ",
        Argument("answer_weights", "label+features"),
        ".",
    )


def _nothing(check: AnsweringCheck) -> str:
    """Say that nothing was found, and of how much."""
    if np.isnan(check.p_label) and np.isnan(check.p_features):
        return f"Not enough variation to test whether the {count_of(check.n_answers, 'answer')} were given at random."
    known = "label" if np.isnan(check.p_features) else "features or the label"
    return f"No sign that answering depends on the {known} ({count_of(check.n_answers, 'answer')})."


def _incurable(check: AnsweringCheck) -> tuple[str, ...]:
    """Say which classes, or whose, no weight can make up for."""
    sentences = []
    bare = [check.classes[k] for k in np.flatnonzero(check.answers_by_class == 0)]
    if bare:
        sentences.append(
            f"Nobody answered a case of class {list_in_words(bare, most=NAMED)}: the accuracy on "
            "this class is unknown, and weights cannot correct that."
        )
    never = []
    for j in check.dependent_experts.tolist():
        none = np.flatnonzero((check.rates[j] == 0) & (check.answers_by_class > 0))
        if none.size:
            never.append(
                f"{check.expert_names[j]} (class {list_in_words([check.classes[k] for k in none], most=NAMED)})"
            )
    if never:
        sentences.append(
            f"Some never answered a class that others answered: {list_in_words(never, most=NAMED)}. Their accuracy "
            "there is estimated from the other experts; weights cannot correct that."
        )
    return tuple(sentences)


def _given(check: AnsweringCheck) -> str:
    """Say that the features were taken into account, where there are any."""
    return "" if np.isnan(check.p_features) else ", beyond what the features predict"


def _chance(check: AnsweringCheck, p: float) -> str:
    """Write a p value, and that it is adjusted for the number of questions asked."""
    n = check.n_questions
    return f"p at most {p:.2g}" + (f", adjusted for {COUNTS[n]} questions" if n > 1 else "")
