"""What one network says of n items, what the experts answered, and the truth: stored by the authors, or ours."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from defero import InputError, Scores
from defero.losses import scores_from_logits
from defero_verma2023.arrays import BoolArray, FloatArray, IntArray

Rows = IntArray | BoolArray | slice
LEAST = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class TeamOutputs:
    """Outputs, answers and labels of n items, K classes, J experts.

    Attributes
    ----------
    link : str
        How the outputs are read: the loss that the network was trained with. Two stages are read as "decoupled".
    class_logits, expert_logits : (n, K), (n, J)
    answers : (n, J) int
    labels : (n,) int
    model_logit : (n,), optional
        The allocator's column of the model, of a mixture of experts alone.
    """

    link: str
    class_logits: FloatArray
    expert_logits: FloatArray
    answers: IntArray
    labels: IntArray
    model_logit: FloatArray | None = None

    def __post_init__(self) -> None:
        n_items, n_experts = len(self.labels), self.expert_logits.shape[1]
        shapes = (self.class_logits.shape[0], self.expert_logits.shape, self.answers.shape)
        if shapes != (n_items, (n_items, n_experts), (n_items, n_experts)):
            raise InputError(
                f"class_logits, expert_logits and answers must have {n_items} rows like labels, and one column for "
                f"each expert, got {self.class_logits.shape}, {self.expert_logits.shape} and {self.answers.shape}."
            )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """K."""
        return self.class_logits.shape[1]

    @property
    def n_experts(self) -> int:
        """J."""
        return self.expert_logits.shape[1]

    @cached_property
    def scores(self) -> Scores:
        """The outputs read as probabilities."""
        return scores_from_logits(self.link, self.class_logits, self.expert_logits, model_logit=self.model_logit)

    @cached_property
    def expert_correct(self) -> BoolArray:
        """(n, J): was expert j right?"""
        return self.answers == self.labels[:, None]

    @cached_property
    def model_correct(self) -> BoolArray:
        """(n,): was the model's own label right?"""
        return self.class_logits.argmax(axis=1) == self.labels

    def take(self, rows: Rows) -> "TeamOutputs":
        """Return the outputs of some items."""
        model = None if self.model_logit is None else self.model_logit[rows]
        return TeamOutputs(
            self.link,
            self.class_logits[rows],
            self.expert_logits[rows],
            self.answers[rows],
            self.labels[rows],
            model,
        )

    def pack(self) -> dict[str, np.ndarray]:
        """Return the arrays for an npz file; float32, as the networks give them."""
        packed: dict[str, np.ndarray] = {
            "class_logits": self.class_logits.astype(np.float32),
            "expert_logits": self.expert_logits.astype(np.float32),
            "answers": self.answers.astype(np.int8),
            "labels": self.labels.astype(np.int8),
        }
        if self.model_logit is not None:
            packed["model_logit"] = self.model_logit.astype(np.float32)
        return packed


def outputs_from_scores(scores: Scores, answers: IntArray, labels: IntArray, *, loss: str) -> TeamOutputs:
    """Return the outputs of a network that are read as an estimator's scores.

    Parameters
    ----------
    scores : Scores
        Of n items, K classes, J experts.
    answers, labels : (n, J), (n,)
    loss : str
        What they were learned with; "asymmetric", whose experts' log-odds are known here, becomes "decoupled", as do
        two stages.

    Examples
    --------
    >>> one = TeamOutputs("ova", np.array([[0.5, -1.0]]), np.array([[2.0]]), np.array([[0]]), np.array([0]))
    >>> outputs_from_scores(one.scores, one.answers, one.labels, loss="ova").class_logits.round(9).tolist()
    [[0.5, -1.0]]
    """
    log_proba = np.log(np.maximum(scores.class_proba, LEAST))
    if loss == "moe":
        model = np.log(np.maximum(scores.model_proba, LEAST))
        return TeamOutputs("moe", log_proba, scores.expert_raw, answers, labels, model)
    if loss == "ova":
        return TeamOutputs("ova", _one_vs_all(log_proba, scores.model_proba), scores.expert_raw, answers, labels)
    link: str = "softmax" if loss == "softmax" else "decoupled"
    return TeamOutputs(link, log_proba, scores.expert_raw, answers, labels)


def _one_vs_all(log_proba: FloatArray, model_proba: FloatArray) -> FloatArray:
    """Return logits whose sigmoids have these ratios, the largest of them being `model_proba`."""
    below_top = log_proba - log_proba.max(axis=1, keepdims=True)
    log_right = below_top + np.log(np.clip(model_proba, LEAST, 1 - 1e-15))[:, None]
    return log_right - np.log(-np.expm1(log_right))
