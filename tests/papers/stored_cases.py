"""The authors' stored outputs, which tests read where they are."""

from pathlib import Path

import pytest

from defero.core.errors import InputError
from defero.papers.verma2023.stored_outputs import outputs_folder


def stored_folder() -> Path:
    """Return the folder of the authors' stored outputs; without it the test is skipped, and says why."""
    try:
        return outputs_folder()
    except InputError as reason:
        pytest.skip(f"the authors' stored outputs are not here: {reason}")
