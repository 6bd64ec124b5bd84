"""Fitted scikit-learn objects in a model folder, without pickle: skops, and only what this package writes itself.

skops keeps code from running, but trusts every estimator of scikit-learn, some of which read files, and does not look
at the numbers inside. So the archive is checked before skops reads it (`sklearn_archive`), and the objects before
anybody uses them (`sklearn_checks`).
"""

from typing import Any

from skops import io as skops_io

from defero.core.errors import ModelFolderError
from defero.core.wording import join_names
from defero.scorers import PARTS
from defero.scorers.sklearn_archive import TRUSTED, checked_archive, foreign_types
from defero.scorers.sklearn_checks import checked_parts


def write_parts(parts: dict[str, Any]) -> bytes:
    """Return fitted parts as an archive; raises naming a type that a reader would refuse."""
    try:
        content = skops_io.dumps(parts)
    except Exception as error:  # skops has exceptions of its own for what it cannot write
        raise ModelFolderError(f"save: {error} {_REMEDY}") from error
    strangers = foreign_types(content)
    if strangers:
        raise ModelFolderError(f"save: {join_names(strangers)} cannot be saved without trusting its code; {_REMEDY}")
    return content


def read_parts(content: bytes) -> dict[str, Any]:
    """Return the fitted parts of an archive, after checking every type, size and node link in it."""
    try:
        parts = skops_io.loads(checked_archive(content), trusted=list(TRUSTED))
        return checked_parts(parts, n_bytes=len(content))
    except ModelFolderError:
        raise
    except Exception as error:  # a damaged archive raises whatever its reader meets first
        raise ModelFolderError(
            f"{PARTS}: the parts cannot be read ({type(error).__name__}: {error}); "
            "the model folder is damaged, fit again or restore it."
        ) from error


_REMEDY = "use scikit-learn's own linear models, trees, forests or boosting, or keep the fitted object in memory."
