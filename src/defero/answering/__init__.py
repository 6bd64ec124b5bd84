"""Were answers given at random? A check of who answered what, and weights where it depends on known things."""

from defero.answering.check import AnsweringCheck, check_answering
from defero.answering.weights import answer_weights

__all__ = ["AnsweringCheck", "answer_weights", "check_answering"]
