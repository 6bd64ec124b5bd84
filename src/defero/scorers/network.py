"""A linear model or a small network of dense layers, evaluated in numpy."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from defero.core.checks.arrays import FloatArray
from defero.core.scores import Scores, softmax
from defero.scorers import Packed
from defero.scorers.links import scores_from_logits

Layer = tuple[FloatArray, FloatArray]
MOST_SPREADS = 1e3
"""A mean of up to so many standard deviations is subtracted after the product: three of 16 digits are lost."""


@dataclass(frozen=True, eq=False)
class NetworkScorer:
    """Standardise, pass through the ReLU layers of two branches, read class and expert logits off linear heads.

    Attributes
    ----------
    link : str
        How the logits are read: a name in `LINKS`.
    center, scale : (d,)
        The features' mean and spread on the training rows.
    branches : mapping
        "class" and "expert" -> hidden layers, each (weight (d_in, d_out), bias (d_out,)); none in a linear model.
    heads : mapping
        "class" -> ((d, K), (K,)), "expert" -> ((d, J), (J,)), and for "moe" "model" -> ((d, 1), (1,)).
    reads_classes : bool
        Do the experts' heads see the class posterior beside their own branch?
    """

    kind: ClassVar[str] = "network"
    link: str
    center: FloatArray
    scale: FloatArray
    branches: Mapping[str, tuple[Layer, ...]]
    heads: Mapping[str, Layer]
    reads_classes: bool

    def score(self, features: FloatArray) -> Scores:
        """Return the scores of (n, d) features."""
        if self._on_raw_features is not None:
            logits = {name: _affine(features, head) for name, head in self._on_raw_features.items()}
            model_logit = logits["model"][:, 0] if "model" in logits else None
            return scores_from_logits(self.link, logits["class"], logits["expert"], model_logit=model_logit)
        standard = self._standardised(features)
        class_logits = _affine(_relu_layers(standard, self.branches["class"]), self.heads["class"])
        hidden = _relu_layers(standard, self.branches["expert"])
        if self.reads_classes:
            hidden = np.concatenate([hidden, softmax(class_logits)], axis=1)
        model_logit = _affine(hidden, self.heads["model"])[:, 0] if "model" in self.heads else None
        return scores_from_logits(
            self.link, class_logits, _affine(hidden, self.heads["expert"]), model_logit=model_logit
        )

    def hidden(self, features: FloatArray) -> FloatArray:
        """Return the last hidden units of the experts' branch, (n, h); no columns for a linear model."""
        layers = self.branches["expert"]
        if not layers:
            return np.empty((len(features), 0))
        return _relu_layers(self._standardised(features), layers)

    @cached_property
    def _on_raw_features(self) -> Mapping[str, Layer] | None:
        """The heads of a linear model, for features that are not standardised: w / s and b - w c / s; else None.

        None too where a column's mean is so many times its spread that the difference would lose digits.
        """
        center = self.center / self.scale
        if any(self.branches.values()) or self.reads_classes or not np.abs(center).max(initial=0.0) <= MOST_SPREADS:
            return None
        weights = {name: weight / self.scale[:, None] for name, (weight, _) in self.heads.items()}
        return {name: (weights[name], bias - center @ weight) for name, (weight, bias) in self.heads.items()}

    def _standardised(self, features: FloatArray) -> FloatArray:
        standard: FloatArray = features - self.center
        standard /= self.scale
        return standard

    def without_experts(self) -> "NetworkScorer":
        """Return the same classes and hidden units with J = 0."""
        weight, bias = self.heads["expert"]
        return replace(self, heads={**self.heads, "expert": (weight[:, :0], bias[:0])})

    def tempered(self, temperature: float) -> "NetworkScorer":
        """Return the scorer with class logits divided by a temperature; hidden units and experts' logits stay.

        For networks whose experts do not read the class posterior, or whose heads are made anew after it.
        """
        weight, bias = self.heads["class"]
        return replace(self, heads={**self.heads, "class": (weight / temperature, bias / temperature)})

    def pack(self) -> Packed:
        """Return what a model folder keeps."""
        named = {f"{name}.head": head for name, head in self.heads.items()}
        for name, layers in self.branches.items():
            named |= {f"{name}.layer{depth}": layer for depth, layer in enumerate(layers)}
        arrays = {"center": self.center, "scale": self.scale}
        for name, (weight, bias) in named.items():
            arrays |= {f"{name}.weight": weight, f"{name}.bias": bias}
        depths = {name: len(layers) for name, layers in self.branches.items()}
        settings = {
            "link": self.link,
            "depths": depths,
            "heads": sorted(self.heads),
            "reads_classes": self.reads_classes,
        }
        return Packed(settings, arrays)

    @classmethod
    def unpack(cls, packed: Packed) -> "NetworkScorer":
        """Build from what `pack` returned."""
        settings, arrays = packed.settings, packed.arrays

        def layer(name: str) -> Layer:
            return arrays[f"{name}.weight"], arrays[f"{name}.bias"]

        branches = {
            name: tuple(layer(f"{name}.layer{level}") for level in range(depth))
            for name, depth in settings["depths"].items()
        }
        heads = {name: layer(f"{name}.head") for name in settings["heads"]}
        return cls(
            settings["link"], arrays["center"], arrays["scale"], branches, heads, bool(settings["reads_classes"])
        )


def _affine(features: FloatArray, layer: Layer) -> FloatArray:
    weight, bias = layer
    # Output by output in memory: what comes after is done a whole column at a time.
    outputs: FloatArray = weight.T @ features.T
    outputs += bias[:, None]
    return outputs.T


def _relu_layers(features: FloatArray, layers: tuple[Layer, ...]) -> FloatArray:
    for layer in layers:
        features = _affine(features, layer)
        np.maximum(features, 0.0, out=features)
    return features
