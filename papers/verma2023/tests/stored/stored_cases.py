"""The authors' stored outputs, which tests read where they are."""

from pathlib import Path

import pytest

from defero import InputError
from defero_verma2023.stored.outputs import outputs_folder


def stored_folder() -> Path:
    """Return the folder of the authors' stored outputs; without it the test is skipped, and says why."""
    try:
        return outputs_folder()
    except InputError as reason:
        pytest.skip(f"the authors' stored outputs are not here: {reason}")
