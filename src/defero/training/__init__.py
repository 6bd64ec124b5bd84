"""How networks are trained: full-batch L-BFGS, mini-batch AdamW, and the loop for deep nets.

Names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from defero.training.deep.answer_source import AnswerSource, FixedAnswers, RedrawnAnswers, RedrawnByClass
    from defero.training.deep.evaluate import all_logits
    from defero.training.deep.feeds.device import DeviceFeed
    from defero.training.deep.feeds.disk import DiskFeed
    from defero.training.deep.feeds.pictures import Augmentation, Normalised, colours
    from defero.training.deep.loop import DeepFit, fit_deep
    from defero.training.deep.loop_settings import LoopSettings
    from defero.training.deep.machine import Machine, start_machine
    from defero.training.deep.optimisers import learning_rate_at, set_learning_rate
    from defero.training.text_features import text_scores, text_vectors
    from defero.training.verdicts import Verdicts

__all__ = [
    "AnswerSource",
    "Augmentation",
    "DeepFit",
    "DeviceFeed",
    "DiskFeed",
    "FixedAnswers",
    "LoopSettings",
    "Machine",
    "Normalised",
    "RedrawnAnswers",
    "RedrawnByClass",
    "Verdicts",
    "all_logits",
    "colours",
    "fit_deep",
    "learning_rate_at",
    "set_learning_rate",
    "start_machine",
    "text_scores",
    "text_vectors",
]

_HOMES = {
    "AnswerSource": "deep.answer_source",
    "Augmentation": "deep.feeds.pictures",
    "DeepFit": "deep.loop",
    "DeviceFeed": "deep.feeds.device",
    "DiskFeed": "deep.feeds.disk",
    "FixedAnswers": "deep.answer_source",
    "Machine": "deep.machine",
    "Normalised": "deep.feeds.pictures",
    "LoopSettings": "deep.loop_settings",
    "RedrawnAnswers": "deep.answer_source",
    "RedrawnByClass": "deep.answer_source",
    "Verdicts": "verdicts",
    "all_logits": "deep.evaluate",
    "colours": "deep.feeds.pictures",
    "fit_deep": "deep.loop",
    "learning_rate_at": "deep.optimisers",
    "set_learning_rate": "deep.optimisers",
    "start_machine": "deep.machine",
    "text_scores": "text_features",
    "text_vectors": "text_features",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
