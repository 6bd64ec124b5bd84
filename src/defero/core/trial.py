"""Trial: what a team does with n held-out cases, by each way of asking, and the plain alternatives."""

from dataclasses import dataclass

import numpy as np

from defero.core.belief import at
from defero.core.checks.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    check_shape,
    index_numbers,
    set_columns,
    set_frozen,
)
from defero.core.errors import InputError
from defero.core.labels import MISSING, Labels, answer_numbers
from defero.core.results import Decision, ExpertSets
from defero.core.scores import Scores

ASK = ("one", "sequential", "panel")
"""How a team may settle a case: one expert, whose answer is final; one after the other; a panel at once."""
PLAIN = ("everybody_majority", "everybody_bayes", "best_expert", "random_expert", "model")
"""What one can do without a team."""
WAYS = (*ASK, *PLAIN)


@dataclass(frozen=True, eq=False)
class Way:
    """One way of settling n cases.

    Attributes
    ----------
    name : str
        One of `WAYS`.
    right : (n,) float
        Whether the label is right; for a random expert how likely it is to be.
    questions : (n,) float
        How many answers were heard.
    fees : (n,)
        What they cost.
    promised : (n,), optional
        P(the label is right) that was stated; None where nothing is promised.
    label_idx : (n,) class numbers, optional
        None for a random expert.
    errors : (n,), optional
        What the errors cost, in the unit of the fees; by default 1 for each.

    Examples
    --------
    >>> way = Way("model", right=[1, 0], questions=[0, 0], fees=[0, 0], promised=[0.9, 0.6], label_idx=[0, 1])
    >>> float(way.cost.mean())
    0.5
    """

    name: str
    right: FloatArray
    questions: FloatArray
    fees: FloatArray
    promised: FloatArray | None = None
    label_idx: IntArray | None = None
    errors: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.errors is None:
            object.__setattr__(self, "errors", 1 - np.asarray(self.right, dtype=np.float64))
        set_columns(self, "right", "questions", "fees", "promised", "errors", like="right", dtype=np.float64)
        set_columns(self, "label_idx", like="right", dtype=np.int64)

    @property
    def cost(self) -> FloatArray:
        """(n,): fees and errors."""
        assert self.errors is not None
        return self.fees + self.errors


@dataclass(frozen=True, eq=False)
class PanelTrial:
    """The panels of a trial.

    Attributes
    ----------
    sets : ExpertSets of n items
        Panel of each item, for the case that it is deferred.
    deferred : (n,) bool
        Items that a panel decides, by the calibrated rule, whether or not answers are recorded.
    team_label_idx : (n,) class numbers
        The team's labels if panels vote on deferred items.
    eligible : (J,) bool
        Experts who can be on a panel; the promise is about them.
    promise, target, alpha : str, str, float
        The promise, in words and as its parameters.
    """

    sets: ExpertSets
    deferred: BoolArray
    team_label_idx: IntArray
    eligible: BoolArray
    promise: str
    target: str
    alpha: float


@dataclass(frozen=True, eq=False)
class Trial:
    """A team on n held-out cases whose labels and recorded answers are known.

    Attributes
    ----------
    classes : (K,)
        Of the type of the labels.
    label_idx : (n,) class numbers
        True classes.
    answer_idx : (n, J) class numbers, -1 where none is recorded
    scores : Scores of n items
        Probabilities by which the team decided.
    decision : Decision
        Made among the experts whose answer is recorded.
    uncalibrated : Scores
        The scores before calibration; `scores` itself without calibration.
    panel : PanelTrial, optional
    panel_note : str, optional
        Why there is no `panel` although the team has one.
    ways : tuple of Way
        The same cases settled in every way of asking.
    ask : "one", "sequential" or "panel"
        The way that the team's labels are taken from.
    fees_given : bool
        Whether the fees of `ways` are the user's; else a question costs 0.01 of an error.
    cost_matrix : (K, K), optional
        What errors cost in the unit of the fees (rows truth, columns label), where the user gave that; else 1.
    question_fees : (n, J), optional
        What a question costs; 0.01 of the dearest error where no fees were given.
    model_label_idx : (n,) class numbers, optional
        The model's cheapest labels, where errors cost differently; by default its most likely classes.

    Examples
    --------
    >>> scores = Scores.from_probabilities([[0.9, 0.1], [0.5, 0.5]], [[0.8], [0.8]])
    >>> decision = Decision(np.array([-1, 0]), ("ann",), np.array([0.1, 0.2]), np.array([0.9, 0.5]),
    ...                     np.array([0, 0]), np.array([0.8, 0.8]), np.array([-1, -1]))
    >>> trial = Trial(np.array(["no", "yes"]), np.array([0, 1]), np.array([[0], [1]]), scores, decision, scores)
    >>> trial.team_correct.tolist(), trial.model_correct.tolist()
    ([True, True], [True, False])
    """

    classes: Labels
    label_idx: IntArray
    answer_idx: IntArray
    scores: Scores
    decision: Decision
    uncalibrated: Scores
    panel: PanelTrial | None = None
    panel_note: str | None = None
    ways: tuple[Way, ...] = ()
    ask: str = "one"
    fees_given: bool = False
    cost_matrix: FloatArray | None = None
    question_fees: FloatArray | None = None
    model_label_idx: IntArray | None = None

    def __post_init__(self) -> None:
        n_items, n_experts, n_classes = len(self.scores), self.scores.n_experts, self.scores.n_classes
        check_shape("classes", self.classes, (n_classes,), like=" like scores")
        check_shape("decision", self.decision.expert, (n_items,), like=" like scores")
        check_shape("uncalibrated", self.uncalibrated.model_proba, (n_items,), like=" like scores")
        if len(self.expert_names) != n_experts:
            named = len(self.expert_names)
            raise InputError(
                f"must be among the {n_experts} experts of scores, got {named} names.", argument="decision"
            )
        label_idx = index_numbers("label_idx", self.label_idx, below=n_classes, n_items=n_items)
        answer_idx = answer_numbers(self.answer_idx, n_classes=n_classes, name="answer_idx")
        check_shape("answer_idx", answer_idx, (n_items, n_experts))
        set_frozen(self, classes=np.asarray(self.classes), label_idx=label_idx, answer_idx=answer_idx)
        if self.panel is not None:
            check_shape("panel", self.panel.sets.mask, (n_items, n_experts))
        if self.ask != "one" and self.ask not in {one.name for one in self.ways if one.label_idx is not None}:
            raise InputError(f": the team has no way of asking {self.ask!r} here.", argument="ask")
        asked_idx = np.flatnonzero(self.decision.deferred)
        silent = self.answer_idx[asked_idx, self.decision.expert[asked_idx]] == MISSING
        if silent.any():
            raise InputError(
                f": item {asked_idx[silent][0]} goes to an expert without a recorded answer; "
                "decide among those who answered (available=).",
                argument="decision",
            )

    def __len__(self) -> int:
        return len(self.label_idx)

    @property
    def expert_names(self) -> tuple[str, ...]:
        """J names."""
        return self.decision.expert_names

    @property
    def observed(self) -> BoolArray:
        """(n, J): whether expert j answered."""
        return self.answer_idx != MISSING

    @property
    def expert_correct(self) -> BoolArray:
        """(n, J): whether expert j is right; False without an answer."""
        return self.answer_idx == self.label_idx[:, None]

    @property
    def model_correct(self) -> BoolArray:
        """(n,): whether the model is right."""
        return self.model_idx == self.label_idx

    @property
    def model_idx(self) -> IntArray:
        """(n,): the model's labels."""
        return self.scores.class_idx if self.model_label_idx is None else self.model_label_idx

    @property
    def model_proba(self) -> FloatArray:
        """(n,): P(the model's label is right)."""
        if self.model_label_idx is None:
            return self.scores.model_proba
        return at(self.scores.class_proba, self.model_label_idx)

    @property
    def team_label_idx(self) -> IntArray:
        """(n,): the team's labels: the model's, or the answer of the expert who decides; else those of `ask`."""
        way = self.way
        return self.decider_label_idx if way is None or way.label_idx is None else way.label_idx

    @property
    def decider_label_idx(self) -> IntArray:
        """(n,): the model's labels, or the answer of the one expert who decides."""
        label_idx = self.model_idx.copy()
        asked_idx = np.flatnonzero(self.decision.deferred)
        label_idx[asked_idx] = self.answer_idx[asked_idx, self.decision.expert[asked_idx]]
        return label_idx

    @property
    def settled_by_model(self) -> BoolArray:
        """(n,): whether the model alone settles the case."""
        return ~self.decision.deferred if self.way is None else self.way.questions == 0

    @property
    def way(self) -> Way | None:
        """The way that the team's labels are taken from; None for one expert, which is `decision`."""
        return None if self.ask == "one" else next(one for one in self.ways if one.name == self.ask)

    @property
    def team_correct(self) -> BoolArray:
        """(n,): whether the team is right."""
        return self.team_label_idx == self.label_idx
