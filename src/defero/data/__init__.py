"""Tables in and out: files to `ExpertTable`, raw columns to numbers, decisions to files.

Names are loaded when they are first used: the feature recipe and the fingerprints need numpy alone, and a saved
model that uses them is served without pandas.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from defero.data.fingerprint import combined, held_out, row_fingerprints
    from defero.data.formats import first_row
    from defero.data.read import read_chunks, read_frame
    from defero.data.recipe import FeatureRecipe
    from defero.data.wide import read_table, row_keys, table_from_frame
    from defero.data.write import DecisionWriter, write_decisions

__all__ = [
    "DecisionWriter",
    "FeatureRecipe",
    "combined",
    "first_row",
    "held_out",
    "read_chunks",
    "read_frame",
    "read_table",
    "row_fingerprints",
    "row_keys",
    "table_from_frame",
    "write_decisions",
]

_HOME = {
    "DecisionWriter": "write",
    "FeatureRecipe": "recipe",
    "combined": "fingerprint",
    "first_row": "formats",
    "held_out": "fingerprint",
    "read_chunks": "read",
    "read_frame": "read",
    "read_table": "wide",
    "row_fingerprints": "fingerprint",
    "row_keys": "wide",
    "table_from_frame": "wide",
    "write_decisions": "write",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
