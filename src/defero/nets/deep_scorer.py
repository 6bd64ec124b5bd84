"""A deep net as a scorer of items as a user has them, and as an ONNX file, which onnxruntime runs without torch."""

import copy
import importlib.util
import logging
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from defero.core.checks.arrays import FloatArray
from defero.core.codec import Count, Within
from defero.core.errors import InputError, ModelFolderError
from defero.core.scores import Scores
from defero.nets.deferral_net import DeferralNet, Logits
from defero.nets.named import fits_weights, net_by_name
from defero.scorers.network import LINKS, scores_from_logits
from defero.scorers.onnx import OnnxScorer

_NEEDED = ("onnx", "onnxscript")


def export_onnx(net: nn.Module, example: Tensor, path: str | Path) -> None:
    """Write a net to one ONNX file.

    It takes "batch", (n, ...) in single precision with any n, and gives "classes" (n, K), "experts" (n, J) unless
    J = 0, and "model" (n,) for a mixture of experts; of a `DeferralNet` also "features" (n, f), which the experts' head
    reads. What is written is a copy of the net in evaluation mode; the net
    stays as it is.

    Parameters
    ----------
    net : nn.Module
        From a batch to `Logits`.
    example : (n, ...) tensor
        At least one item; only its shape matters.
    path : path of the file to write

    Examples
    --------
    >>> from defero.nets import DeferralHead, DeferralNet
    >>> net = DeferralNet(nn.Flatten(), DeferralHead(4, n_classes=3, n_experts=2))
    >>> export_onnx(net, torch.zeros(2, 4), "net.onnx")  # doctest: +SKIP
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"export to ONNX needs {' and '.join(missing)}; pip install 'defero[onnx]'.")
    if not isinstance(example, Tensor) or example.ndim < 2 or len(example) == 0:
        raise InputError(
            "must be a tensor of at least one item, (n, ...); pass a batch that the net takes.", argument="example"
        )
    twin = copy.deepcopy(net).to("cpu", torch.float32).eval()
    batch = example.detach().to("cpu", torch.float32)[:1]
    with torch.no_grad():
        logits = twin(batch)
    if not isinstance(logits, Logits):
        raise InputError(f"must give Logits, got a {type(logits).__name__}; put a DeferralHead on it.", argument="net")
    names = [name for name, part in zip(Logits._fields, logits, strict=True) if part is not None and part.numel()]
    if isinstance(net, DeferralNet):
        names.append("features")
    with _quiet():
        torch.onnx.export(
            _Named(twin, tuple(names)).eval(),
            # Two items: one alone would be taken for a constant.
            (torch.cat([batch, batch]),),
            str(path),
            input_names=["batch"],
            output_names=names,
            dynamic_shapes=({0: torch.export.Dim("n", min=1)},),
            external_data=False,
            verbose=False,
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what torch says to its own developers, and that torchvision is not installed, from the user."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning)
            yield
    finally:
        logger.setLevel(before)


class _Named(nn.Module):
    """The parts of the logits that there are, and a `DeferralNet`'s features, as a tuple."""

    def __init__(self, net: nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.net, self.names = net, names

    def forward(self, batch: Tensor) -> tuple[Tensor, ...]:
        if not isinstance(self.net, DeferralNet):
            logits = self.net(batch)
            return tuple(getattr(logits, name) for name in self.names)
        logits, features = self.net.with_features(batch)
        return tuple(features if name == "features" else getattr(logits, name) for name in self.names)


class StandardInputs(nn.Module):
    """Centre and scale; pictures (n, h, w, c) become (n, c, h, w), in memory as they were.

    Parameters
    ----------
    center, scale : (d,) for vectors, (c,) for pictures
        Of shape (1,) they are the same for all numbers of an item.
    pictures : bool

    Examples
    --------
    >>> inputs = StandardInputs(np.array([1.0]), np.array([2.0]), pictures=True)
    >>> inputs(torch.full((1, 4, 5, 1), 5, dtype=torch.uint8)).shape
    torch.Size([1, 1, 4, 5])
    """

    center: Tensor
    scale: Tensor

    def __init__(self, center: FloatArray, scale: FloatArray, *, pictures: bool) -> None:
        super().__init__()
        self.pictures = pictures
        self.register_buffer("center", torch.from_numpy(np.asarray(center, dtype=np.float32)), persistent=False)
        self.register_buffer("scale", torch.from_numpy(np.asarray(scale, dtype=np.float32)), persistent=False)

    def forward(self, items: Tensor) -> Tensor:
        """Return (n, ...) numbers of single precision."""
        standard = (items.float() - self.center) / self.scale
        return standard.permute(0, 3, 1, 2) if self.pictures else standard


NUMBERS_AT_ONCE = 1 << 24
MOST_AT_ONCE = 1_024
MOST_ITEM_NUMBERS = 1 << 22
"""A picture of more pixels and colours is none that a net here learns from."""


@dataclass(frozen=True, eq=False)
class DeepScorer:
    """Standardise, run the net in blocks of items, read its logits as its loss has them.

    Attributes
    ----------
    link : str
        How the logits are read: a name in `LINKS`.
    net : DeferralNet
        In evaluation mode, on the device that it is to run on.
    inputs : StandardInputs
        Turns items into what the net reads.
    item_shape : tuple of int
        Of one item: (d,) of a vector, (height, width, channels) of a picture.
    name : str, optional
        The net's name, from which it can be built again; None for somebody's own module.
    branches : "one", "heads" or "two"
    """

    kind: ClassVar[str] = "deep"
    link: str
    net: DeferralNet
    inputs: StandardInputs
    item_shape: tuple[int, ...]
    name: str | None
    branches: str

    @property
    def block(self) -> int:
        """How many items go through the net at a time."""
        return max(1, min(MOST_AT_ONCE, NUMBERS_AT_ONCE // max(1, prod(self.item_shape))))

    def score(self, features: Any) -> Scores:
        """Return the scores of n items."""
        return self.score_with_embedding(features)[0]

    def score_with_embedding(self, features: Any) -> tuple[Scores, FloatArray]:
        """Return the scores of n items and what the experts' head reads of each, (n, f).

        `features` is an array, or anything whose slices are arrays, such as `PictureFiles`.
        """
        parts = [self._run(features[start : start + self.block]) for start in range(0, len(features), self.block)]
        classes, experts, model, read = (
            np.concatenate([nothing, *(part[column] for part in parts)])
            for column, nothing in enumerate(self._nothing())
        )
        model_logit = model[:, 0] if LINKS.find(self.link).model_column else None
        return scores_from_logits(self.link, classes, experts, model_logit=model_logit), read

    def whole(self) -> DeferralNet:
        """Return a net that standardises its items itself; it shares the weights."""
        net = self.net
        second = None if net.expert_trunk is None else nn.Sequential(self.inputs, net.expert_trunk)
        return DeferralNet(nn.Sequential(self.inputs, net.trunk), net.head, second, net.expert_head)

    def to_onnx(self) -> OnnxScorer:
        """Return the same scorer on an ONNX file, which needs no torch."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "net.onnx"
            export_onnx(self.whole(), torch.zeros(2, *self.item_shape), path)
            return OnnxScorer(self.link, path.read_bytes(), np.zeros(1), np.ones(1), min(self.block, 256))

    def to_saved(self) -> "_SavedNet":
        """Return what a model folder keeps; refuse a net that has no name."""
        if self.name is None:
            raise InputError(
                f"save: net is a module of your own, {_module_name(self.net.trunk)}, which no file can describe; "
                "call export_onnx(folder) instead, or keep the module and its weights yourself."
            )
        weights = {name: value.cpu().contiguous().numpy() for name, value in self.net.state_dict().items()}
        center, scale = (part.cpu().double().numpy() for part in (self.inputs.center, self.inputs.scale))
        sizes = (self.item_shape, self.net.n_classes, self.net.n_experts)
        return _SavedNet(self.link, self.name, self.branches, *sizes, center, scale, weights)

    @classmethod
    def from_saved(cls, saved: "_SavedNet") -> "DeepScorer":
        """Build the net by its name and give it the stored weights; on a GPU where there is one."""
        shape = saved.item_shape
        stored = {name: torch.from_numpy(np.array(value)) for name, value in saved.weights.items()}
        _check_size(saved.net, shape, stored)
        inputs = StandardInputs(saved.center, saved.scale, pictures=len(shape) == 3)
        net = net_by_name(
            saved.net,
            inputs(torch.zeros(2, *shape)),
            n_classes=saved.n_classes,
            n_experts=saved.n_experts,
            branches=saved.branches,
            model_column=LINKS.find(saved.link).model_column,
            generator=torch.Generator().manual_seed(0),
        )
        try:
            net.load_state_dict(stored)
        except RuntimeError as error:
            raise ModelFolderError(
                f"the weights are not those of {saved.net}; fit again, or install the defero that wrote it."
            ) from error
        device = "cuda" if torch.cuda.is_available() else "cpu"
        scorer_net = net.to(device).eval()
        return cls(saved.link, scorer_net, inputs.to(device), shape, saved.net, saved.branches)

    def _run(self, items: Any) -> list[FloatArray]:
        batch = torch.from_numpy(np.ascontiguousarray(items)).to(next(self.net.parameters()).device)
        with torch.no_grad():
            (classes, experts, model), features = self.net.with_features(self.inputs(batch))
        model = classes[:, :0] if model is None else model[:, None]
        return [part.double().cpu().numpy() for part in (classes, experts, model, features)]

    def _nothing(self) -> list[FloatArray]:
        head = self.net.head if self.net.expert_head is None else self.net.expert_head
        widths = (self.net.n_classes, self.net.n_experts, int(head.model_column), head.in_features)
        return [np.empty((0, width)) for width in widths]


@dataclass(frozen=True, eq=False)
class _SavedNet:
    """What a model folder keeps of a net: by its name it is built again."""

    link: str
    net: str
    branches: str
    item_shape: Annotated[tuple[Annotated[int, Within(1, MOST_ITEM_NUMBERS)], ...], Within(1)]
    n_classes: Count
    n_experts: Count
    center: FloatArray
    scale: FloatArray
    weights: Mapping[str, NDArray[Any]]


def _check_size(name: str, item_shape: tuple[int, ...], stored: dict[str, torch.Tensor]) -> None:
    """Raise before a net is built that is larger than the weights that are there, or takes items beyond all use."""
    if prod(item_shape) > MOST_ITEM_NUMBERS:
        raise ModelFolderError(
            f"item_shape must have at most {MOST_ITEM_NUMBERS:,} numbers, got {item_shape}; fit again."
        )
    n_numbers = sum(weight.numel() for weight in stored.values())
    if not fits_weights(name, n_arrays=len(stored), n_numbers=n_numbers):
        raise ModelFolderError(f"the weights are not those of {name}; fit again, or install the defero that wrote it.")


def _module_name(module: nn.Module) -> str:
    return f"{type(module).__module__}.{type(module).__qualname__}"
