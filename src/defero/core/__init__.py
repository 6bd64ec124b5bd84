"""The values that the stages pass to each other, each checked once when it is built. Imports numpy alone."""

from defero.core.answers import Answers
from defero.core.errors import InputError, ModelFolderError, TableError
from defero.core.results import Answer, Decision, ExpertSets
from defero.core.scores import Scores
from defero.core.table import ExpertTable

__all__ = [
    "Answer",
    "Answers",
    "Decision",
    "ExpertSets",
    "ExpertTable",
    "InputError",
    "ModelFolderError",
    "Scores",
    "TableError",
]
