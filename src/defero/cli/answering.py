"""Were answers given at random? What `fit` finds of that, in the words of the command line, and who repeats it."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from defero.core import ExpertTable
    from defero.data.case_file import Cases
    from defero.estimators.lesson import AnswerWeights
    from defero.router import Router

_IN_PYTHON = re.compile(r'weight=answer_weights\(\.\.\., by="([a-z ]+)"\)')


@dataclass(frozen=True)
class Answering:
    """What was found of who answered what.

    Attributes
    ----------
    alarm : bool
        Does it depend on the label, beyond what the features foretell?
    depends_on_features : bool
    said : sentences
        What that means and what to do; none where nothing was found.
    """

    alarm: bool
    depends_on_features: bool
    said: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON and for the model's notes."""
        return {"alarm": self.alarm, "depends_on_features": self.depends_on_features, "said": list(self.said)}


def answering_in(
    learn: "ExpertTable",
    cases: "Cases",
    router: "Router",
    *,
    text: tuple[str, ...],
    groups: Any,
    weights: "AnswerWeights | None",
) -> Answering | None:
    """Check the cases to learn from; None where it cannot be asked.

    A label that is a majority of the same answers leans to what its voters say, and seems to depend on who they were.
    """
    if not learn.n_experts or cases.n_majority:
        return None
    from defero.answering import check_answering

    item_idx, expert_idx, _ = learn.coded.triplets()
    found = check_answering(
        item_idx,
        expert_idx,
        learn.label_idx,
        _matrix(learn, router, text=text, groups=groups),
        n_classes=learn.n_classes,
        n_experts=learn.n_experts,
        experts=learn.experts,
        classes=learn.classes.tolist(),
    )
    said: tuple[str, ...] = ()
    if found.alarm or found.depends_on_features:
        said = tuple(in_options(sentence) for sentence in found.words(weighted=weights))
    if said and weights is not None:
        said = (*said, f"This model was fitted with --answer-weights {spelled(weights)}.")
    return Answering(found.alarm, found.depends_on_features, said)


def noted(router: "Router") -> Answering | None:
    """Return what `fit` found and the model remembers."""
    kept = router.notes.get("answering")
    return None if kept is None else Answering(kept["alarm"], kept["depends_on_features"], tuple(kept["said"]))


def show_answering(found: Answering | None, *, when: str) -> None:
    """Print what was found for a person; nothing where that is nothing."""
    if found is not None and found.said:
        typer.echo("\n".join([f"Who answered what, {when}:", *(f"  {sentence}" for sentence in found.said)]) + "\n")


def in_options(sentence: str) -> str:
    """Let a sentence name the option where the library names its argument.

    >>> in_options('This cures it: weight=answer_weights(..., by="label+features").')
    'This cures it: fit --answer-weights label+features.'
    """
    return _IN_PYTHON.sub(lambda told: f"fit --answer-weights {spelled(told[1])}", sentence)


def spelled(weights: str) -> str:
    """Return what answers are weighted by, as a shell takes it without quotes.

    >>> spelled("label+features")
    'label+features'
    """
    return weights.replace(" and ", "+")


def _matrix(learn: "ExpertTable", router: "Router", *, text: tuple[str, ...], groups: Any) -> Any:
    """Return the numbers that the heads read; of texts, scores that were learned without the text itself."""
    import numpy as np

    from defero.data.recipes.picture_recipe import PictureRecipe
    from defero.data.recipes.read_texts import read_texts
    from defero.data.recipes.recipe import FeatureRecipe
    from defero.estimators.lesson import group_numbers

    if isinstance(router.recipe, PictureRecipe):
        return np.empty((len(learn), 0))
    if not text:
        return router.features(learn.features)
    together = None if groups is None else group_numbers(groups, n_items=len(learn))
    recipe = FeatureRecipe.learn(learn.features, text=text)
    matrix, _ = read_texts(
        recipe,
        learn.features,
        learn.label_idx,
        n_classes=learn.n_classes,
        weight=np.ones(len(learn)),
        groups=together,
    )
    return matrix
