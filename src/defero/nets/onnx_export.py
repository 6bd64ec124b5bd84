"""A net as an ONNX file, which onnxruntime runs without torch."""

import copy
import importlib.util
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from defero.core.errors import InputError
from defero.nets.deferral_net import DeferralNet
from defero.nets.dense import Logits

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
