"""Were answers given at random? What `Study.fit` sees of that in the cases to learn from."""

from typing import TYPE_CHECKING, Any

import numpy as np

from defero.answering import check_answering
from defero.core.errors import Argument, Message
from defero.data.case_file import Cases
from defero.data.recipes.pictures import PictureRecipe
from defero.data.recipes.recipe import FeatureRecipe
from defero.router import Router
from defero.router.facts import AnsweringFacts

if TYPE_CHECKING:
    from defero.core import ExpertTable
    from defero.estimators.training_data import AnswerWeights


def answering_in(
    learn: "ExpertTable",
    cases: Cases,
    router: Router,
    *,
    text_features: Any,
    groups: Any,
    weights: "AnswerWeights | None",
) -> AnsweringFacts | None:
    """Check the cases to learn from; None where it cannot be asked.

    A label that is a majority of the same answers leans to what its voters say, and seems to depend on who they were.

    Parameters
    ----------
    learn : ExpertTable of n cases
    cases : Cases
    router : Router
        Learned from them.
    text_features : (n, d), optional
        Their features, where texts were summed up in scores.
    groups : (n,), optional
        Rows that belong together.
    weights : str, optional
        What the answers were weighted by.
    """
    if not learn.n_experts or cases.n_majority:
        return None
    item_idx, expert_idx, _ = learn.coded.triplets()
    check = check_answering(
        item_idx,
        expert_idx,
        learn.label_idx,
        _matrix(learn, cases, router, groups=groups) if text_features is None else text_features,
        n_classes=learn.n_classes,
        n_experts=learn.n_experts,
        expert_names=learn.expert_names,
        classes=learn.classes.tolist(),
    )
    sentences: tuple[Message, ...] = ()
    if check.depends_on_label or check.depends_on_features:
        sentences = tuple(Message(sentence) for sentence in check.describe(weighted=weights))
    if sentences and weights is not None:
        sentences = (*sentences, Message("This model was fitted with ", Argument("answer_weights", weights), "."))
    return AnsweringFacts(check.depends_on_label, check.depends_on_features, sentences)


def _matrix(learn: "ExpertTable", cases: Cases, router: Router, *, groups: Any) -> Any:
    """Return the numbers that the heads read; of texts, scores that were learned without the text itself."""
    from defero.data.recipes.read_texts import read_texts
    from defero.estimators.training_data import group_numbers

    if isinstance(router.recipe, PictureRecipe):
        return np.empty((len(learn), 0))
    if not cases.file.text:
        return router.features(learn.features)
    matrix, _ = read_texts(
        FeatureRecipe.learn(learn.features, text=cases.file.text, encoder=cases.file.encoder),
        learn.features,
        learn.label_idx,
        n_classes=learn.n_classes,
        weight=np.ones(len(learn)),
        groups=None if groups is None else group_numbers(groups, n_items=len(learn)),
    )
    return matrix
