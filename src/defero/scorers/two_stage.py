"""One classifier for the label, one for each expert's being right: any objects with `predict_proba`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from defero.core.checks.arrays import FloatArray
from defero.core.scores import Scores
from defero.scorers import PARTS, Packed
from defero.scorers.raw_columns import RawColumns
from defero.scorers.sklearn_parts import read_parts, write_parts


@dataclass(frozen=True, eq=False)
class TwoStageScorer:
    """Ask the classifier for P(y | x), and each expert's model for P(right | x).

    Attributes
    ----------
    classifier : fitted classifier over K classes
        Its columns are the classes in the team's order.
    experts : J entries
        A fitted classifier of "right or not", or a constant probability.
    raw : RawColumns, optional
        The raw columns, for models that were fitted on a DataFrame; the others take the matrix.
    """

    kind: ClassVar[str] = "two-stage"
    classifier: Any
    experts: Sequence[Any]
    raw: RawColumns | None = None

    def score(self, features: FloatArray) -> Scores:
        """Return the scores of (n, d) features."""
        columns = [_right(expert, self._table(expert, features)) for expert in self.experts]
        expert_proba = np.stack(columns, axis=1) if columns else np.empty((len(features), 0))
        class_proba = self.classifier.predict_proba(self._table(self.classifier, features))
        class_proba = np.asarray(class_proba, dtype=np.float64)
        return Scores.from_probabilities(_normalised(class_proba), np.clip(expert_proba, 0.0, 1.0))

    def _table(self, model: Any, features: FloatArray) -> Any:
        """Return what a model takes: the matrix, or the raw columns that it knows by name."""
        return features if self.raw is None else self.raw.table_for(model, features)

    def pack(self) -> Packed:
        """Return the fitted parts without pickle; raises naming a type that cannot be trusted."""
        constants = [float(e) if isinstance(e, float) else None for e in self.experts]
        models = [None if isinstance(e, float) else e for e in self.experts]
        parts = write_parts({"classifier": self.classifier, "experts": models})
        raw = None if self.raw is None else self.raw.to_list()
        return Packed({"constants": constants, "raw": raw}, files={PARTS: parts})

    @classmethod
    def unpack(cls, packed: Packed) -> "TwoStageScorer":
        """Build from what `pack` returned."""
        parts = read_parts(packed.files[PARTS])
        experts = [
            model if constant is None else float(constant)
            for constant, model in zip(packed.settings["constants"], parts["experts"], strict=True)
        ]
        raw = packed.settings["raw"]
        return cls(parts["classifier"], experts, None if raw is None else RawColumns.from_list(raw))


def _right(expert: Any, features: FloatArray) -> FloatArray:
    if isinstance(expert, float):
        return np.full(len(features), expert)
    right = list(expert.classes_).index(1)  # by its name, not its place; True is 1 too
    return np.asarray(expert.predict_proba(features), dtype=np.float64)[:, right]


def _normalised(class_proba: FloatArray) -> FloatArray:
    """Forgive single-precision classifiers a sum that is 1 but for rounding."""
    off = np.abs(class_proba.sum(axis=1, keepdims=True) - 1)
    return np.where((off > 1e-9) & (off < 1e-3), class_proba / class_proba.sum(axis=1, keepdims=True), class_proba)
