"""DeferralClassifier: a network with one output per class and one per expert, trained on one surrogate loss."""

from dataclasses import replace
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
from defero.estimators.network_fit import PRECISIONS, NetworkOptions, train_network
from defero.estimators.onnx_form import as_onnx
from defero.estimators.recipe import Recipe
from defero.losses import LOSSES, DeferralLoss
from defero.scorers import Scorer

if TYPE_CHECKING:
    from defero.estimators.deep_fit import DeepOptions

ADVISED_LOSS: Literal["decoupled"] = "decoupled"


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
    heads : "auto", "shrunk" or "separate"
        "separate": each output is learned from that expert's answers alone. "shrunk", for the losses ova and decoupled:
        each expert is drawn to the population as their answers are few, which makes hundreds of experts with dozens
        of answers usable; the heads look at the features (the main directions of more than 32), at hidden units, and
        at what the model believes of the class. "auto": shrunk where half of the experts gave fewer than 200 answers.
    min_answers : int
        An expert with fewer answers is not asked alone.
    answer_weights : "label" or "label+features", optional
        Weigh each answer by how unlikely it was given, where who answered what depends on the label: see
        `defero.answering.check_answering`. Needs shrunk heads, and has them.
    text : str or list of str, optional
        Columns of free text in a DataFrame. Their words are weighted by TF-IDF and summed up in scores for the classes,
        by a ridge regression fitted across folds; the network reads the scores as numbers. A deep net, such as
        "text-cnn", reads vectors of 100 numbers instead: means of word vectors that are learned here, without labels.
    recipe : Recipe, optional
        How the network is trained: layers, epochs, batch size, learning rate and so on.
    checkpoints : path, optional
        A folder for the checkpoint and the log of a deep net; the same call goes on from there after it was stopped.
    device : str, optional
        A torch device; a GPU where there is one by default, the CPU for "linear".
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
        net: Any = "auto",
        *,
        loss: str = "auto",
        heads: HeadsOption = "auto",
        min_answers: int = 5,
        answer_weights: AnswerWeights | None = None,
        text: Any = None,
        recipe: Recipe | None = None,
        checkpoints: str | Path | None = None,
        device: str | None = None,
        random_state: Any = None,
        progress: bool = False,
    ) -> None:
        self.net = net
        self.loss = loss
        self.heads = heads
        self.min_answers = min_answers
        self.answer_weights = answer_weights
        self.text = text
        self.recipe = recipe
        self.checkpoints = checkpoints
        self.device = device
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
            alone = loss if loss.shrinkable else DeferralLoss(ADVISED_LOSS)
            choice = self._choose(enough_items(lesson.without_experts()), alone, seed=seed)
            if loss.link != "decoupled" or choice.net == "mlp":
                # Experts share a softmax with the classes, or read their posterior: neither may change afterwards.
                choice = replace(choice, temperature=1.0)
            return choice.train(lesson, loss, self._options(), weight_decay=self._decay(), seed=seed)
        return train_network(lesson, loss, self._options(), net=self.net, weight_decay=self._decay(), seed=seed)

    def _reads_vectors(self) -> bool:
        return is_deep(self.net)

    def _shrinks(self, lesson: Lesson, loss: DeferralLoss) -> bool:
        """Say whether the experts get shrunk heads."""
        if self.heads == "shrunk" and not loss.shrinkable:
            raise InputError(f"heads='shrunk' needs the loss {_shrinkable_names()}, got {loss.name!r}.")
        if lesson.answer_weight is not None:
            if self.heads == "separate" or not loss.shrinkable:
                raise InputError(
                    f"answer_weights need shrunk heads and the loss {_shrinkable_names()}, "
                    f"got heads={self.heads!r} and {loss.name!r}."
                )
            return True
        if lesson.n_experts == 0 or not loss.shrinkable:
            return False
        return self.heads == "shrunk" or (self.heads == "auto" and answers_are_few(lesson))

    def _learn_shrunk(self, lesson: Lesson, loss: DeferralLoss, *, seed: int) -> Scorer:
        """Learn the classes as ever, and the experts' heads on top; both losses have no term with both in it."""
        classes = lesson.without_experts()
        choice = self._choose(classes, loss, seed=seed)
        if choice.net == "linear":
            base = choice.train(classes, loss, self._options(), weight_decay=self._decay(), seed=seed)
        else:
            # The experts' branch learns from everybody's answers together; only its heads are made anew.
            both = choice.train(lesson, loss, self._options(), weight_decay=self._decay(), seed=seed)
            base = both.without_experts()
        return with_shrunk_heads(base, lesson, choice.class_proba)

    def _choose(self, classes: Lesson, loss: DeferralLoss, *, seed: int) -> Choice:
        return choose_network(classes, loss, self._options(), net=self.net, weight_decay=self._decay(), seed=seed)

    def _recipe(self) -> Recipe:
        return Recipe() if self.recipe is None else self.recipe

    def _decay(self) -> float | None:
        return self._recipe().weight_decay

    def _options(self) -> NetworkOptions:
        return NetworkOptions(self._recipe(), device=self.device, progress=self.progress)

    def _deep_options(self) -> "DeepOptions":
        from defero.estimators.deep_fit import DeepOptions

        return DeepOptions(
            self._recipe(),
            heads=self.heads,
            answer_weights=self.answer_weights,
            device=self.device,
            progress=self.progress,
            checkpoints=self.checkpoints,
            random_state=self.random_state,
        )

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
        parameters = dict(router.facts.parameters)
        if not isinstance(self.net, str):
            parameters["net"] = f"{type(self.net).__name__}, exported"
        exported = replace(router, scorer=as_onnx(router.scorer), facts=replace(router.facts, parameters=parameters))
        exported.save(folder)

    def _check_options(self) -> None:
        check_net(self.net)
        if self.loss != "auto":
            LOSSES.find(self.loss, also=("auto",))
        check_heads(self.heads)
        if not isinstance(self._recipe(), Recipe):
            raise InputError(f"must be a defero.Recipe, got {self.recipe!r}.", argument="recipe")
        precision = self._recipe().precision
        if is_deep(self.net):
            self._deep_options().check()
        elif precision is not None and precision not in PRECISIONS:
            raise InputError(f"must be one of {', '.join(PRECISIONS)} here, got {precision!r}.", argument="precision")
        if not isinstance(self.min_answers, int | np.integer) or self.min_answers < 1:
            raise InputError(f"must be a whole number of at least 1, got {self.min_answers!r}.", argument="min_answers")


def _shrinkable_names() -> str:
    """Write the losses whose experts' part shrunk heads can replace, as a choice."""
    return " or ".join(name for name, loss in LOSSES.items() if loss.shrinkable)
