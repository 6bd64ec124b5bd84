"""DeferralClassifier: a network with one output per class and one per expert, trained on one surrogate loss."""

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from defero.core.errors import InputError
from defero.estimators.base import DeferralEstimator
from defero.estimators.choose_network import Choice, choose_network, enough_items
from defero.estimators.deep_items import checked_items, has_axes
from defero.estimators.expert_heads import HeadsOption, answers_are_few, check_heads, with_shrunk_heads
from defero.estimators.lesson import AnswerWeights, Lesson
from defero.estimators.net_option import check_net, is_deep
from defero.estimators.network_fit import MLP_RATE, PRECISIONS, NetworkOptions, train_network
from defero.estimators.onnx_form import as_onnx
from defero.losses import DeferralLoss
from defero.scorers import Scorer

if TYPE_CHECKING:
    from defero.estimators.deep_fit import DeepOptions

ADVISED_LOSS: Literal["decoupled"] = "decoupled"
_LOSSES = ("softmax", "ova", "decoupled", "asymmetric", "moe", "auto")
_SHRINKABLE = ("ova", "decoupled")


class DeferralClassifier(DeferralEstimator):
    """Learn the classes and every expert's skill together (sections 3 and 4 of the paper).

    Features are standardised inside; experts may have answered only some of the items.

    Parameters
    ----------
    net : "linear", "mlp", "auto", the name of a deep net, or a torch.nn.Module
        A linear model fitted by L-BFGS on all rows, or ReLU layers fitted by AdamW with early stopping. "auto": the one
        that predicts held-out labels better (five folds), with the ridge penalty that does so. A deep net by name, such
        as "wrn-28-4" or "resnet-18" (`defero.nets.NET_NAMES`), or any module that maps a batch to (n, f) features,
        learns from pictures X (n, height, width, channels) or other arrays: see the page on deep nets.
    loss : "softmax", "ova", "decoupled", "asymmetric", "moe" or "auto"
        "auto" is what the docs advise, "decoupled". "moe" is a baseline: it decides by the largest of its J+1 weights
        and reports the weight as its (badly calibrated) probability.
    heads : "auto", "shrunk" or "own"
        "own": each expert's output is learned from their answers alone. "shrunk", for the losses ova and decoupled:
        each expert is drawn to the population as their answers are few, which makes hundreds of experts with dozens
        of answers usable; the heads look at the features (the main directions of more than 32), at hidden units, and
        at what the model believes of the class. "auto": shrunk where half of the experts gave fewer than 200 answers.
    min_answers : int
        An expert with fewer answers is not asked alone.
    answer_weights : "label" or "label and features", optional
        Weigh each answer by how unlikely it was given, where who answered what depends on the label: see
        `defero.answering.check_answering`. Needs shrunk heads, and has them.
    hidden, expert_hidden : tuple of int
        Widths of the hidden layers of "mlp" in the branch of the classes and in that of the experts.
    text : str or list of str, optional
        Columns of free text in a DataFrame. Their words are weighted by TF-IDF and summed up in scores for the classes,
        by a ridge regression fitted across folds; the network reads the scores as numbers. A deep net, such as
        "text-cnn", reads vectors of 100 numbers instead: means of word vectors that are learned here, without labels.
    max_epochs : int, optional
        Passes over the data. "linear": at most 1,000 L-BFGS iterations by default. "mlp": by default 15, or as many as
        make 1,000 steps. Deep nets: 30.
    batch_size : int, optional
        For "mlp": 512 by default, a sixteenth of the rows (but at least 32) where there are fewer than 8,192. Deep
        nets: up to 512, so that an epoch has 32 steps or more.
    learning_rate : float, optional
        "mlp": 0.01 by default. Deep nets: the largest of a one-cycle schedule, by default 0.1 per 512 items of a batch
        for wrn and resnet, which learn by SGD, and 0.001 for all others, which learn by AdamW.
    patience, validation_fraction
        Training stops after `patience` epochs (of a deep net at least a third of all) without a better loss on the
        held-out fraction, and the best epoch is kept. Not for "linear".
    weight_decay : float, optional
        "linear": the ridge penalty weight_decay / 2 * |w|^2 beside the mean loss, 1 / n by default (of the order of
        scikit-learn's C = 1); with shrunk heads or net="auto", the best of 1 / n to 1,024 / n in five folds.
        "mlp": AdamW's, 0.3 by default. Deep nets: 0.0005 with SGD and 0.01 with AdamW.
    device : str, optional
        A torch device; a GPU where there is one by default, the CPU for "linear".
    precision : "float32", "float64" or "bf16-mixed", optional
        "float64" for "linear" and "float32" for "mlp" by default. Deep nets: "bf16-mixed" on a GPU and "float32"
        elsewhere, and nothing else.
    branches : "one" or "two"
        Of a deep net: two give the experts a trunk of their own, so that many of them do not crowd out the classes.
    augmentation : "crop and flip", "crop" or "none"
        What is done to pictures of dtype uint8 while a deep net learns. Do not flip what has a left and a right.
    checkpoints : path, optional
        A folder for the checkpoint and the log of a deep net; the same call goes on from there after it was stopped.
    resume : "auto" or "never"
        Whether to go on from a checkpoint.
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
        net: Any = "linear",
        *,
        loss: str = "ova",
        heads: HeadsOption = "auto",
        min_answers: int = 5,
        answer_weights: AnswerWeights | None = None,
        hidden: tuple[int, ...] = (64, 64),
        expert_hidden: tuple[int, ...] = (32,),
        text: Any = None,
        max_epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        patience: int = 10,
        validation_fraction: float = 0.1,
        device: str | None = None,
        precision: str | None = None,
        branches: Literal["one", "two"] = "one",
        augmentation: Literal["crop and flip", "crop", "none"] = "crop and flip",
        checkpoints: str | Path | None = None,
        resume: Literal["auto", "never"] = "auto",
        random_state: Any = None,
        progress: bool = False,
    ) -> None:
        self.net = net
        self.loss = loss
        self.heads = heads
        self.min_answers = min_answers
        self.answer_weights = answer_weights
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
        self.branches = branches
        self.augmentation = augmentation
        self.checkpoints = checkpoints
        self.resume = resume
        self.random_state = random_state
        self.progress = progress

    def _learn(self, lesson: Lesson) -> Scorer:
        self._check_options()
        loss = DeferralLoss(ADVISED_LOSS if self.loss == "auto" else self.loss)
        seed = int(check_random_state(self.random_state).randint(2**31))
        if is_deep(self.net):
            from defero.estimators.deep_fit import fit_deep_net  # only now: it loads the loop for deep nets

            return fit_deep_net(lesson, loss, self._deep_options(), net=self.net, seed=seed)
        if self._shrinks(lesson, loss):
            return self._learn_shrunk(lesson, loss, seed=seed)
        if self.net == "auto":
            alone = loss if loss.name in _SHRINKABLE else DeferralLoss(ADVISED_LOSS)
            choice = self._choose(enough_items(lesson.without_experts()), alone, seed=seed)
            if loss.name != "decoupled" or choice.net == "mlp":
                # Experts share a softmax with the classes, or read their posterior: neither may change afterwards.
                choice = replace(choice, temperature=1.0)
            return choice.train(lesson, loss, self._options(), weight_decay=self.weight_decay, seed=seed)
        return train_network(lesson, loss, self._options(), net=self.net, weight_decay=self.weight_decay, seed=seed)

    def _reads_vectors(self) -> bool:
        return is_deep(self.net)

    def _shrinks(self, lesson: Lesson, loss: DeferralLoss) -> bool:
        """Say whether the experts get shrunk heads."""
        if self.heads == "shrunk" and loss.name not in _SHRINKABLE:
            raise InputError(f"heads='shrunk' needs the loss {' or '.join(_SHRINKABLE)}, got {loss.name!r}.")
        if lesson.answer_weight is not None:
            if self.heads == "own" or loss.name not in _SHRINKABLE:
                raise InputError(
                    f"answer_weights need shrunk heads and the loss {' or '.join(_SHRINKABLE)}, "
                    f"got heads={self.heads!r} and {loss.name!r}."
                )
            return True
        if lesson.n_experts == 0 or loss.name not in _SHRINKABLE:
            return False
        return self.heads == "shrunk" or (self.heads == "auto" and answers_are_few(lesson))

    def _learn_shrunk(self, lesson: Lesson, loss: DeferralLoss, *, seed: int) -> Scorer:
        """Learn the classes as ever, and the experts' heads on top; both losses have no term with both in it."""
        classes = lesson.without_experts()
        choice = self._choose(classes, loss, seed=seed)
        if choice.net == "linear":
            base = choice.train(classes, loss, self._options(), weight_decay=self.weight_decay, seed=seed)
        else:
            # The experts' branch learns from everybody's answers together; only its heads are made anew.
            both = choice.train(lesson, loss, self._options(), weight_decay=self.weight_decay, seed=seed)
            base = both.without_experts()
        return with_shrunk_heads(base, lesson, choice.class_proba)

    def _choose(self, classes: Lesson, loss: DeferralLoss, *, seed: int) -> Choice:
        return choose_network(classes, loss, self._options(), net=self.net, weight_decay=self.weight_decay, seed=seed)

    def _options(self) -> NetworkOptions:
        chosen = {field.name: getattr(self, field.name) for field in fields(NetworkOptions)}
        rate = MLP_RATE if self.learning_rate is None else self.learning_rate
        return NetworkOptions(**{**chosen, "learning_rate": rate})

    def _deep_options(self) -> "DeepOptions":
        from defero.estimators.deep_fit import DeepOptions

        return DeepOptions(**{field.name: getattr(self, field.name) for field in fields(DeepOptions)})

    def _training_matrix(self, X: Any, y: ArrayLike) -> tuple[Any, Any]:
        check_net(self.net)
        if not has_axes(X):
            return super()._training_matrix(X, y)
        if not is_deep(self.net):
            raise InputError(
                f"X: net={self.net!r} takes (n, d) features, got shape {tuple(X.shape)}; for pictures name a deep "
                "net, such as net='wrn-28-4'."
            )
        if self.text is not None:
            raise InputError("text names columns of a DataFrame, but X holds pictures; leave it out.")
        self._check_options()
        return checked_items(X), None

    def _checked(self, X: Any) -> Any:
        router = self._ready()
        shaped = router.item_shape is not None and router.recipe is None
        return router.features(X) if shaped else super()._checked(X)

    def export_onnx(self, folder: str | Path) -> None:
        """Write a model folder whose deep net is an ONNX file: `Router.load` and `defero route` run it without torch.

        It needs the extra "onnx". Calibration, panels and newcomers are written as `save` writes them.
        """
        router = self._ready()
        parameters = dict(router.notes["parameters"])
        if not isinstance(self.net, str):
            parameters["net"] = f"{type(self.net).__name__}, exported"
        exported = replace(router, scorer=as_onnx(router.scorer), notes={**router.notes, "parameters": parameters})
        exported.save(folder)

    def _check_options(self) -> None:
        check_net(self.net)
        if self.loss not in _LOSSES:
            raise InputError(f"loss must be one of {', '.join(_LOSSES)}, got {self.loss!r}.")
        check_heads(self.heads)
        if is_deep(self.net):
            self._deep_options().check()
        elif self.precision is not None and self.precision not in PRECISIONS:
            raise InputError(f"precision must be one of {', '.join(PRECISIONS)}, got {self.precision!r}.")
        if not 0 <= self.validation_fraction < 1:
            raise InputError(f"validation_fraction must lie in [0, 1), got {self.validation_fraction}.")
        for name in ("max_epochs", "batch_size", "patience", "min_answers"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int | np.integer) or value < 1):
                raise InputError(f"{name} must be a whole number of at least 1, got {value!r}.")
        for name in ("learning_rate", "weight_decay"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(f"{name} must be a number of at least 0, got {value!r}.")
