"""DeferralClassifier: a network with one output per class and one per expert, trained on one surrogate loss."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from defero.core.checks.arrays import one_of
from defero.core.errors import InputError
from defero.estimators.base import DeferralEstimator
from defero.estimators.recipe import (
    SMALL_NETS,
    NetworkOptions,
    Recipe,
    as_onnx,
    check_torch,
    checked_items,
    has_axes,
    has_torch,
    is_deep,
)
from defero.estimators.skilled import SkilledTeam, learn_table
from defero.estimators.training_data import AnswerWeights, TrainingData
from defero.losses.registry import LOSSES
from defero.scorers import Scorer

if TYPE_CHECKING:
    from defero.losses import DeferralLoss

ADVISED_LOSS: Literal["decoupled"] = "decoupled"


class DeferralClassifier(DeferralEstimator):
    """Classifier that learns the classes and the skill of each expert.

    Experts may have answered only some items. Tables need no torch, except for the networks "linear" and "mlp" with
    the surrogate losses of Verma et al. (2023), sections 3 and 4.

    Parameters
    ----------
    net : "auto", "linear", "mlp", the name of a deep net, or a torch.nn.Module
        "auto", with loss="auto", needs no network: boosted trees and a logistic regression learn the classes, one
        hierarchical model how likely each expert is right on each class, shrunk toward the population where answers
        are few, and a law how the answers to one case hang together (docs/explanation/law.md). With another loss
        "auto" is "mlp". "linear" is fitted by L-BFGS on all rows, "mlp" (ReLU layers) by AdamW with early stopping.
        Deep nets, by name such as "wrn-28-4" or "resnet-18"
        (`defero.nets.NET_NAMES`) or as a module that maps a batch to (n, f) features, take pictures X (n, height,
        width, channels) or other arrays.
    loss : "softmax", "ova", "decoupled", "asymmetric", "moe" or "auto"
        Surrogate loss of the networks. "auto" is "decoupled". "moe" is a baseline: it decides by the
        largest of its J + 1 weights, which are badly calibrated as probabilities.
    answer_weights : "label" or "label+features", optional
        Weight answers by the inverse probability of being given, if that depends on the label: see
        `defero.judge.check_answering`. For net="auto" with loss="auto".
    text : str or list of str, optional
        Columns of free text in a DataFrame. A ridge regression on TF-IDF, fitted across folds, turns them into scores
        for the classes, which are features of the network. Deep nets, such as "text-cnn", take mean word vectors (100
        numbers) instead, which are learned in `fit` without labels.
    text_encoder : str, path or callable, optional
        Reads the texts in place of TF-IDF: the name of a sentence-transformers or fastembed model, a folder with one,
        or a function from a list of texts to an array (n, d). It is not trained, and not saved: pass it to `load` too.
    recipe : Recipe, optional
        Settings of the training: layers, epochs, batch size, learning rate and so on.
    checkpoints : path, optional
        Folder for the checkpoint and the log of a deep net; after an interruption the same call resumes from it.
    device : str, optional
        A torch device. By default a GPU if there is one, and the CPU for "linear".
    random_state : int, RandomState or None
        An int makes runs on one machine reproducible bit by bit.
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
        answer_weights: AnswerWeights | None = None,
        text: Any = None,
        text_encoder: Any = None,
        recipe: Recipe | None = None,
        checkpoints: str | Path | None = None,
        device: str | None = None,
        random_state: Any = None,
        progress: bool = False,
    ) -> None:
        self.net = net
        self.loss = loss
        self.answer_weights = answer_weights
        self.text = text
        self.text_encoder = text_encoder
        self.recipe = recipe
        self.checkpoints = checkpoints
        self.device = device
        self.random_state = random_state
        self.progress = progress

    def _learn(self, data: TrainingData) -> Scorer | SkilledTeam:
        self._check_options()
        seed = int(check_random_state(self.random_state).randint(2**31))
        if is_deep(self.net):
            from defero.estimators.deep_fit import fit_deep_net  # imported here: it loads the loop for deep nets

            return fit_deep_net(data, self._surrogate(), self._options(), net=self.net, seed=seed)
        if self._is_skilled():
            return learn_table(data)
        if data.answer_weight is not None:
            raise InputError(
                ": the weights of answers are for net='auto' with loss='auto'; leave them out.",
                argument="answer_weights",
            )
        check_torch(self.net, self.loss)
        from defero.estimators.surrogate_fit import fit_surrogate  # imported here: it loads torch

        return fit_surrogate(data, self._surrogate(), self._options(), net=self.net, seed=seed)

    def _surrogate(self) -> "DeferralLoss":
        from defero.losses import DeferralLoss  # imported here: it loads torch

        return DeferralLoss(ADVISED_LOSS if self.loss == "auto" else self.loss)

    def _is_skilled(self) -> bool:
        """Return whether the team is learned as one of a table, without a network."""
        return self.net == "auto" and self.loss == "auto"

    def _knows_places(self) -> bool:
        return not isinstance(self.net, str)  # a module of the user's

    def _is_deep(self) -> bool:
        return is_deep(self.net)

    def _recipe(self) -> Recipe:
        return Recipe() if self.recipe is None else self.recipe

    def _options(self) -> NetworkOptions:
        recipe = self._recipe()
        if is_deep(self.net) and recipe.branches == "auto":
            # Heads keep the classifier of one trained without experts (docs/explanation/losses.md).
            recipe = replace(recipe, branches="heads" if self.loss == "auto" else "one")
        return NetworkOptions(recipe, self.device, self.progress, self.checkpoints)

    def _training_matrix(self, X: Any, y: ArrayLike) -> tuple[Any, Any]:
        check_net(self.net)
        if not has_axes(X):
            return super()._training_matrix(X, y)
        if not is_deep(self.net):
            raise InputError(
                f": net={self.net!r} takes (n, d) features, got shape {tuple(X.shape)}; for pictures use a deep net, "
                "such as net='wrn-28-4'.",
                argument="X",
            )
        if self.text is not None:
            raise InputError("names columns of a DataFrame, but X holds pictures; leave it out.", argument="text")
        self._check_options()
        return checked_items(X), None

    def _checked(self, X: Any) -> Any:
        team = self._ready()
        shaped = team.item_shape is not None and team.recipe is None
        return team.features(X) if shaped else super()._checked(X)

    def export_onnx(self, folder: str | Path) -> None:
        """Save a model folder whose deep net is an ONNX file, which `Team.load` runs without torch.

        Needs the extra "onnx". Calibration, panels and added experts are saved too.
        """
        team = self._ready()
        parameters = dict(team.facts.parameters)
        if not isinstance(self.net, str):
            parameters["net"] = f"{type(self.net).__name__}, exported"
        exported = replace(team, scorer=as_onnx(team.scorer), facts=replace(team.facts, parameters=parameters))
        exported.save(folder)

    def _check_options(self) -> None:
        check_net(self.net)
        if self.loss != "auto":
            if self.loss in tuple(LOSSES):  # its name is known without torch
                check_torch(self.net, self.loss)
            LOSSES.find(self.loss, also=("auto",))
        if not isinstance(self._recipe(), Recipe):
            raise InputError(f"must be a defero.Recipe, got {self.recipe!r}.", argument="recipe")
        precision = self._recipe().precision
        if is_deep(self.net):
            from defero.estimators.deep_fit import check_deep

            check_deep(
                self._options(),
                answer_weights=self.answer_weights,
                random_state=self.random_state,
            )
        elif precision not in (None, "float32", "float64"):
            raise InputError(f"must be one of float32, float64 here, got {precision!r}.", argument="precision")


def check_net(net: object) -> None:
    """Raise unless this is a valid `net`."""
    if _is_module(net) or (isinstance(net, str) and net in SMALL_NETS):
        return
    if isinstance(net, str) and not has_torch():
        if "-" not in net and ":" not in net:
            one_of("net", net, SMALL_NETS)
        check_torch(net, "auto")
    from defero.nets.named import NET_NAMES, is_net_name, meant_net  # imported here: it loads torch

    if isinstance(net, str) and is_net_name(net):
        return
    hint = meant_net(net, SMALL_NETS) if isinstance(net, str) else "."
    raise InputError(
        f"must be 'auto', 'linear', 'mlp', the name of a deep net ({', '.join(NET_NAMES)}) or a "
        f"torch.nn.Module, got {net!r}{hint}",
        argument="net",
    )


def _is_module(net: object) -> bool:
    """Return whether this is a torch.nn.Module, without loading torch: whoever has one has loaded it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(net, torch.nn.Module)
