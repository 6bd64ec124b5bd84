"""Tables in and out: files to `ExpertTable`, raw columns to numbers, decisions to files.

Names are loaded when they are first used: the feature recipe and the fingerprints need numpy alone, and a saved
model that uses them is served without pandas.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from defero.data.answers.labels import known_labels, majority_labels
    from defero.data.answers.log import AnswerLog, table_from_long
    from defero.data.answers.read_log import join_answers, read_long
    from defero.data.exports.export import EXPORTS, Export, ExportedCases, OpenCases
    from defero.data.exports.label_studio import read_label_studio
    from defero.data.exports.label_studio_tasks import tasks_with_decisions, write_label_studio
    from defero.data.exports.prodigy import read_prodigy
    from defero.data.recipes.pictures import PictureFiles
    from defero.data.recipes.recipe import FeatureRecipe
    from defero.data.tables.formats import TABLE_FORMATS, TableFormat, first_row, open_text
    from defero.data.tables.read import read_chunks, read_frame
    from defero.data.tables.wide import read_table
    from defero.data.tables.write import write_decisions

_HOMES = {
    "EXPORTS": "exports.export",
    "TABLE_FORMATS": "tables.formats",
    "AnswerLog": "answers.log",
    "Export": "exports.export",
    "ExportedCases": "exports.export",
    "FeatureRecipe": "recipes.recipe",
    "OpenCases": "exports.export",
    "PictureFiles": "recipes.pictures",
    "TableFormat": "tables.formats",
    "first_row": "tables.formats",
    "join_answers": "answers.read_log",
    "known_labels": "answers.labels",
    "majority_labels": "answers.labels",
    "open_text": "tables.formats",
    "read_chunks": "tables.read",
    "read_frame": "tables.read",
    "read_label_studio": "exports.label_studio",
    "read_long": "answers.read_log",
    "read_prodigy": "exports.prodigy",
    "read_table": "tables.wide",
    "table_from_long": "answers.log",
    "tasks_with_decisions": "exports.label_studio_tasks",
    "write_decisions": "tables.write",
    "write_label_studio": "exports.label_studio_tasks",
}
__all__ = [
    "EXPORTS",
    "TABLE_FORMATS",
    "AnswerLog",
    "Export",
    "ExportedCases",
    "FeatureRecipe",
    "OpenCases",
    "PictureFiles",
    "TableFormat",
    "first_row",
    "join_answers",
    "known_labels",
    "majority_labels",
    "open_text",
    "read_chunks",
    "read_frame",
    "read_label_studio",
    "read_long",
    "read_prodigy",
    "read_table",
    "table_from_long",
    "tasks_with_decisions",
    "write_decisions",
    "write_label_studio",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
