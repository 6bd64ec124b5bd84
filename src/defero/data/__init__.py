"""Tables in and out: files to `ExpertTable`, raw columns to numbers, decisions to files.

Names are loaded when they are first used: the feature recipe and the fingerprints need numpy alone, and a saved
model that uses them is served without pandas.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from defero.data.answers.long import join_answers, read_long
    from defero.data.answers.long_answers import LongAnswers
    from defero.data.answers.long_table import table_from_long
    from defero.data.answers.majority import majority_labels
    from defero.data.exports.export import EXPORTS, Export, ExportedCases, OpenCases
    from defero.data.exports.label_studio import read_label_studio
    from defero.data.exports.label_studio_tasks import tasks_with_decisions, write_label_studio
    from defero.data.exports.labels import known_labels
    from defero.data.exports.prodigy import read_prodigy
    from defero.data.fingerprint import combined, held_out, row_fingerprints
    from defero.data.recipes.picture_recipe import PictureRecipe
    from defero.data.recipes.pictures import PictureFiles
    from defero.data.recipes.recipe import FeatureRecipe
    from defero.data.tables.formats import TABLE_FORMATS, TableFormat, first_row, open_text
    from defero.data.tables.read import read_chunks, read_frame
    from defero.data.tables.wide import read_table, row_keys, table_from_frame
    from defero.data.tables.write import DecisionWriter, write_decisions

__all__ = [
    "EXPORTS",
    "TABLE_FORMATS",
    "DecisionWriter",
    "Export",
    "ExportedCases",
    "FeatureRecipe",
    "LongAnswers",
    "OpenCases",
    "PictureFiles",
    "PictureRecipe",
    "TableFormat",
    "combined",
    "first_row",
    "held_out",
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
    "row_fingerprints",
    "row_keys",
    "table_from_frame",
    "table_from_long",
    "tasks_with_decisions",
    "write_decisions",
    "write_label_studio",
]

_HOME = {
    "EXPORTS": "exports.export",
    "Export": "exports.export",
    "ExportedCases": "exports.export",
    "OpenCases": "exports.export",
    "TABLE_FORMATS": "tables.formats",
    "DecisionWriter": "tables.write",
    "FeatureRecipe": "recipes.recipe",
    "LongAnswers": "answers.long_answers",
    "PictureFiles": "recipes.pictures",
    "PictureRecipe": "recipes.picture_recipe",
    "TableFormat": "tables.formats",
    "combined": "fingerprint",
    "first_row": "tables.formats",
    "held_out": "fingerprint",
    "join_answers": "answers.long",
    "known_labels": "exports.labels",
    "majority_labels": "answers.majority",
    "open_text": "tables.formats",
    "read_chunks": "tables.read",
    "read_frame": "tables.read",
    "read_label_studio": "exports.label_studio",
    "read_long": "answers.long",
    "read_prodigy": "exports.prodigy",
    "read_table": "tables.wide",
    "row_fingerprints": "fingerprint",
    "row_keys": "tables.wide",
    "table_from_frame": "tables.wide",
    "table_from_long": "answers.long_table",
    "tasks_with_decisions": "exports.label_studio_tasks",
    "write_decisions": "tables.write",
    "write_label_studio": "exports.label_studio_tasks",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
