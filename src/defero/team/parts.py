"""TeamParts: what a fitted team consists of, and how it shows itself."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from defero.calibration import Calibrator
from defero.calibration.after_selection import HeldOut, SelectionMap
from defero.core.checks.arrays import BoolArray, IntArray, names
from defero.core.codec import Count, Within
from defero.core.display import Preformatted
from defero.core.errors import InputError
from defero.core.labels import Labels
from defero.core.wording import count_of, join_names
from defero.data.recipes.pictures import PictureRecipe
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.recipes.usual import UsualRanges
from defero.decide.rules import RULES, MostLikelyRight, Rule
from defero.scorers import AnyScorer
from defero.team.facts import FitFacts
from defero.team.panel import Panel
from defero.team.rows import Fingerprints

MOST_PIXELS = 1 << 22


@dataclass(eq=False, repr=False)
class TeamParts(Preformatted):
    """The parts of a team; `Team` is the class to use.

    Attributes
    ----------
    scorer : Scorer
        Features to `Scores`.
    classes : (K,)
        In the labels' own type, sorted.
    expert_names : J names
    answer_counts : (J,) int
        How many answers of each expert were learned from.
    rule : Rule
        How scores become a decision.
    min_answers : int
        An expert with fewer answers than this is not asked alone.
    recipe : FeatureRecipe or PictureRecipe, optional
        Turns a table's columns into numbers or pictures; None for models of plain arrays.
    n_features : int, optional
        Width of the matrix a model without a recipe takes.
    usual : UsualRanges, optional
        Of the columns of such a matrix; a recipe has those of its own columns.
    item_shape : tuple of int, optional
        Of one item, where a model takes no matrix: (height, width, channels) of pictures.
    calibrator : Calibrator, optional
        Calibrates the scores; fitted on rows that `fit` did not see.
    selection : SelectionMap, optional
        Calibrates the expert who is chosen, and says whether asking pays.
    panel : Panel, optional
        Chooses panels; fitted on rows that neither `fit` nor `calibrate` saw.
    seen : mapping
        Which rows each stage has used ("fit", "calibrate", "conformalize", "add_expert"), as fingerprints of their
        features, and with labels and answers.
    rows_key : str, optional
        None where `seen` was made with this user's key; else the id of another key, or "forgotten".
    facts : FitFacts
        What the team remembers of its making: the label's column, the loss, the seed.
    held_out : HeldOut, optional
        Scores of training rows by models that did not see them, for `selection`; not saved.
    """

    kind: ClassVar[str] = "team"
    scorer: AnyScorer
    classes: Labels
    expert_names: tuple[str, ...]
    answer_counts: Annotated[IntArray, Within(0)]
    rule: Annotated[Rule, RULES] = field(default_factory=MostLikelyRight)
    min_answers: Annotated[int, Within(0)] = 1
    recipe: FeatureRecipe | PictureRecipe | None = None
    n_features: Count | None = None
    usual: UsualRanges | None = None
    item_shape: Annotated[tuple[Annotated[int, Within(1, MOST_PIXELS)], ...], Within(1)] | None = None
    calibrator: Calibrator | None = None
    selection: SelectionMap | None = None
    panel: Panel | None = None
    seen: Mapping[str, Fingerprints] = field(default_factory=dict)
    rows_key: str | None = None
    facts: FitFacts = field(default_factory=FitFacts)
    held_out: HeldOut | None = field(default=None, metadata={"saved": False})

    def __post_init__(self) -> None:
        if self.item_shape is not None and math.prod(self.item_shape) > MOST_PIXELS:
            raise InputError(f"must be at most {MOST_PIXELS:,} numbers, got {self.item_shape}.", argument="item_shape")
        self.expert_names = names("expert_names", self.expert_names, count=len(self.answer_counts))

    @property
    def proven(self) -> BoolArray:
        """(J,): who has given enough answers to be asked."""
        return self.answer_counts >= self.min_answers

    def describe(self) -> list[str]:
        """Return what the team is, in at most seven lines."""
        experts = count_of(len(self.expert_names), "expert")
        lines = [
            f"{type(self).__name__}: {count_of(len(self.classes), 'class', 'classes')}, {experts}.",
            f"  classes: {join_names(self.classes.tolist(), most=6)}",
            f"  experts: {join_names(self.expert_names, most=6)}" if self.expert_names else "  experts: none",
            f"  scorer: {self.scorer.kind}; features: {self._features()}",
            f"  calibrated: {'no' if self.calibrator is None else 'yes'}",
        ]
        if self.panel is None:
            return [*lines, "  panels: none"]
        predictor = self.panel.predictor
        return [*lines, f"  panels: {predictor.target}, alpha {predictor.alpha:g}"]

    def _features(self) -> str:
        if self.recipe is not None:
            return f"{count_of(len(self.recipe.inputs), 'column')} of a table"
        if self.item_shape is not None:
            return f"items of shape {self.item_shape}"
        return "any" if self.n_features is None else count_of(self.n_features, "number")

    def __repr__(self) -> str:
        return "\n".join(line if len(line) <= 120 else f"{line[:117]}..." for line in self.describe())
