"""Scorers: what turns features into `Scores`, in numpy, and can be written to a model folder and read back.

An estimator learns; what it learned is handed over as a scorer, which is served without the estimator's library.
"""

from typing import Annotated, Any, ClassVar, Protocol

from defero.core.registry import Registry
from defero.core.scores import Scores

NET = "net.onnx"
"""File that a model folder can hold for a scorer."""


class Scorer(Protocol):
    """From features to scores."""

    kind: ClassVar[str]

    def score(self, features: Any) -> Scores:
        """Return the scores of n items."""
        ...


SCORERS: Registry[type[Scorer]] = Registry("kind")
# Imported by name, when a folder asks for it: a network is served without scikit-learn.
for _kind, _home in {
    "network": "defero.scorers.network:NetworkScorer",
    "deep": "defero.nets.deep_scorer:DeepScorer",
    "onnx": "defero.scorers.onnx:OnnxScorer",
    "skill": "defero.learn.scorer:SkillScorer",
    "scores": "defero.learn.scores:ScoreScorer",
    "classes": "defero.learn.classes:Classes",
    "two-stage": "defero.learn.two_stage:TwoStageScorer",
}.items():
    SCORERS.register_lazily(_kind, _home)
AnyScorer = Annotated[Scorer, SCORERS]
