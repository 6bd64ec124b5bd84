"""DeferralClassifier: a network with one output per class and one per expert, trained on one surrogate loss."""

import math
from typing import Any, Literal

import numpy as np
import torch
from sklearn.utils import check_random_state

from defero.core.checks import FloatArray
from defero.core.errors import InputError
from defero.estimators.base import DeferralEstimator
from defero.estimators.lesson import Lesson
from defero.losses import DeferralLoss
from defero.nets import DenseNet
from defero.scorers.network import NetworkScorer
from defero.training.examples import Examples
from defero.training.full_batch import fit_full_batch
from defero.training.mini_batch import fit_mini_batch
from defero.training.progress import progress_bar
from defero.training.threads import threads_for

ADVISED_LOSS: Literal["decoupled"] = "decoupled"
_LOSSES = ("softmax", "ova", "decoupled", "asymmetric", "moe", "auto")
_PRECISIONS = {"float32": torch.float32, "float64": torch.float64}


class DeferralClassifier(DeferralEstimator):
    """Learn the classes and every expert's skill together (sections 3 and 4 of the paper).

    Features are standardised inside; experts may have answered only some of the items.

    Parameters
    ----------
    net : "linear" or "mlp"
        A linear model fitted by L-BFGS on all rows, or ReLU layers fitted by AdamW with early stopping.
    loss : "softmax", "ova", "decoupled", "asymmetric", "moe" or "auto"
        "auto" is what the docs advise, "decoupled". "moe" is a baseline: it decides by the largest of its J+1 weights
        and reports the weight as its (badly calibrated) probability.
    hidden, expert_hidden : tuple of int
        Widths of the hidden layers of "mlp" in the branch of the classes and in that of the experts.
    text : str or list of str, optional
        Columns of free text in a DataFrame. Their words are weighted by TF-IDF and summed up in scores for the classes,
        by a ridge regression fitted across folds; the network reads the scores as numbers.
    max_epochs : int, optional
        Passes over the data. "linear": at most 1,000 L-BFGS iterations by default. "mlp": by default 15, or as many as
        make 1,000 steps.
    batch_size : int, optional
        For "mlp": 512 by default, a sixteenth of the rows (but at least 32) where there are fewer than 8,192.
    learning_rate, patience, validation_fraction
        For "mlp": training stops after `patience` epochs without a better loss on the held-out fraction.
    weight_decay : float, optional
        "linear": the ridge penalty weight_decay / 2 * |w|^2 beside the mean loss, 1 / n by default (the C = 1 of
        scikit-learn). "mlp": AdamW's, 0.3 by default.
    device : str, optional
        A torch device; a GPU where there is one by default for "mlp", the CPU for "linear".
    precision : "float32" or "float64", optional
        "float64" for "linear" and "float32" for "mlp" by default.
    random_state : int, RandomState or None
        An int makes runs bit-equal on one machine.
    progress : bool
        Show a progress bar.

    Examples
    --------
    >>> from defero.datasets import wedge
    >>> cases = wedge(2_000, random_state=0)
    >>> team = DeferralClassifier(loss="ova", random_state=0)
    >>> team = team.fit(cases.features, cases.labels, experts=cases.answers)
    >>> alone = (team.predict(cases.features) == cases.labels).mean()
    >>> bool(team.score(cases.features, cases.labels, experts=cases.answers) > alone + 0.1)
    True
    """

    def __init__(
        self,
        net: str = "linear",
        *,
        loss: str = "ova",
        hidden: tuple[int, ...] = (64, 64),
        expert_hidden: tuple[int, ...] = (32,),
        text: Any = None,
        max_epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float = 1e-2,
        weight_decay: float | None = None,
        patience: int = 10,
        validation_fraction: float = 0.1,
        device: str | None = None,
        precision: str | None = None,
        random_state: Any = None,
        progress: bool = False,
    ) -> None:
        self.net = net
        self.loss = loss
        self.hidden = hidden
        self.expert_hidden = expert_hidden
        self.text = text
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.device = device
        self.precision = precision
        self.random_state = random_state
        self.progress = progress

    def _learn(self, lesson: Lesson) -> NetworkScorer:
        self._check_options()
        loss = DeferralLoss(ADVISED_LOSS if self.loss == "auto" else self.loss)
        generator = torch.Generator().manual_seed(int(check_random_state(self.random_state).randint(2**31)))
        center, scale = _standards(lesson.features, lesson.weight)
        linear = self.net == "linear"
        dtype = _PRECISIONS[self.precision or ("float64" if linear else "float32")]
        device = torch.device(self.device or ("cuda" if torch.cuda.is_available() and not linear else "cpu"))
        examples = Examples.from_arrays(
            (lesson.features - center) / scale,
            lesson.label_idx,
            lesson.correct,
            lesson.observed,
            lesson.weight,
            dtype=dtype,
            device=device,
        )
        net = DenseNet(
            lesson.features.shape[1],
            n_classes=len(self._known_classes(lesson.labels)),
            n_experts=lesson.correct.shape[1],
            class_hidden=() if linear else tuple(self.hidden),
            expert_hidden=() if linear else tuple(self.expert_hidden),
            model_column=loss.name == "moe",
            generator=generator,
        ).to(device=device, dtype=dtype)
        if linear:
            self._fit_linear(net, loss, examples, total_weight=float(lesson.weight.sum()))
        else:
            self._fit_mlp(net, loss, examples, generator)
        return net.to_scorer(loss.name, center=center, scale=scale)

    def _fit_linear(self, net: DenseNet, loss: DeferralLoss, examples: Examples, *, total_weight: float) -> None:
        iterations = 1_000 if self.max_epochs is None else self.max_epochs
        with progress_bar(iterations, what=f"fit {loss.name}", shown=self.progress) as on_step:
            fit_full_batch(
                net,
                loss,
                examples,
                weight_decay=1.0 / total_weight if self.weight_decay is None else self.weight_decay,
                max_iterations=iterations,
                on_step=on_step,
            )

    def _fit_mlp(self, net: DenseNet, loss: DeferralLoss, examples: Examples, generator: torch.Generator) -> None:
        batch_size = self.batch_size or min(512, max(32, len(examples) // 16))
        epochs = self.max_epochs or max(15, math.ceil(1_000 * batch_size / len(examples)))
        order = torch.randperm(len(examples), generator=generator).to(examples.labels.device)
        kept = round(len(examples) * self.validation_fraction)
        held_out = examples.take(order[:kept]) if kept else None
        widest = max(examples.features.shape[1], *self.hidden, *self.expert_hidden)
        with (
            threads_for(batch_size, widest=widest),
            progress_bar(epochs, what=f"fit {loss.name}", shown=self.progress) as on_step,
        ):
            fit_mini_batch(
                net,
                loss,
                examples.take(order[kept:]),
                held_out if held_out is not None and held_out.weight.any() else None,
                batch_size=batch_size,
                learning_rate=self.learning_rate,
                weight_decay=0.3 if self.weight_decay is None else self.weight_decay,
                max_epochs=epochs,
                patience=self.patience,
                generator=generator,
                on_step=on_step,
            )

    def _check_options(self) -> None:
        if self.net not in ("linear", "mlp"):
            raise InputError(f"net must be 'linear' or 'mlp', got {self.net!r}.")
        if self.loss not in _LOSSES:
            raise InputError(f"loss must be one of {', '.join(_LOSSES)}, got {self.loss!r}.")
        if self.precision is not None and self.precision not in _PRECISIONS:
            raise InputError(f"precision must be one of {', '.join(_PRECISIONS)}, got {self.precision!r}.")
        if not 0 <= self.validation_fraction < 1:
            raise InputError(f"validation_fraction must lie in [0, 1), got {self.validation_fraction}.")
        for name in ("max_epochs", "batch_size", "patience"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int | np.integer) or value < 1):
                raise InputError(f"{name} must be a whole number of at least 1, got {value!r}.")
        for name in ("learning_rate", "weight_decay"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(f"{name} must be a number of at least 0, got {value!r}.")


def _standards(features: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each column's weighted mean and spread; a constant column's spread is taken as 1."""
    center = np.average(features, axis=0, weights=weight)
    spread = np.sqrt(np.average((features - center) ** 2, axis=0, weights=weight))
    # Relative to the column's size: the rounding of a constant column's mean must not become its scale.
    constant = spread <= 1e-12 * np.maximum(1.0, np.abs(center))
    return center, np.where(constant, 1.0, spread)
